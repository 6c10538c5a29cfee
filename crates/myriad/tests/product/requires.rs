//! What accounts require of TLS and of clients' certificates: who is let in is the same directly and through.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use localdb::LocalDb;

use crate::from_server::{MONITOR, grants_of_monitor_from};
use crate::support::{
    Address, FrontDoor, Output, Pair, Tool, authority_and_client, database_with, program, run,
};
use crate::tls::over_tls;

/// The certificate's subject and issuer, as the servers compare them.
const SUBJECT: &str = "/CN=app";
const ISSUER: &str = "/CN=authority";

struct Ground {
    local: LocalDb,
    direct: Address,
    door: FrontDoor,
    own: Pair,
    authority: PathBuf,
    folder: tempfile::TempDir,
}

/// A server with TLS that trusts the same authority as the front door before it.
fn ground() -> Ground {
    let folder = tempfile::tempdir().unwrap();
    let (authority, own) = authority_and_client(folder.path());
    let (local, direct) = database_with(folder.path(), (&authority, &own), &[]);
    local.execute(&grants_of_monitor_from("%")).unwrap();
    let ca = format!("tls.client_ca = {:?}", authority.display().to_string());
    let socket = Address::Unix(local.socket().to_owned());
    let door = FrontDoor::start(&socket, &[MONITOR, &ca]);
    Ground {
        local,
        direct,
        door,
        own,
        authority,
        folder,
    }
}

#[test]
fn what_is_required_of_a_certificate_is_compared_as_the_server_does() {
    let mut ground = ground();
    let clauses = [
        format!("SUBJECT '{SUBJECT}'"),
        "SUBJECT '/CN=App'".to_owned(),
        "SUBJECT 'CN=app'".to_owned(),
        format!("ISSUER '{ISSUER}'"),
        "ISSUER '/CN=other'".to_owned(),
        format!("SUBJECT '{SUBJECT}' AND ISSUER '{ISSUER}'"),
        format!("SUBJECT '{SUBJECT}' AND ISSUER '/CN=other'"),
        "CIPHER 'TLS_AES_256_GCM_SHA384'".to_owned(),
        "CIPHER 'TLS_AES_128_GCM_SHA256'".to_owned(),
        format!("SUBJECT '{SUBJECT}' AND CIPHER 'TLS_AES_256_GCM_SHA384'"),
        "X509".to_owned(),
        "SSL".to_owned(),
    ];
    for (number, clause) in clauses.iter().enumerate() {
        let sql = format!("CREATE USER 'rq_{number}'@'%' IDENTIFIED BY 'right' REQUIRE {clause}");
        ground.local.execute(&sql).unwrap();
    }
    let shown = [
        format!("--ssl-cert={}", ground.own.certificate.display()),
        format!("--ssl-key={}", ground.own.key.display()),
    ];
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    let with = [over_tls(), &shown[..]].concat();
    let mut let_in = 0;
    for (number, clause) in clauses.iter().enumerate() {
        let user = format!("rq_{number}");
        for (way, arguments) in [("certificate", &with[..]), ("TLS", over_tls())] {
            let log_in = |address: &Address| -> Output {
                let mut command = program(Tool::Client, address);
                command
                    .arg(format!("--user={user}"))
                    .env("MYSQL_PWD", "right");
                // The login alone: backends are asked for nothing.
                let told = run(command.arg("--batch").args(arguments), "");
                // Whether this server knows hosts by name is not what is asked here.
                let stderr = told.stderr.replace("'127.0.0.1'", "'localhost'");
                Output { stderr, ..told }
            };
            let direct = log_in(&ground.direct);
            let through = log_in(&Address::Tcp(ground.door.tcp()));
            assert_eq!(through, direct, "{clause}, with {way}");
            let_in += usize::from(direct.code == Some(0));
        }
    }
    assert!((6..18).contains(&let_in), "{let_in} were let in");
    ground.local.stop().unwrap();
}

#[test]
fn the_database_is_shown_a_certificate_if_there_is_one_to_show() {
    let mut ground = ground();
    let sql = "CREATE USER 'rq'@'%' IDENTIFIED BY 'right' REQUIRE X509";
    ground.local.execute(sql).unwrap();
    // The server's own may be read by others.
    let key = ground.folder.path().join("own-key.pem");
    fs::copy(&ground.own.key, &key).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let file = |name: &str, path: &Path| format!("{name} = {:?}", path.display().to_string());
    let always = [
        MONITOR.to_owned(),
        file("tls.client_ca", &ground.authority),
        "backend.tls = \"verify_ca\"".to_owned(),
        file("backend.tls_ca", &ground.authority),
    ];
    let pair = [
        file("backend.tls_certificate", &ground.own.certificate),
        file("backend.tls_key", &key),
    ];
    for (settings, runs) in [
        (always.to_vec(), false),
        ([&always[..], &pair].concat(), true),
    ] {
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let door = FrontDoor::start(&ground.direct, &settings);
        let mut command = program(Tool::Client, &Address::Tcp(door.tcp()));
        let (certificate, key) = (&ground.own.certificate, &ground.own.key);
        command
            .args(["--batch", "--user=rq"])
            .args(over_tls())
            .arg(format!("--ssl-cert={}", certificate.display()))
            .arg(format!("--ssl-key={}", key.display()))
            .env("MYSQL_PWD", "right");
        let told = run(&mut command, "SELECT CONCAT('is ', CURRENT_USER())");
        assert_eq!(told.stdout.contains("is rq@%"), runs, "{told:?}");
        assert_eq!(told.stderr.contains("ERROR 1045"), !runs, "{told:?}");
    }
    ground.local.stop().unwrap();
}
