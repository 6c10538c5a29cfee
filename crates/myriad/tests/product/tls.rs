//! TLS towards clients: real ones are told what they are told without, over either driver; nobody gets in less
//! securely than was asked for; certificates are replaced under load.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::support::{
    Address, Client, Database, FrontDoor, Login, Outcome, Output, Pair, Secure, Server, Tool,
    authority, authority_and_client, eventually, program, run,
};

const DRIVERS: [&str; 2] = ["epoll", "io_uring"];

/// What makes the command-line client speak TLS, whatever certificate is shown.
pub(crate) fn over_tls() -> &'static [&'static str] {
    match Server::is_mariadb() {
        true => &["--ssl", "--ssl-verify-server-cert=0"],
        false => &["--ssl-mode=REQUIRED"],
    }
}

/// What keeps it from doing so: MariaDB's does wherever TLS is offered.
pub(crate) fn in_clear() -> &'static [&'static str] {
    match Server::is_mariadb() {
        true => &["--skip-ssl"],
        false => &["--ssl-mode=DISABLED"],
    }
}

fn client(address: &Address, arguments: &[&str], input: &str) -> Output {
    let mut command = program(Tool::Client, address);
    command.args(["--batch", "--force", "--max-allowed-packet=128M", "shop"]);
    run(command.args(arguments), input)
}

fn openssl(door: &FrontDoor, arguments: &[&str], input: &str) -> String {
    let mut command = Command::new("openssl");
    let address = door.tcp().to_string();
    command.args(["s_client", "-starttls", "mysql", "-connect", &address]);
    // The tests are about what we offer, not about what this machine's OpenSSL would.
    command.args(["-cipher", "ALL:@SECLEVEL=0"]).args(arguments);
    let output = run(&mut command, input);
    output.stdout + &output.stderr
}

/// What the front door made for itself.
fn made_here(door: &FrontDoor) -> Vec<u8> {
    fs::read(door.folder().join("myriad-auto-cert.pem")).unwrap()
}

/// Small and large, one and several, in both directions.
fn script() -> String {
    let long = "abcdefgh".repeat(20 << 17);
    format!(
        "CREATE TABLE IF NOT EXISTS secured (id INT PRIMARY KEY, b LONGBLOB);\nDELETE FROM secured;\n\
         SELECT 1;\nSELECT nothing;\nSHOW WARNINGS;\nSELECT seq FROM seq_1_to_70000;\n\
         SELECT REPEAT('long ', 4000000);\nBEGIN;\nSELECT 2;\nCOMMIT;\nDO 0;\n\
         INSERT INTO secured VALUES (100, '{long}');\n\
         SELECT id, LENGTH(b), SHA2(b, 256) FROM secured;\nSELECT b FROM secured;\nDROP TABLE secured;\n"
    )
}

#[test]
fn the_command_line_client_is_told_the_same_over_tls() {
    let database = Database::private();
    let script = script();
    let direct = client(database.address(), &[], &script);
    assert!(direct.stdout.len() > 36 << 20, "{:.2000}", direct.stderr);
    for driver in DRIVERS {
        let driver = format!("server.driver = {driver:?}");
        let door = FrontDoor::start(database.address(), &[&driver]);
        let address = Address::Tcp(door.tcp());
        let compressed = match Server::is_mariadb() {
            true => "--compress",
            false => "--compression-algorithms=zlib",
        };
        for more in [&[][..], &[compressed]] {
            let arguments = [over_tls(), more].concat();
            let through = client(&address, &arguments, &script);
            assert_eq!(through.stderr, direct.stderr, "{driver} {more:?}");
            assert!(through.stdout == direct.stdout, "{driver} {more:?}");
        }
        assert!(door.metric("myriad_tls_handshakes_total") >= 2);
        let ask = "SHOW STATUS LIKE 'Ssl_cipher';\nSHOW SESSION STATUS LIKE 'ssl_version';\n\\s\n";
        let status = client(&address, over_tls(), ask).stdout;
        let cipher = status
            .lines()
            .find_map(|line| line.strip_prefix("Ssl_cipher\t"));
        let cipher = cipher.filter(|cipher| cipher.starts_with("TLS_AES_"));
        let told = cipher.map(|cipher| status.matches(cipher).count());
        // MySQL's client heeds no commands of its own in scripts.
        let expected = 1 + usize::from(Server::is_mariadb());
        assert_eq!(told, Some(expected), "{status}");
        assert!(status.contains("Ssl_version\tTLSv1.3\n"), "{status}");
        let status = client(&door.address(), in_clear(), ask).stdout;
        assert!(status.contains("Ssl_cipher\t\n"), "{status}");
    }
}

