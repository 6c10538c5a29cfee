//! The front door vouches for its own certificate by the password of the client's account: MariaDB's client of 11.8, which
//! verifies unless it is told not to, needs no file with a certificate; and it does not go on with anybody in between.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use localdb::Installation;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use wire::{HEADER_LEN, Header};

use crate::from_server::{MONITOR, add_monitor};
use crate::support::{Database, FrontDoor, Output, Pair, Server, run, secured};

/// For so long it is awaited what one end says, before the other is listened to.
const TURN: Duration = Duration::from_millis(5);

/// The newer client; `None`, and a word about it, where it was not fetched.
fn client() -> Option<Command> {
    if !Server::is_mariadb() {
        return None;
    }
    let newer = Installation::named("mariadb-11.8").unwrap();
    let found = localdb::client_command(newer, "mariadb");
    found
        .inspect_err(|error| eprintln!("{error}: not tested"))
        .ok()
}

/// What comes of a login by TCP as somebody, by the client's own rules. It verifies nobody on an address of this host, but a
/// name of it.
fn log_in(port: u16, (user, password): (&str, &str), arguments: &[&str]) -> Output {
    let mut command = client().expect("it was there before");
    command
        .args(["--protocol=tcp", "--host=localhost"])
        .args(["--batch", "--skip-column-names"])
        .args([format!("--port={port}"), format!("--user={user}")])
        // Of one in the environment the client knows nothing when it decides whether to verify.
        .arg(format!("--password={password}"))
        .args(arguments);
    run(
        &mut command,
        "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)",
    )
}

fn is_let_in(output: &Output, user: &str) -> bool {
    output.code == Some(0) && output.stdout.trim() == user
}

fn is_not_trusted(output: &Output) -> bool {
    output.stderr.contains("ERROR 2026") && output.stderr.contains("NOT trusted")
}

fn says_that_it_verifies_nobody(output: &Output) -> bool {
    let warning =
        "option --ssl-verify-server-cert is disabled, because of an insecure passwordless login";
    output.stderr.contains(warning)
}

/// Accounts of the plugins that there are: their names, the same of all with `right` for a password.
fn accounts(database: &Database) -> Vec<&'static str> {
    database.execute(
        "CREATE USER vo_native IDENTIFIED VIA mysql_native_password USING PASSWORD('right');
         CREATE USER vo_empty",
    );
    let mut accounts = vec!["vo_native"];
    let folder = database.execute("SELECT @@plugin_dir");
    let folder = folder.lines().last().unwrap_or_default().trim().to_owned();
    for (plugin, library, account, either) in [
        ("ed25519", "auth_ed25519", "vo_ed25519", "vo_ed25519_or"),
        ("parsec", "auth_parsec", "vo_parsec", "vo_parsec_or"),
    ] {
        if !Path::new(&folder).join(format!("{library}.so")).is_file() {
            eprintln!("no {library}.so in {folder}: not tested");
            continue;
        }
        database.execute(&format!(
            "INSTALL PLUGIN IF NOT EXISTS {plugin} SONAME '{library}';
             CREATE USER {account} IDENTIFIED VIA {plugin} USING PASSWORD('right');
             CREATE USER {either} IDENTIFIED VIA {plugin} USING PASSWORD('other')
                 OR mysql_native_password USING PASSWORD('right')"
        ));
        accounts.push(account);
        accounts.push(either);
    }
    accounts
}

