//! Where passwords come from, and that they never get out again.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::password::Surroundings;
use crate::{Settings, load, parse, settings};

/// Reads one account whose password is given by `line`, in `directory`.
fn read(line: &str, directory: &Path) -> Result<Settings, String> {
    let surroundings = Surroundings {
        directory: directory.to_owned(),
        variable,
    };
    let text = format!("[[account]]\nuser = \"app\"\n{line}\n");
    settings::read(&text, "f", &surroundings).map_err(|errors| errors.to_string())
}

fn variable(name: &str) -> Option<OsString> {
    match name {
        "APP_PASSWORD" => Some("from env".into()),
        "EMPTY" => Some(OsString::new()),
        "CREDENTIALS_DIRECTORY" => Some("/proc/nowhere".into()),
        "BYTES" => Some(OsString::from_vec(vec![0xff])),
        _ => None,
    }
}

fn password(line: &str, directory: &Path) -> String {
    read(line, directory).unwrap().accounts[0]
        .password
        .expose()
        .to_owned()
}

fn write(directory: &TempDir, name: &str, content: &[u8], mode: u32) {
    let path = directory.path().join(name);
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The error with the directory, which is different each time, cut out.
fn refusal(line: &str, directory: &TempDir) -> String {
    let errors = read(line, directory.path()).unwrap_err();
    errors.replace(&format!("{}/", directory.path().display()), "")
}

#[test]
fn each_source_gives_its_password() {
    let directory = TempDir::new().unwrap();
    write(&directory, "line", b"from file\nmore\n", 0o600);
    write(&directory, "bare", b" from file ", 0o400);
    write(&directory, "crlf", "gr\u{fc}n\r\n".as_bytes(), 0o600);
    write(&directory, "longest", &[b'x'; 4_096], 0o600);
    let absolute = format!("password_file = {:?}", directory.path().join("line"));
    let table: &[(&str, &str)] = &[
        ("", ""),
        ("password = \"\"", ""),
        ("password = \"secret\"", "secret"),
        ("password_env = \"APP_PASSWORD\"", "from env"),
        ("password_file = \"line\"", "from file"),
        ("password_file = \"bare\"", " from file "),
        ("password_file = \"crlf\"", "gr\u{fc}n"),
        ("password_file = \"longest\"", &"x".repeat(4_096)),
        (&absolute, "from file"),
    ];
    for (line, expected) in table {
        assert_eq!(password(line, directory.path()), *expected, "{line}");
    }
}

#[test]
fn a_bad_source_is_refused() {
    let directory = TempDir::new().unwrap();
    write(&directory, "empty", b"\nsecond\n", 0o600);
    write(&directory, "bytes", b"\xff\n", 0o600);
    write(&directory, "long", &[b'x'; 4_097], 0o600);
    let table: &[(&str, &str)] = &[
        (
            "password_file = \"none\"",
            "f:3:17: account.password_file: cannot read \"none\": No such file or directory (os error 2); check that it is there and that this user may read it",
        ),
        (
            "password_file = \".\"",
            "f:3:17: account.password_file: \".\" is not a file; write the path of a file",
        ),
        (
            "password_file = \"empty\"",
            "f:3:17: account.password_file: the first line of \"empty\" is empty; write the password there, or leave out password_file for an empty password",
        ),
        (
            "password_file = \"bytes\"",
            "f:3:17: account.password_file: the first line of \"bytes\" is not utf-8; write the password as text there",
        ),
        (
            "password_file = \"long\"",
            "f:3:17: account.password_file: the first line of \"long\" is longer than 4096 bytes; write the password alone there",
        ),
        (
            "password_file = 1",
            "f:3:17: account.password_file: found a whole number; write the path of a file in quotes",
        ),
        (
            "password_env = \"NONE\"",
            "f:3:16: account.password_env: the environment variable \"NONE\" is not set; set it where this process is started, or name another",
        ),
        (
            "password_env = \"EMPTY\"",
            "f:3:16: account.password_env: the environment variable \"EMPTY\" is empty; set it, or leave out password_env for an empty password",
        ),
        (
            "password_env = \"BYTES\"",
            "f:3:16: account.password_env: the environment variable \"BYTES\" is not utf-8; set it to text",
        ),
        (
            "password_credential = \"../app\"",
            "f:3:23: account.password_credential: \"../app\" is no credential; write the name that LoadCredential= has",
        ),
        (
            "password_env = true",
            "f:3:16: account.password_env: found true or false; write the name of a variable in quotes",
        ),
        (
            "password = 1234",
            "f:3:12: account.password: found a whole number; write the password in quotes",
        ),
    ];
    for (line, expected) in table {
        assert_eq!(refusal(line, &directory), *expected, "{line}");
    }
}

#[test]
fn a_file_that_others_may_use_is_refused() {
    let directory = TempDir::new().unwrap();
    for mode in [0o640, 0o604, 0o644, 0o660, 0o602, 0o444] {
        write(&directory, "open", b"secret\n", mode);
        let expected = format!(
            "f:3:17: account.password_file: others than the owner of \"open\" may use it (its mode is {mode:03o}); run `chmod 600 \"open\"`"
        );
        assert_eq!(refusal("password_file = \"open\"", &directory), expected);
    }
}

#[test]
fn only_one_source_may_be_given() {
    let directory = TempDir::new().unwrap();
    let all = "password_file = \"none\"\npassword_env = \"NONE\"\npassword = \"geheim\"";
    let fix = "keep only one of password, password_file, password_env, password_credential";
    assert_eq!(
        refusal(all, &directory),
        format!(
            "f:4:16: account.password_env: password_file is already given at line 3; {fix}\n\
             f:5:12: account.password: password_file is already given at line 3; {fix}"
        )
    );
}

#[test]
fn a_relative_file_is_beside_the_configuration() {
    let directory = TempDir::new().unwrap();
    write(&directory, "app.password", b"secret\n", 0o600);
    let text = "[[account]]\nuser = \"app\"\npassword_file = \"app.password\"\n";
    write(&directory, "myriad.toml", text.as_bytes(), 0o644);
    let settings = load(&directory.path().join("myriad.toml")).unwrap();
    assert_eq!(settings.accounts[0].password.expose(), "secret");
    assert!(!settings.accounts[0].password.is_empty());
}

#[test]
fn debug_never_shows_a_password() {
    let text = "[[account]]\nuser = \"app\"\npassword = \"geheim\"\n";
    let settings = parse(text, "f").unwrap();
    assert_eq!(
        format!("{:?}", settings.accounts),
        "[Account { user: \"app\", password: …, require: None }]"
    );
    assert!(!format!("{settings:#?}").contains("geheim"));
}

#[test]
fn messages_never_show_a_password() {
    for text in [
        "[[account]]\nuser = \"a\"\npasswort = \"geheim\"",
        "[[account]]\nuser = \"a\"\npassword = [\"geheim\"]",
        "[[account]]\nuser = \"a\"\npassword = geheim",
        "[[account]]\nuser = \"a\"\npassword = \"geheim",
        "[[account]]\nuser = \"a\"\npassword = \"gehe\\qim geheim\"",
        "[[account]]\nuser = \"a\"\npassword = 'a' geheim",
        "[[account]]\nuser = \"a\"\npassword = \"geheim\"\npassword = \"geheim\"",
        "[[account]]\nuser = \"a\"\npassword = \"geheim\"\npassword_env = \"X\"",
        "[[account]]\npassword = \"geheim\"",
        "[backend]\naddress = \"mysql://app:geheim@db:3306/\"",
        "[backend]\naddress = \"app:geheim@db:3306\"",
    ] {
        let errors = parse(text, "f").unwrap_err();
        assert!(!errors.to_string().contains("geheim"), "{errors}");
        assert!(!format!("{errors:?}").contains("geheim"), "{errors:?}");
    }
}

#[test]
fn credentials_of_systemd_are_read_where_it_puts_them() {
    let directory = TempDir::new().unwrap();
    // As systemd leaves it to a service's own user: the group is a mask of an access list.
    write(&directory, "app", b"handed over\n", 0o440);
    write(&directory, "open", b"handed over\n", 0o444);
    // The folder cannot be told by an argument: `variable` is a plain function.
    let path = directory.path().to_owned();
    FOLDER.with(|folder| *folder.borrow_mut() = Some(path));
    let surroundings = Surroundings {
        directory: "/".into(),
        variable: |name| {
            assert_eq!(name, "CREDENTIALS_DIRECTORY");
            FOLDER.with(|folder| folder.borrow().clone().map(Into::into))
        },
    };
    let read = |name: &str| {
        let text = format!("[[account]]\nuser = \"app\"\npassword_credential = {name:?}\n");
        settings::read(&text, "f", &surroundings).map_err(|errors| errors.to_string())
    };
    assert_eq!(
        read("app").unwrap().accounts[0].password.expose(),
        "handed over"
    );
    assert!(read("open").unwrap_err().contains("may use it"));
    assert!(read("none").unwrap_err().contains("cannot read"));
    FOLDER.with(|folder| *folder.borrow_mut() = None);
    assert!(read("app").unwrap_err().contains("systemd has handed no"));
}

thread_local! {
    static FOLDER: std::cell::RefCell<Option<std::path::PathBuf>> = const { std::cell::RefCell::new(None) };
}