#[test]
fn a_client_over_tls_that_does_not_read_costs_little_and_gets_everything_in_the_end() {
    const ROWS: &str = "SELECT seq, REPEAT(CHAR(97 + seq % 26), 50000) FROM shop.seq_1_to_1000";
    let database = Database::shared();
    for driver in DRIVERS {
        let driver = format!("server.driver = {driver:?}");
        let door = FrontDoor::start(database.address(), &[&driver]);
        let (address, made) = (Address::Tcp(door.tcp()), made_here(&door));
        let mut slow = Client::login_over_tls(&address, &Login::to("shop"), &made).unwrap();
        assert_eq!(slow.value("SELECT 1"), "1");
        let before = door.memory("VmRSS");
        slow.query(ROWS);
        eventually("an answer that is held back", || {
            (door.metric("myriad_answers_held_total") >= 1).then_some(())
        });
        let outcomes = slow.answer().unwrap().outcomes();
        let [Outcome::Rows(rows)] = &outcomes[..] else {
            panic!("no rows")
        };
        assert_eq!(rows.len(), 1000);
        for (number, row) in (1..).zip(rows) {
            let letter = char::from(b'a' + (number % 26) as u8);
            let right = row[1].len() == 50_000 && row[1].chars().all(|c| c == letter);
            assert!(right, "{driver}: {number}");
        }
        let more = door.memory("VmHWM").saturating_sub(before);
        assert!(more < 8 << 20, "{driver}: {} kB more", more >> 10);
    }
}

#[test]
fn versions_below_1_2_are_refused() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    for (version, expected) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
        let said = openssl(&door, &[version], "");
        assert!(said.contains(&format!("New, {expected}")), "{said}");
    }
    for version in ["-tls1", "-tls1_1"] {
        let said = openssl(&door, &[version], "");
        assert!(said.contains("SSL alert number"), "{said}");
        assert!(said.contains("Cipher is (NONE)"), "{said}");
    }
}

#[test]
fn of_all_ciphers_and_groups_only_strong_ones_are_agreed_on() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let agreed = |arguments: &[&str]| !openssl(&door, arguments, "").contains("Cipher is (NONE)");
    let known = |version: &str| {
        let mut command = Command::new("openssl");
        command.args(["ciphers", "-s", version, "ALL:COMPLEMENTOFALL:@SECLEVEL=0"]);
        let names = run(&mut command, "").stdout;
        names
            .trim()
            .split(':')
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let old = known("-tls1_2");
    assert!(old.len() > 50, "{old:?}");
    let with = |name: &String| agreed(&["-tls1_2", "-cipher", &format!("{name}:@SECLEVEL=0")]);
    let mut found: Vec<_> = old.iter().filter(|name| with(name)).collect();
    found.sort_unstable();
    let strong = [
        "ECDHE-ECDSA-AES128-GCM-SHA256",
        "ECDHE-ECDSA-AES256-GCM-SHA384",
        "ECDHE-ECDSA-CHACHA20-POLY1305",
    ];
    assert_eq!(found, strong);
    for (suite, expected) in [
        ("TLS_AES_128_GCM_SHA256", true),
        ("TLS_AES_256_GCM_SHA384", true),
        ("TLS_CHACHA20_POLY1305_SHA256", true),
        ("TLS_AES_128_CCM_SHA256", false),
        ("TLS_AES_128_CCM_8_SHA256", false),
    ] {
        assert_eq!(
            agreed(&["-tls1_3", "-ciphersuites", suite]),
            expected,
            "{suite}"
        );
    }
    for (group, expected) in [
        ("X25519", true),
        ("P-256", true),
        ("P-384", true),
        ("P-521", false),
        ("ffdhe2048", false),
    ] {
        assert_eq!(agreed(&["-tls1_3", "-groups", group]), expected, "{group}");
    }
}