#[test]
fn a_client_that_verifies_needs_no_file() {
    if client().is_none() {
        return;
    }
    let database = Database::private();
    add_monitor(&database);
    let accounts = accounts(&database);
    let folder = tempfile::tempdir().unwrap();
    let own = Pair::in_folder(folder.path()).settings();
    let own = own.each_ref().map(String::as_str);
    for settings in [vec![MONITOR], [&[MONITOR], &own[..]].concat()] {
        let door = FrontDoor::start(database.address(), &settings);
        let port = door.tcp().port();
        for account in &accounts {
            for more in [&[][..], &["--compress"], &["--database=information_schema"]] {
                let output = log_in(port, (account, "right"), more);
                assert!(
                    is_let_in(&output, account),
                    "{account} {more:?}: {output:?}"
                );
            }
            let output = log_in(port, (account, "wrong"), &[]);
            assert!(
                output.stderr.contains("ERROR 1045"),
                "{account}: {output:?}"
            );
        }
        // An account of the configuration.
        let output = log_in(port, ("app", "secret"), &[]);
        assert!(is_let_in(&output, "app"), "{output:?}");
        // An empty password proves nothing: the client refuses to go on, or says that it verifies nobody.
        let output = log_in(port, ("vo_empty", ""), &[]);
        assert!(
            output.stderr.contains("ERROR 2026") || says_that_it_verifies_nobody(&output),
            "{output:?}"
        );
        let unverified = ["--skip-ssl-verify-server-cert"];
        let output = log_in(port, ("vo_empty", ""), &unverified);
        assert!(is_let_in(&output, "vo_empty"), "{output:?}");
    }
}

#[test]
fn nobody_in_between_is_taken_for_the_front_door() {
    if client().is_none() {
        return;
    }
    let database = Database::private();
    add_monitor(&database);
    let accounts = accounts(&database);
    let door = FrontDoor::start(database.address(), &[MONITOR]);
    let made = std::fs::read(door.folder().join("myriad-auto-cert.pem")).unwrap();
    for account in accounts {
        let between = Between::new(door.tcp(), made.clone());
        let logins = door.metric("myriad_logins_total");
        let output = log_in(between.port, (account, "right"), &[]);
        assert!(is_not_trusted(&output), "{account}: {output:?}");
        assert_eq!(output.stdout, "", "{account}");
        // Who does not verify gets through, so that it was not for any other reason.
        let again = Between::new(door.tcp(), made.clone());
        let unverified = ["--skip-ssl-verify-server-cert"];
        let output = log_in(again.port, (account, "right"), &unverified);
        assert!(is_let_in(&output, account), "{account}: {output:?}");
        assert_eq!(door.metric("myriad_logins_total"), logins + 2, "{account}");
    }
}

/// Somebody who has got between one client and the front door, with a certificate of its own: it hands on all packets.
struct Between {
    port: u16,
}

impl Between {
    fn new(door: SocketAddr, trusted: Vec<u8>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (client, _) = listener.accept().unwrap();
            // It ends when either of them does.
            let _ended = hand_on(client, TcpStream::connect(door).unwrap(), &trusted);
        });
        Self { port }
    }
}

fn hand_on(mut client: TcpStream, mut door: TcpStream, trusted: &[u8]) -> io::Result<()> {
    let greeting = packet(&mut door)?;
    client.write_all(&greeting)?;
    let request = packet(&mut client)?;
    door.write_all(&request)?;
    let folder = tempfile::tempdir()?;
    let other = Pair::in_folder(folder.path());
    let certificate = CertificateDer::from_pem_file(&other.certificate).unwrap();
    let key = PrivateKeyDer::from_pem_file(&other.key).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let session = ServerConnection::new(Arc::new(config)).unwrap();
    for stream in [&client, &door] {
        stream.set_read_timeout(Some(TURN))?;
    }
    let mut client = StreamOwned::new(session, client);
    let mut door = secured(door, trusted);
    while pass(&mut client, &mut door)? && pass(&mut door, &mut client)? {}
    Ok(())
}

/// Hands on what comes while it is the turn of `from`. False if no more will come.
fn pass(from: &mut impl Read, to: &mut impl Write) -> io::Result<bool> {
    let mut bytes = [0; 4 << 10];
    match from.read(&mut bytes) {
        Ok(0) => Ok(false),
        Ok(count) => to.write_all(&bytes[..count]).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
        Err(error) => Err(error),
    }
}

fn packet(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut packet = vec![0; HEADER_LEN];
    from.read_exact(&mut packet)?;
    let len = Header::parse(&packet).unwrap().len;
    packet.resize(HEADER_LEN + len, 0);
    from.read_exact(&mut packet[HEADER_LEN..])?;
    Ok(packet)
}
