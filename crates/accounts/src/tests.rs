//! Numbers over several readings, and who is whom.

use std::net::IpAddr;
use std::sync::Arc;

use admission::AccountName;
use wire::{AuthPlugin, native_password};

use crate::{
    Credential, Directory, Found, Origin, Proof, Reading, Register, Requires, Standing, Vault, View,
};

const NONCE: [u8; 20] = *b"abcdefghijklmnopqrst";
/// Of "secret".
const HASH: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
/// Of the same, with rounds and salt.
const SHA2_OF_SECRET: &str =
    "$A$005$abcdefghijklmnopqrstYy1cVJ5jT.fk4HyAGlowRhOkI55As4SAesbspXHQvFD";
const OTHER_HASH: &str = "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19";

fn found(user: &str, host: &str, hash: &str) -> Found {
    Found {
        name: AccountName::new(user, host),
        credential: Credential::native(hash),
        standing: Standing::Open,
        requires: Requires::Nothing,
        privileges: 0,
    }
}

fn reading(accounts: impl IntoIterator<Item = Found>) -> Reading {
    Reading {
        accounts: accounts.into_iter().collect(),
        view: View {
            our_host: Some("localhost".into()),
            resolves_names: true,
            ..View::default()
        },
    }
}

fn register() -> Register {
    let app = ("app".to_owned(), "known".to_owned().into());
    let ours = ("monitor".to_owned(), "watch".to_owned().into());
    Register::new([app], Some(ours))
}

fn number(directory: &Directory, user: &str, address: Option<&str>) -> Option<u32> {
    let address = address.map(|text| text.parse::<IpAddr>().unwrap());
    directory.find(user, address).map(|account| account.number)
}

#[test]
fn an_account_keeps_its_number_and_a_new_one_gets_another() {
    let mut register = register();
    let one = || found("a", "%", HASH);
    let read = register
        .update(reading([one(), found("b", "%", HASH)]))
        .unwrap();
    assert_eq!(
        (number(&read, "a", None), number(&read, "b", None)),
        (Some(2), Some(3))
    );
    let read = register.update(reading([found("b", "%", HASH)])).unwrap();
    assert_eq!(
        (number(&read, "a", None), number(&read, "b", None)),
        (None, Some(3))
    );
    assert_eq!(read.account(2).unwrap().origin, Origin::Gone);
    assert_eq!(read.account(2).unwrap().user(), "a");
    let read = register
        .update(reading([found("b", "%", HASH), one()]))
        .unwrap();
    assert_eq!(
        (number(&read, "a", None), number(&read, "b", None)),
        (Some(4), Some(3))
    );
    assert_eq!(read.version(), 3);
}

#[test]
fn accounts_of_the_configuration_come_change_and_go_beside_those_of_the_database() {
    let login = |user: &str, password: &str| (user.to_owned(), password.to_owned().into());
    let mut register = register();
    let read = register.update(reading([found("b", "%", HASH)])).unwrap();
    let was = read.find("app", None).unwrap().clone();
    assert!(register.configure([login("app", "known")]).is_none());
    let read = register
        .configure([login("new", "first"), login("app", "other")])
        .unwrap();
    assert_eq!(read.version(), 2);
    assert!(read.was_read() && read.asks_database());
    let is = read.find("app", None).unwrap();
    assert_eq!((was.number, was.credential_version), (0, 0));
    assert_eq!((is.number, is.credential_version), (0, 1));
    assert_eq!(is.origin, Origin::Configured);
    assert!(Arc::ptr_eq(&is.pinned, &was.pinned));
    assert_eq!(number(&read, "new", Some("10.0.0.1")), Some(3));
    // Whoever the database knows by that name is another one.
    let two = [found("b", "%", HASH), found("app", "%", HASH)];
    let read = register.update(reading(two)).unwrap();
    assert_eq!(number(&read, "app", None), Some(0));
    let read = register.configure([login("new", "first")]).unwrap();
    assert_eq!(read.account(0).unwrap().origin, Origin::Gone);
    assert_eq!(number(&read, "app", None), Some(4));
    let read = register.configure([login("app", "known")]).unwrap();
    assert_eq!(read.account(3).unwrap().origin, Origin::Gone);
    assert_eq!(number(&read, "app", None), Some(5));
    assert_eq!(number(&read, "b", None), Some(2));
}

#[test]
fn nothing_is_published_when_nothing_differs() {
    let mut register = register();
    let read = || reading([found("a", "%", HASH), found("a", "%", HASH)]);
    assert!(!register.directory().was_read());
    assert!(register.update(read()).unwrap().was_read());
    assert!(register.update(read()).is_none());
    let mut seen = read();
    seen.view.roles = 1;
    assert!(register.update(seen).is_some());
}