#[test]
fn sessions_are_resumed_over_all_workers() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["server.workers = 2"]);
    let said = openssl(&door, &["-tls1_2", "-reconnect"], "Q\n");
    assert_eq!(said.matches("Reused, TLSv1.2").count(), 5, "{said}");
    let file = door.folder().join("session");
    let file = file.to_str().unwrap();
    // The ticket comes behind the handshake: it is awaited by what the server answers to what it cannot read.
    let said = openssl(
        &door,
        &["-tls1_3", "-ign_eof", "-sess_out", file],
        "no packet at all\n",
    );
    assert!(said.contains("New, TLSv1.3"), "{said}");
    for _ in 0..4 {
        let said = openssl(&door, &["-tls1_3", "-sess_in", file], "");
        assert!(said.contains("Reused, TLSv1.3"), "{said}");
    }
}

#[test]
fn who_must_use_tls_is_refused_without() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["tls.mode = \"require\""]);
    let (address, made) = (Address::Tcp(door.tcp()), made_here(&door));
    let refused = Client::login(&address, &Login::default()).map(drop);
    let Err(Outcome::Err(code, text)) = refused else {
        panic!("it was let in: {refused:?}")
    };
    assert_eq!(code, 3159, "{text}");
    assert!(Client::login_over_tls(&address, &Login::default(), &made).is_ok());
    assert!(
        Client::login(&door.address(), &Login::default()).is_ok(),
        "over its unix socket"
    );
    let off = FrontDoor::start(database.address(), &["tls.mode = \"off\""]);
    let said = openssl(&off, &[], "");
    assert!(said.contains("MySQL server does not support SSL"), "{said}");
}

#[test]
fn what_is_made_here_is_kept_from_others() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let key = door.folder().join("myriad-auto-key.pem");
    let mode = fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let made = made_here(&door);
    let handshakes = door.metric("myriad_tls_handshakes_total");
    door.reconfigure("admin.sql", "admin.sql");
    eventually("the configuration read again", || {
        door.log()
            .contains("configuration read again")
            .then_some(())
    });
    let address = Address::Tcp(door.tcp());
    assert!(Client::login_over_tls(&address, &Login::default(), &made).is_ok());
    assert_eq!(door.metric("myriad_tls_handshakes_total"), handshakes + 1);
    assert_eq!(made_here(&door), made, "it is made once");
}

#[test]
fn certificates_are_replaced_under_load_and_no_login_fails() {
    let database = Database::shared();
    let folder = tempfile::tempdir().unwrap();
    let pair = Pair::in_folder(folder.path());
    let first = fs::read(&pair.certificate).unwrap();
    let settings = pair.settings();
    let door = FrontDoor::start(database.address(), &settings.each_ref().map(String::as_str));
    let address = Address::Tcp(door.tcp());
    let (ends, logins) = (AtomicBool::new(false), AtomicU64::new(0));
    let second = pair_to_come();
    let trusted = [&first[..], second.0.as_bytes()].concat();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    let login = Login::to("shop");
                    let mut client = Client::login_over_tls(&address, &login, &trusted).unwrap();
                    assert_eq!(client.value("SELECT 1"), "1");
                    logins.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Whatever fails below, the others must end.
        let _ends = Ends(&ends);
        let mut stays = Client::login_over_tls(&address, &Login::default(), &first).unwrap();
        let more = |than: u64| {
            let than = than + logins.load(Ordering::Relaxed);
            eventually("logins", || {
                (logins.load(Ordering::Relaxed) > than).then_some(())
            });
        };
        more(50);
        fs::write(&pair.key, &second.1).unwrap();
        fs::write(&pair.certificate, &second.0).unwrap();
        door.reconfigure("admin.sql", "admin.sql");
        eventually("the other certificate", || {
            openssl(&door, &[], "")
                .replace(' ', "")
                .contains("CN=second")
                .then_some(())
        });
        more(50);
        assert_eq!(stays.value("SELECT 2"), "2", "who was there before");
        // What is wrong is not taken, and said so.
        fs::write(&pair.key, "no key").unwrap();
        door.reconfigure("admin.sql", "admin.sql");
        eventually("a word about the key", || {
            door.log().contains("nothing was changed").then_some(())
        });
        more(50);
    });
}

/// Sets it in the end.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A certificate and its key that no file has yet.
fn pair_to_come() -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let pair = Pair::in_folder(folder.path());
    let certificate = pair.renew("second");
    (certificate, fs::read_to_string(&pair.key).unwrap())
}

