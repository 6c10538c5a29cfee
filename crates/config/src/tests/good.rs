//! Good configurations and what they come to.

use std::net::{Ipv6Addr, SocketAddr};
use std::num::NonZero;
use std::time::Duration;

use crate::{
    AccountName, Address, AuthPlugin, Backend, Driver, Format, Level, Limits, Listen, OnDisconnect,
    Overload, Quotas, Server, Settings, TlsMode, default_toml, parse,
};

fn settings(text: &str) -> Settings {
    parse(text, "f").unwrap_or_else(|errors| panic!("{errors}"))
}

fn tcp(address: &str) -> Listen {
    Listen::Tcp(address.parse().unwrap())
}

#[test]
fn an_empty_file_says_the_defaults() {
    assert_eq!(settings(""), Settings::default());
    assert_eq!(
        settings("[server]\n[backend]\n[admin]\n[log]\n"),
        Settings::default()
    );
}

#[test]
fn every_key_of_server_arrives() {
    let Settings { server, .. } = settings(
        r#"
        [server]
        listen = ["127.0.0.1:0", "[::1]:6033", "unix:/run/myriad.sock"]
        listen_backlog = 128
        workers = 2
        max_connections = 16_000_000
        max_logins = 70
        max_connect_errors = 71
        connect_errors_exempt = ["10.0.0.0/8", "fd00::1"]
        core_dump = "on"
        memlock = "on"
        default_authentication_plugin = "caching_sha2_password"
        login_timeout = "250ms"
        idle_transaction_timeout = "5m"
        client_write_timeout = "8h"
        client_read_timeout = "7m"
        wait_timeout = "1d"
        answer_buffer = 2048
        answer_buffer_total = "1024GiB"
        command_buffer_total = "5GiB"
        session_buffer_total = "1GiB"
        max_allowed_packet = "1GiB"
        compression = "off"
        drain_timeout = "1s"
        on_disconnect = "kill_all"
        driver = "epoll"
        "#,
    );
    let expected = Server {
        listen: vec![
            tcp("127.0.0.1:0"),
            tcp("[::1]:6033"),
            Listen::Unix("/run/myriad.sock".into()),
        ],
        listen_backlog: 128,
        workers: NonZero::new(2),
        max_connections: 16_000_000,
        max_logins: NonZero::new(70),
        max_connect_errors: NonZero::new(71),
        connect_errors_exempt: vec![
            crate::Network::Ip("10.0.0.0".parse().unwrap(), 8),
            crate::Network::Ip("fd00::1".parse().unwrap(), 128),
        ],
        core_dump: true,
        memlock: true,
        default_authentication_plugin: Some(AuthPlugin::CachingSha2Password),
        login_timeout: Duration::from_millis(250),
        idle_transaction_timeout: Some(Duration::from_secs(300)),
        client_write_timeout: Duration::from_secs(28_800),
        client_read_timeout: Duration::from_secs(420),
        wait_timeout: Some(Duration::from_secs(86_400)),
        answer_buffer: 2_048,
        answer_buffer_total: 1 << 40,
        command_buffer_total: NonZero::new(5 << 30),
        session_buffer_total: NonZero::new(1 << 30),
        max_allowed_packet: 1 << 30,
        compression: false,
        drain_timeout: Duration::from_secs(1),
        on_disconnect: OnDisconnect::KillAll,
        driver: Driver::Epoll,
    };
    assert_eq!(server, expected);
}

#[test]
fn every_key_of_backend_arrives() {
    let Settings { backend, .. } = settings(
        r#"
        [backend]
        address = "unix:/run/mysqld.sock"
        min_connections = 3
        max_connections = 100000
        connect_timeout = "2s"
        queue_timeout = "3s"
        idle_timeout = "4s"
        max_age = "5s"
        max_pinned = 99999
        max_pinned_per_account = 7
        max_relayed_per_account = 9
        max_prepared_statements = 10000
        lane_stall = "6ms"
        restless = "on"
        tls = "verify_identity"
        tls_ca = "ca.pem"
        tls_certificate = "cert.pem"
        tls_key = "key.pem"
        server_version = "11.8.1-MariaDB"
        "#,
    );
    let expected = Backend {
        address: Address::Unix("/run/mysqld.sock".into()),
        tls: crate::BackendTls::VerifyIdentity,
        tls_ca: Some("ca.pem".into()),
        tls_certificate: Some("cert.pem".into()),
        tls_key: Some("key.pem".into()),
        min_connections: 3,
        max_connections: 100_000,
        connect_timeout: Duration::from_secs(2),
        queue_timeout: Duration::from_secs(3),
        idle_timeout: Some(Duration::from_secs(4)),
        max_age: Some(Duration::from_secs(5)),
        max_pinned: NonZero::new(99_999),
        max_pinned_per_account: NonZero::new(7),
        max_relayed_per_account: 9,
        max_prepared_statements: 10_000,
        lane_stall: Some(Duration::from_millis(6)),
        restless: true,
        server_version: Some("11.8.1-MariaDB".to_owned()),
    };
    assert_eq!(backend, expected);
}