#[test]
fn what_was_learned_stays_while_the_password_does() {
    let mut register = register();
    let response = native_password(b"secret", &NONCE);
    let prove = |directory: &Directory| {
        let account = directory.find("a", None).unwrap();
        proves(&account.credential, directory.vault(), &response)
    };
    let read = register.update(reading([found("a", "%", HASH)])).unwrap();
    assert!(read.account(2).unwrap().credential.secret().is_none());
    assert!(prove(&read));
    let mut granted = found("a", "%", HASH);
    granted.privileges = 7;
    let read = register.update(reading([granted])).unwrap();
    let account = read.account(2).unwrap();
    assert_eq!((account.privileges, account.credential_version), (7, 0));
    let secret = account.credential.secret().unwrap();
    let answer = secret.response(AuthPlugin::NativePassword, &NONCE);
    assert_eq!(answer.as_deref(), Some(&response[..]));
    assert_eq!(
        secret.response(AuthPlugin::CachingSha2Password, &NONCE),
        None
    );
    let read = register
        .update(reading([found("a", "%", OTHER_HASH)]))
        .unwrap();
    let account = read.account(2).unwrap();
    assert_eq!(account.credential_version, 1);
    assert!(account.credential.secret().is_none());
    assert!(!prove(&read));
    assert!(account.credential.secret().is_none());
}

/// Whether this response of `mysql_native_password` proves it.
fn proves(credential: &Credential, vault: &Vault, response: &[u8]) -> bool {
    let proof = credential.is_proved_by(AuthPlugin::NativePassword, (&NONCE, response), vault);
    proof.is_right()
}

#[test]
fn what_is_not_kept_opens_no_backend_and_lets_nobody_in() {
    let vault = Arc::new(Vault::of(0));
    let mut register = register().with_vault(vault.clone());
    register.update(reading([found("a", "%", HASH)]));
    let directory = register.directory();
    let native = &directory.find("a", None).unwrap().credential;
    let response = native_password(b"secret", &NONCE);
    let shown = (&NONCE, &response[..]);
    let proof = native.is_proved_by(AuthPlugin::NativePassword, shown, directory.vault());
    assert!(matches!(proof, Proof::Forgotten(_)), "{proof:?}");
    assert!(!native.opens_backends());
    let sha2 = Credential::sha2(SHA2_OF_SECRET);
    let proof = sha2.is_password(b"secret", &vault);
    assert!(matches!(proof, Proof::Forgotten(_)), "{proof:?}");
    assert!(sha2.secret().is_none());
}

#[test]
fn a_password_that_was_shown_is_in_the_vault_until_the_account_is_gone() {
    let vault = Vault::of(1);
    let sha2 = Credential::sha2(SHA2_OF_SECRET);
    assert!(!sha2.is_password(b"Secret", &vault).is_right());
    assert_eq!(vault.pages(), 0);
    assert!(sha2.is_password(b"secret", &vault).is_right());
    let secret = sha2.secret().unwrap();
    assert_eq!(secret.password(), Some(&b"secret"[..]));
    drop(secret);
    assert_eq!(vault.pages(), 1);
    drop(sha2);
    assert_eq!(vault.pages(), 0);
}

#[test]
fn stored_passwords_are_read_as_the_server_reads_them() {
    let none = Credential::native("");
    let vault = Vault::default();
    assert!(proves(&none, &vault, b""));
    assert!(!proves(&none, &vault, &native_password(b"x", &NONCE)));
    let right = Credential::native(HASH);
    let response = native_password(b"secret", &NONCE);
    assert!(proves(&right, &vault, &response));
    for wrong in [
        &b""[..],
        b"\0",
        &response[1..],
        &native_password(b"Secret", &NONCE),
    ] {
        assert!(!proves(&right, &vault, wrong));
    }
    for stored in [
        "invalid",
        "*",
        "14E65567ABDB5135D0CFD9A70B3032C179A49EE7",
        &HASH[..40],
    ] {
        let credential = Credential::native(stored);
        assert!(!proves(&credential, &vault, b""), "{stored}");
        assert!(!proves(&credential, &vault, &response));
    }
}

#[test]
fn clients_are_whom_the_server_would_take_them_for() {
    let mut register = register();
    let hosts = [
        ("a", "%"),
        ("a", "10.1.%"),
        ("a", "10.1.2.0/255.255.255.0"),
        ("", "localhost"),
        ("", "10.9.%"),
        ("app", "localhost"),
    ];
    let read = register.update(reading(hosts.map(|(user, host)| found(user, host, HASH))));
    let read = read.unwrap();
    let name = |user: &str, address: Option<&str>| {
        let number = number(&read, user, address)?;
        Some(read.account(number)?.name().to_string())
    };
    let table = [
        ("a", Some("10.1.2.3"), Some("'a'@'10.1.2.0/255.255.255.0'")),
        ("a", Some("10.1.3.3"), Some("'a'@'10.1.%'")),
        ("a", Some("10.9.3.3"), Some("''@'10.9.%'")),
        ("a", Some("11.9.3.3"), Some("'a'@'%'")),
        ("a", None, Some("''@'localhost'")),
        ("a", Some("127.0.0.1"), Some("''@'localhost'")),
        ("b", Some("11.9.3.3"), None),
        ("b", None, Some("''@'localhost'")),
        // The configuration comes first, and is for all hosts.
        ("app", None, Some("'app'@'%'")),
        ("app", Some("11.9.3.3"), Some("'app'@'%'")),
        // Nobody logs in as the front door's own, unless the database has it.
        ("monitor", Some("11.9.3.3"), None),
    ];
    for (user, address, expected) in table {
        assert_eq!(
            name(user, address).as_deref(),
            expected,
            "{user} {address:?}"
        );
    }
    let behind = read.find_behind("a").unwrap();
    assert_eq!(behind.name().to_string(), "''@'localhost'");
}