#[test]
fn an_account_that_requires_a_certificate_is_for_those_who_have_one() {
    let database = Database::shared();
    let folder = tempfile::tempdir().unwrap();
    let (authority, own) = authority_and_client(folder.path());
    let (_, stranger) = {
        let folder = folder.path().join("elsewhere");
        fs::create_dir(&folder).unwrap();
        authority_and_client(&folder)
    };
    let ca = format!("tls.client_ca = {:?}", authority.display().to_string());
    let door = FrontDoor::start_with(database.address(), &[&ca], |text| {
        text.replace("user = \"app\"", "user = \"app\"\nrequire = \"x509\"")
    });
    let address = Address::Tcp(door.tcp());
    let with = |pair: &Pair| {
        let path = |path: &Path| path.display().to_string();
        let arguments = [
            format!("--ssl-cert={}", path(&pair.certificate)),
            format!("--ssl-key={}", path(&pair.key)),
        ];
        let arguments = arguments.each_ref().map(String::as_str);
        client(&address, &[over_tls(), &arguments].concat(), "SELECT 'in'")
    };
    let own = with(&own);
    assert!(own.stdout.contains("in"), "{}", own.stderr);
    let without = client(&address, over_tls(), "SELECT 'in'");
    assert!(
        without.stderr.contains("ERROR 1045 (28000)"),
        "{}",
        without.stderr
    );
    let stranger = with(&stranger);
    assert!(!stranger.stdout.contains("in"), "it was let in");
}

#[test]
fn a_database_is_connected_to_over_tls_if_it_is_the_right_one() {
    let mut database = Secure::start();
    let folder = tempfile::tempdir().unwrap();
    let (stranger, _) = authority(folder.path());
    let ca = |path: &Path| format!("backend.tls_ca = {:?}", path.display().to_string());
    let (own, other) = (ca(&database.authority), ca(&stranger));
    let over_tls = Outcome::Rows(vec![vec!["TLSv1.3".to_owned()]]);
    for (host, settings, reached) in [
        ("127.0.0.1", vec!["backend.tls = \"off\""], false),
        ("127.0.0.1", vec!["backend.tls = \"require\""], true),
        ("127.0.0.1", vec!["backend.tls = \"verify_ca\"", &own], true),
        (
            "127.0.0.1",
            vec!["backend.tls = \"verify_ca\"", &other],
            false,
        ),
        (
            "127.0.0.1",
            vec!["backend.tls = \"verify_identity\"", &own],
            false,
        ),
        (
            "localhost",
            vec!["backend.tls = \"verify_identity\"", &own],
            true,
        ),
    ] {
        // What was told once is told by a proof again: each time the server wants to see the password itself.
        database.local.execute("FLUSH PRIVILEGES").unwrap();
        let outcome = database.through(host, &settings);
        assert_eq!(
            outcome == over_tls,
            reached,
            "{host} {settings:?}: {outcome:?}"
        );
    }
    database.local.stop().unwrap();
}

#[test]
fn load_goes_over_tls_too_and_sessions_are_resumed_or_not() {
    const TABLES: [&str; 5] = [
        "--user=app",
        "--password=secret",
        "--database=shop",
        "--tables=1",
        "--table-size=100",
    ];
    let database = Database::private();
    let generator = |step, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_myriad"));
        command.args(["load", step]).args(TABLES).args(arguments);
        let output = run(&mut command, "");
        assert_eq!(output.code, Some(0), "{output:?}");
        output.stdout
    };
    let Address::Unix(socket) = database.address() else {
        unreachable!("the tests' database is reached over its socket")
    };
    generator("prepare", &["--socket", socket.to_str().unwrap()]);
    for driver in DRIVERS {
        let setting = format!("server.driver = {driver:?}");
        let door = FrontDoor::start(database.address(), &[&setting, "tls.mode = \"require\""]);
        for tls in ["--tls", "--tls=full"] {
            let before = door.metric("myriad_tls_handshakes_total");
            let port = format!("--port={}", door.tcp().port());
            let target = [
                &port,
                tls,
                "--driver",
                driver,
                "--connections=8",
                "--threads=2",
            ];
            let work = ["--workload=reconnect", "--warmup=0s", "--duration=1s"];
            let told = generator("run", &[&target[..], &work].concat());
            let made = door.metric("myriad_tls_handshakes_total") - before;
            assert!(made > 16, "{made} connections: {told}");
        }
    }
}