#[test]
fn every_key_of_the_others_arrives() {
    let Settings {
        accounts,
        admin,
        log,
        ..
    } = settings(
        r#"
        [[account]]
        user = "app"
        password = "secret"
        [[account]]
        user = "other"
        [admin]
        http = "[::1]:6080"
        sql = "127.0.0.1:6032"
        [[admin.account]]
        user = "app"
        password = "other"
        [log]
        level = "trace"
        format = "json"
        "#,
    );
    let accounts: Vec<_> = accounts
        .iter()
        .map(|a| (&*a.user, a.password.expose()))
        .collect();
    assert_eq!(accounts, [("app", "secret"), ("other", "")]);
    assert_eq!(
        admin.http,
        Some(SocketAddr::from((Ipv6Addr::LOCALHOST, 6080)))
    );
    assert_eq!(admin.sql, Some("127.0.0.1:6032".parse().unwrap()));
    let admins = admin.accounts.iter();
    let admins: Vec<_> = admins
        .map(|a| (&*a.login.user, a.login.password.expose()))
        .collect();
    assert_eq!(admins, [("app", "other")]);
    assert_eq!((log.level, log.format), (Level::Trace, Format::Json));
}

#[test]
fn networks_of_load_balancers_are_read() {
    let text = "[proxy_protocol]\nnetworks = [\"10.0.0.0/8\", \"::1\", \"0.0.0.0/0\", \"fd00::/8\", \"localhost\"]\n";
    let networks = settings(text).proxy_protocol.networks;
    let shown: Vec<_> = networks.iter().map(ToString::to_string).collect();
    let expected = [
        "10.0.0.0/8",
        "::1/128",
        "0.0.0.0/0",
        "fd00::/8",
        "localhost",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn administrators_may_be_let_in_from_elsewhere() {
    let text = "[admin]\nhttp = \"0.0.0.0:6080\"\ntls = \"require\"\n[[admin.account]]\n\
                user = \"scraper\"\npassword = \"p\"\nread_only = \"on\"\n";
    let admin = settings(text).admin;
    assert_eq!(admin.http, Some("0.0.0.0:6080".parse().unwrap()));
    assert_eq!(admin.tls, TlsMode::Require);
    assert!(admin.accounts[0].read_only);
}

#[test]
fn zero_is_none() {
    let settings = settings(
        "[server]\nworkers = 0\nidle_transaction_timeout = \"0\"\nwait_timeout = \"0s\"\n\
         [backend]\nidle_timeout = \"0ms\"\nmax_age = \"0d\"\nmax_pinned = 0\nlane_stall = \"0s\"\n",
    );
    assert_eq!(settings.server.workers, None);
    assert_eq!(settings.server.idle_transaction_timeout, None);
    assert_eq!(settings.server.wait_timeout, None);
    assert_eq!(settings.backend.idle_timeout, None);
    assert_eq!(settings.backend.max_age, None);
    assert_eq!(settings.backend.lane_stall, None);
    assert_eq!(settings.backend.max_pinned, None);
}

#[test]
fn a_reserve_is_kept_from_pinned_sessions() {
    for (max_connections, max_pinned, expected) in [
        (1, 0, 1),
        (1, 1, 1),
        (2, 0, 1),
        (2, 1, 1),
        (8, 0, 7),
        (32, 0, 28),
        (32, 31, 31),
    ] {
        let text =
            format!("[backend]\nmax_connections = {max_connections}\nmax_pinned = {max_pinned}\n");
        let backend = settings(&text).backend;
        assert_eq!(backend.pinned_max(), expected, "{text}");
    }
}

#[test]
fn addresses_are_shown_as_written() {
    for written in ["127.0.0.1:1", "[::1]:1", "unix:/a"] {
        let text =
            format!("[server]\nlisten = [\"{written}\"]\n[backend]\naddress = \"{written}5\"\n");
        let settings = settings(&text);
        assert_eq!(settings.server.listen[0].to_string(), written);
        assert_eq!(settings.backend.address.to_string(), format!("{written}5"));
    }
}

#[test]
fn a_backend_is_named_by_host() {
    for (written, host, port) in [
        ("db.example:3306", "db.example", 3_306),
        ("localhost:65535", "localhost", 65_535),
        ("my_db-1.example.:1", "my_db-1.example.", 1),
        ("10.0.0.1:3306", "10.0.0.1", 3_306),
        ("[::1]:3306", "::1", 3_306),
    ] {
        let backend = settings(&format!("[backend]\naddress = \"{written}\"\n")).backend;
        assert_eq!(
            backend.address,
            Address::Tcp {
                host: host.to_owned(),
                port
            }
        );
    }
}

#[test]
fn a_database_on_this_machine_keeps_half_of_the_processors() {
    for (written, processors, workers) in [
        ("unix:/run/mysqld.sock", 8, 4),
        ("unix:/run/mysqld.sock", 1, 1),
        ("localhost:3306", 3, 1),
        ("127.0.0.2:3306", 2, 1),
        ("[::1]:3306", 8, 4),
        ("10.0.0.1:3306", 8, 8),
        ("db.example:3306", 1, 1),
    ] {
        let processors = NonZero::new(processors).unwrap();
        let backend = format!("[backend]\naddress = \"{written}\"\n");
        assert_eq!(settings(&backend).workers(processors), workers, "{written}");
        let said = settings(&format!("[server]\nworkers = 3\n{backend}"));
        assert_eq!(said.workers(processors), 3, "{written}");
    }
}

#[test]
fn limits_are_inclusive() {
    let path = format!("/{}", "x".repeat(106));
    let text = format!(
        "[server]\nlisten = [\"unix:{path}\"]\nworkers = 1024\nmax_connections = 1\n\
         wait_timeout = \"365d\"\nanswer_buffer = \"1KiB\"\nanswer_buffer_total = 1024\n\
         max_allowed_packet = \"1KiB\"\n[backend]\nmax_connections = 1\n\
         server_version = \"{}\"\n[[account]]\nuser = \"{}\"\n",
        "8".repeat(64),
        "u".repeat(128),
    );
    assert_eq!(settings(&text).server.listen, [Listen::Unix(path.into())]);
}

#[test]
fn two_ports_of_the_systems_choice_do_not_clash() {
    let text = "[server]\nlisten = [\"127.0.0.1:0\"]\n[admin]\nhttp = \"127.0.0.1:0\"\n";
    assert!(settings(text).admin.http.is_some());
}

#[test]
fn levels_are_ordered_and_named() {
    assert!(Level::Error < Level::Trace);
    assert_eq!(Level::default().as_str(), "info");
}

#[test]
fn no_cut_of_the_default_is_a_panic() {
    let text = default_toml();
    for end in 0..text.len() {
        if let Err(errors) = text
            .get(..end)
            .map_or(Ok(Settings::default()), |cut| parse(cut, "f"))
        {
            let problem = &errors.problems()[0];
            assert!(problem.line >= 1 && problem.column >= 1, "{errors}");
        }
    }
}

#[test]
fn logins_follow_from_connections_unless_they_are_set() {
    let logins = |text: &str| settings(text).server.logins_max();
    assert_eq!(logins(""), 100_000);
    assert_eq!(logins("server.max_connections = 50"), 1_000);
    assert_eq!(logins("server.max_logins = 3"), 3);
}

#[test]
fn every_key_of_quotas_arrives() {
    let Settings {
        quotas, schemas, ..
    } = settings(
        r#"
        [[quota]]
        max_queued = 7
        overload = "lifo"
        [[quota]]
        account = "'o''n'@'10.0.0.0/255.0.0.0'"
        max_connections = 1
        max_concurrent_queries = 2
        max_concurrent_transactions = 3
        max_queued = 0
        queue_timeout = "0"
        max_statement_time = "6s"
        max_connects_per_second = 7
        weight = 8
        overload = "codel"
        overload_target = "10ms"
        [[quota]]
        account = "app"
        weight = 5
        [[schema]]
        name = "shop%"
        max_concurrent_queries = 9
        "#,
    );
    let name = |user: &str, host: &str| AccountName {
        user: user.to_owned(),
        host: host.to_owned(),
    };
    let one = Limits {
        max_connections: Some(1),
        max_concurrent_queries: Some(2),
        max_concurrent_transactions: Some(3),
        max_queued: Some(0),
        queue_timeout: Some(Duration::ZERO),
        max_statement_time: Some(Duration::from_secs(6)),
        max_connects_per_second: Some(7),
        weight: Some(8),
        overload: Some(Overload::Codel),
        overload_target: Some(Duration::from_millis(10)),
    };
    let (first, app) = (name("o'n", "10.0.0.0/255.0.0.0"), name("app", "%"));
    assert_eq!(quotas[1].account.as_ref(), Some(&first));
    assert_eq!(quotas[1].limits, one);
    assert_eq!(
        (&*schemas[0].name, schemas[0].limits.max_concurrent_queries),
        ("shop%", Some(9))
    );
    let set = Limits {
        max_queued: Some(3),
        ..Limits::default()
    };
    let effective = Quotas::new(&quotas, &[(app.clone(), set)].into());
    assert_eq!(effective.accounts[&first], one);
    let expected = Limits {
        max_queued: Some(3),
        weight: Some(5),
        overload: Some(Overload::Lifo),
        ..Limits::default()
    };
    assert_eq!(effective.accounts[&app], expected);
}

#[test]
fn files_of_tls_begin_beside_the_configuration() {
    let text = "[tls]\nmode = \"require\"\ncertificate = \"c.pem\"\nkey = \"/etc/k.pem\"\n\
                client_ca = \"\"\n[[account]]\nuser = \"app\"\nrequire = \"x509\"\n";
    let settings = crate::parse(text, "/srv/myriad.toml").unwrap();
    let expected = crate::Tls {
        mode: crate::TlsMode::Require,
        certificate: Some("/srv/c.pem".into()),
        key: Some("/etc/k.pem".into()),
        client_ca: None,
    };
    assert_eq!(settings.tls, expected);
    assert_eq!(settings.accounts[0].require, crate::Require::X509);
}
