//! Clients that compress: what they are told is what they are told directly.

use std::fmt::Write;

use mysql_async::prelude::Queryable;
use mysql_async::{Compression, Conn, Opts, OptsBuilder};

use crate::support::{
    Address, Database, FrontDoor, Output, Server, Tool, eventually, program, run,
};
use crate::tls::in_clear;

/// What the command-line client is asked to compress with.
fn methods() -> &'static [&'static str] {
    match Server::is_mariadb() {
        true => &["--compress"],
        false => &[
            "--compression-algorithms=zlib",
            "--compression-algorithms=zstd",
        ],
    }
}

fn client(address: &Address, arguments: &[&str], input: &str) -> Output {
    let mut command = program(Tool::Client, address);
    command.args(["--batch", "--force", "--max-allowed-packet=128M"]);
    command.args(["--local-infile=1", "shop"]).args(arguments);
    run(&mut command, input)
}

/// Bytes that clients have sent, and as many as they are unpacked.
fn from_clients(door: &FrontDoor) -> (u64, u64) {
    let counted = || {
        let of_all = door.metric("myriad_socket_bytes_received_total");
        let of_backends = door.metric("myriad_bytes_from_backends_total");
        let unpacked = door.metric("myriad_bytes_from_clients_total");
        (of_all - of_backends, unpacked)
    };
    // A client's last command may come between two of them.
    eventually("counters that stand still", || {
        let (before, after) = (counted(), counted());
        (before == after).then_some(after)
    })
}

/// Small and large, one and several, in both directions.
fn script(file: &str) -> String {
    let mut script = String::from(
        "CREATE TABLE IF NOT EXISTS packed (id INT PRIMARY KEY, b LONGBLOB);\nDELETE FROM packed;\n\
         SELECT 1;\nSELECT nothing;\nSHOW WARNINGS;\nSELECT seq FROM seq_1_to_70000;\n\
         SELECT REPEAT('long ', 4000000);\nBEGIN;\nSELECT 2;\nCOMMIT;\nDO 0;\n",
    );
    for id in 0..50 {
        let row = "some row ".repeat(id * 20);
        writeln!(script, "INSERT INTO packed VALUES ({id}, '{row}');").unwrap();
    }
    let long = "abcdefgh".repeat(20 << 17);
    writeln!(script, "INSERT INTO packed VALUES (100, '{long}');").unwrap();
    script += "SELECT id, LENGTH(b), SHA2(b, 256) FROM packed;\n";
    writeln!(
        script,
        "DELETE FROM packed;\nLOAD DATA LOCAL INFILE '{file}' INTO TABLE packed;\n\
         SELECT COUNT(*), SHA2(GROUP_CONCAT(id, b ORDER BY id), 256) FROM packed;\nDROP TABLE packed;"
    )
    .unwrap();
    script
}

#[test]
fn the_command_line_client_is_told_the_same() {
    let database = Database::private();
    if !Server::is_mariadb() {
        database.execute("SET GLOBAL local_infile = 1");
    }
    let door = FrontDoor::start(database.address(), &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows");
    let rows = (0..20_000).map(|id| format!("{id}\trow number {id}\n"));
    std::fs::write(&file, rows.collect::<String>()).unwrap();
    let script = script(&file.display().to_string());
    let direct = client(database.address(), &[], &script);
    assert!(direct.stdout.contains("20000\t"), "{:.2000}", direct.stderr);
    for method in methods() {
        let through = client(&door.address(), &[method], &script);
        assert_eq!(through.stderr, direct.stderr, "{method}");
        assert!(through.stdout == direct.stdout, "{method}");
        let (sent, unpacked) = from_clients(&door);
        assert!(sent < unpacked / 4, "{method}: {sent} for {unpacked}");
    }
}

#[test]
fn nobody_is_offered_what_is_switched_off() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["server.compression = \"off\""]);
    let asks = "SELECT 5; SHOW STATUS LIKE 'Compression'";
    let arguments = [in_clear(), &["--compress"]].concat();
    let through = client(&door.address(), &arguments, asks);
    let told = "5\n5\nVariable_name\tValue\nCompression\tOFF\n";
    assert_eq!(through.stdout, told, "{through:?}");
    let (sent, unpacked) = from_clients(&door);
    assert_eq!(sent, unpacked);
}

async fn asked(opts: OptsBuilder) -> Vec<String> {
    let opts = opts
        .user(Some("app"))
        .pass(Some("secret"))
        .db_name(Some("shop"))
        .compression(Compression::default());
    let mut conn = Conn::new(Opts::from(opts)).await.unwrap();
    let mut told = Vec::new();
    for round in 0..3 {
        let long = "x".repeat(round << 20);
        let length = "SELECT LENGTH(?), REPEAT('z', ?)";
        let row: Option<(usize, String)> = conn.exec_first(length, (&long, 5_000)).await.unwrap();
        told.push(format!("{row:?}"));
        let rows: Vec<u32> = conn.query("SELECT seq FROM seq_1_to_3000").await.unwrap();
        told.push(format!("{rows:?}"));
        told.extend(results(&mut conn).await);
        conn.ping().await.unwrap();
        conn.reset().await.unwrap();
    }
    conn.change_user(mysql_async::ChangeUserOpts::default())
        .await
        .unwrap();
    let five: Option<u8> = conn.query_first("SELECT 5").await.unwrap();
    told.push(format!("{five:?}"));
    let status = "SHOW STATUS LIKE 'Compression'";
    let packed: Option<(String, String)> = conn.query_first(status).await.unwrap();
    told.push(format!("{packed:?}"));
    conn.disconnect().await.unwrap();
    told
}

/// This driver looks at the sequence ids of packets within: with each result they begin at that of the next compressed
/// packet.
async fn results(conn: &mut Conn) -> Vec<String> {
    let several = "SELECT 1; SELECT REPEAT('z', 100000), 2; DO 1; SELECT 'x' FROM seq_1_to_3000; SELECT 3; DO 2";
    let mut result = conn.query_iter(several).await.unwrap();
    let mut told = Vec::new();
    while !result.is_empty() {
        let rows: Vec<mysql_async::Row> = result.collect().await.unwrap();
        told.push(format!("{rows:?}"));
    }
    assert_eq!(told.len(), 5);
    told
}

#[test]
fn a_driver_is_told_the_same() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let Address::Unix(socket) = database.address() else {
        panic!("it listens on a unix socket");
    };
    let socket = socket.display().to_string();
    let direct = OptsBuilder::default().socket(Some(socket));
    let through = OptsBuilder::default()
        .ip_or_hostname("127.0.0.1")
        .tcp_port(door.tcp().port())
        .prefer_socket(false);
    let direct = runtime.block_on(asked(direct));
    let through = runtime.block_on(asked(through));
    assert!(through == direct);
    let (sent, unpacked) = from_clients(&door);
    assert!(sent < unpacked / 4, "{sent} for {unpacked}");
}
