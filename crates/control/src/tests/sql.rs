//! The listener for statements, asked by a client that chooses its packets.

use std::net::SocketAddr;
use std::time::Duration;

use engine::{FIRST_CONNECTION_ID, Victim};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use wire::{
    AuthPlugin, AuthSwitchRequest, Capabilities, ErrPacket, ExtendedCapabilities,
    HandshakeResponse, InitialHandshake, Reader, write_packet,
};

use super::stage::{BOUND, Stage, answers, client_line, entrance, report};
use crate::entrance::Entrance;
use crate::sql::{Limits, serve_within};

const CAPABILITIES: Capabilities = Capabilities::PROTOCOL_41
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH);

async fn listener(stage: &Stage, limits: Limits) -> SocketAddr {
    behind(entrance(), stage, limits).await
}

async fn behind(entrance: Entrance, stage: &Stage, limits: Limits) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let place = (listener, stage.desk.clone());
    // It ends with the test's runtime.
    tokio::spawn(serve_within(
        limits,
        place,
        entrance.into(),
        std::future::pending(),
    ));
    address
}

struct Client(TcpStream);

impl Client {
    async fn connect(address: SocketAddr) -> (Self, Vec<u8>) {
        let mut client = Self(TcpStream::connect(address).await.unwrap());
        let greeting = client.read().await.unwrap();
        (client, greeting)
    }

    /// The next payload; `None` at the end.
    async fn read(&mut self) -> Option<Vec<u8>> {
        let mut header = [0; 4];
        let read = timeout(BOUND, self.0.read_exact(&mut header)).await;
        read.unwrap().ok()?;
        let header = wire::Header::parse(&header).unwrap();
        let mut payload = vec![0; header.len];
        self.0.read_exact(&mut payload).await.unwrap();
        Some(payload)
    }

    async fn write(&mut self, sequence_id: u8, payload: &[u8]) {
        let mut out = Vec::new();
        write_packet(&mut out, sequence_id, payload);
        self.0.write_all(&out).await.unwrap();
    }

    /// Logs in; the last packet that came.
    async fn login(
        address: SocketAddr,
        plugin: &[u8],
        (user, password): (&str, &str),
    ) -> (Self, Vec<u8>) {
        let (mut client, greeting) = Self::connect(address).await;
        let greeting = InitialHandshake::parse(&greeting).unwrap();
        let named = AuthPlugin::named(plugin);
        let proof = named.map(|plugin| plugin.response(password.as_bytes(), &greeting.nonce));
        let response = HandshakeResponse {
            capabilities: CAPABILITIES,
            extended: ExtendedCapabilities::empty(),
            max_packet_size: 1 << 24,
            collation: 45,
            user: user.as_bytes(),
            auth_response: &proof.unwrap_or_default(),
            schema: None,
            auth_plugin: plugin,
            attributes: b"",
        };
        let mut out = Vec::new();
        response.encode(&mut out, 1);
        client.0.write_all(&out).await.unwrap();
        let mut told = client.read().await.unwrap();
        if told.first() == Some(&0xfe) {
            let request = AuthSwitchRequest::parse(&told).unwrap();
            let plugin = AuthPlugin::named(request.plugin).unwrap();
            let nonce = request.data.try_into().unwrap();
            client
                .write(3, &plugin.response(password.as_bytes(), nonce))
                .await;
            told = client.read().await.unwrap();
        }
        if told.first() == Some(&0x01) {
            told = client.read().await.unwrap();
        }
        (client, told)
    }

    async fn admin(address: SocketAddr) -> Self {
        let (client, told) = Self::login(address, b"mysql_native_password", ("admin", "all")).await;
        assert_eq!(told.first(), Some(&0x00), "{told:?}");
        client
    }

    /// The first packet of the answer to a statement.
    async fn ask(&mut self, statement: &str) -> Vec<u8> {
        let mut payload = vec![0x03];
        payload.extend_from_slice(statement.as_bytes());
        self.write(0, &payload).await;
        self.read().await.unwrap()
    }

    /// The first column of all rows.
    async fn column(&mut self, statement: &str) -> Vec<String> {
        let first = self.ask(statement).await;
        assert_ne!(first[0], 0xff, "{}", String::from_utf8_lossy(&first));
        for _ in 0..first[0] {
            self.read().await.unwrap();
        }
        let mut rows = Vec::new();
        assert_eq!(self.read().await.unwrap()[0], 0xfe);
        loop {
            let row = self.read().await.unwrap();
            if row[0] == 0xfe && row.len() < 9 {
                return rows;
            }
            let value = Reader::new(&row).lenenc_bytes("row").unwrap();
            rows.push(String::from_utf8(value.to_vec()).unwrap());
        }
    }
}

fn error(payload: &[u8]) -> (u16, String) {
    let error = ErrPacket::parse(payload).unwrap();
    (
        error.code,
        String::from_utf8_lossy(error.message).into_owned(),
    )
}

#[tokio::test]
async fn administrators_log_in_with_either_plugin_and_nobody_else_does() {
    let stage = Stage::new([answers(report())]).await;
    let address = listener(&stage, Limits::default()).await;
    let plugins: [&[u8]; 4] = [
        b"mysql_native_password",
        b"caching_sha2_password",
        b"client_ed25519",
        b"",
    ];
    for plugin in &plugins[..3] {
        let (mut client, told) = Client::login(address, plugin, ("admin", "all")).await;
        assert_eq!(told.first(), Some(&0x00), "{plugin:?}: {told:?}");
        assert_eq!(client.column("SELECT 1").await, ["1"]);
        for wrong in [
            ("admin", "none"),
            ("admin", ""),
            ("nobody", "all"),
            ("nobody", "\0"),
        ] {
            let (mut client, told) = Client::login(address, plugin, wrong).await;
            assert_eq!(error(&told).0, 1045, "{wrong:?}");
            assert_eq!(client.read().await, None, "{wrong:?}");
        }
    }
    let metrics = stage.get("/metrics").await;
    assert_eq!(metrics.sample("myriad_admin_logins_refused_total"), 12.0);
    assert_eq!(metrics.sample("myriad_admin_statements_total"), 3.0);
}

#[tokio::test]
async fn tables_are_told_slice_by_slice() {
    let stage = Stage::new([answers(report()), answers(report())]).await;
    let crowd = |first: u32| (first..first + 300).map(|id| client_line(id, "app", "idle", 1));
    stage
        .fakes
        .set_clients(vec![crowd(0).collect(), crowd(300).collect()]);
    let address = listener(&stage, Limits::default()).await;
    let mut client = Client::admin(address).await;
    let expected: Vec<_> = (0..600_u32).map(|id| id.to_string()).collect();
    assert_eq!(client.column("SHOW SESSIONS").await, expected);
    assert_eq!(
        client.column("SHOW SESSIONS LIMIT 299, 3").await,
        ["299", "300", "301"]
    );
    assert_eq!(client.column("SHOW WARNINGS").await, [""; 0]);
    let crowd = (0..2_000).map(|id| client_line(id, "app", "idle", 1));
    stage.fakes.set_clients(vec![crowd.collect()]);
    assert_eq!(client.column("SHOW SESSIONS").await.len(), 1_000);
    assert_eq!(client.column("SHOW WARNINGS").await, ["Warning"]);
    assert_eq!(client.column("SHOW SESSIONS LIMIT 2000").await.len(), 2_000);
}

#[tokio::test]
async fn of_a_long_queue_no_more_is_told_than_is_asked_for() {
    const WAITERS: u32 = 100_000;
    let stage = Stage::new([answers(report()), answers(report())]).await;
    // The younger ones stand first, and each worker has every other one.
    let waiter = |id: u32| client_line(id, "app", "waiting", u64::from((WAITERS - id) % 1_000));
    let of_worker = |first: u32| (first..WAITERS).step_by(2).map(waiter).collect();
    stage.fakes.set_clients(vec![of_worker(0), of_worker(1)]);
    let address = listener(&stage, Limits::default()).await;
    let mut client = Client::admin(address).await;
    let positions: Vec<_> = (1..=1_000_u32).map(|id| id.to_string()).collect();
    assert_eq!(client.column("SHOW QUEUE").await, positions);
    // One says that LIMIT is missing or that there are more.
    assert_eq!(client.column("SHOW WARNINGS").await, ["Warning"]);
    let last = client.column("SHOW QUEUE LIMIT 99998, 5").await;
    assert_eq!(last, ["99999", "100000"]);
    assert_eq!(
        client.column("SHOW QUEUE LIKE 'nobody' LIMIT 1").await,
        [""; 0]
    );
}

#[tokio::test]
async fn orders_to_kill_reach_the_worker() {
    let stage = Stage::new([answers(report())]).await;
    let address = listener(&stage, Limits::default()).await;
    let mut client = Client::admin(address).await;
    assert_eq!(client.ask("KILL QUERY 1073741824").await[0], 0x00);
    let (code, text) = error(&client.ask("KILL 1073741825").await);
    assert_eq!((code, &*text), (1094, "Unknown thread id: 1073741825"));
    let expected = [
        (FIRST_CONNECTION_ID, true),
        (FIRST_CONNECTION_ID + 1, false),
    ];
    let expected = expected.map(|(id, query)| Victim { id, query });
    assert_eq!(stage.fakes.killed(), expected);
}

#[tokio::test]
async fn who_only_looks_changes_nothing() {
    let stage = Stage::new([answers(report())]).await;
    let address = listener(&stage, Limits::default()).await;
    let plugin = b"caching_sha2_password";
    let (mut client, told) = Client::login(address, plugin, ("scraper", "some")).await;
    assert_eq!(told.first(), Some(&0x00), "{told:?}");
    for change in [
        "KILL QUERY 1073741824",
        "KILL 1073741824",
        "SET QUOTA app WEIGHT = 2",
        "ALTER USER app WITH WEIGHT 2",
        "FLUSH HOSTS",
        "RELOAD",
    ] {
        assert_eq!(error(&client.ask(change).await).0, 1227, "{change}");
    }
    assert_eq!(stage.fakes.killed(), []);
    assert_eq!(client.column("SELECT 1").await, ["1"]);
    assert_eq!(client.column("SHOW SESSIONS").await, [""; 0]);
}

#[tokio::test]
async fn a_wrong_password_is_told_late_and_keeps_nobody_who_is_right() {
    let stage = Stage::new([answers(report())]).await;
    let hour = Duration::from_secs(3_600);
    let limits = Limits {
        login_time: 2 * hour,
        ..Limits::default()
    };
    let address = behind(entrance().refusing_after(hour), &stage, limits).await;
    let plugin = b"mysql_native_password";
    let wrong = tokio::spawn(Client::login(address, plugin, ("admin", "none")));
    let refused = &stage.desk.tallies.logins_refused;
    let counted = async {
        while refused.load(std::sync::atomic::Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(BOUND, counted).await.unwrap();
    let mut right = Client::admin(address).await;
    assert_eq!(right.column("SELECT 1").await, ["1"]);
    assert!(!wrong.is_finished(), "it was told at once");
}

#[tokio::test]
async fn errors_leave_the_connection_open() {
    let stage = Stage::new([answers(report())]).await;
    let address = listener(&stage, Limits::default()).await;
    let mut client = Client::admin(address).await;
    for (payload, expected) in [
        (&b"\x03DROP TABLE t"[..], 1064),
        (b"\x03\xff\xfe", 1064),
        (b"\x02shop", 1049),
        (b"\x16SELECT ?", 1295),
        (b"\x04t\0", 1047),
        (b"", 1047),
        (b"\x99", 1047),
    ] {
        client.write(0, payload).await;
        let told = client.read().await.unwrap();
        assert_eq!(error(&told).0, expected, "{payload:?}");
    }
    client.write(0, b"\x0e").await;
    assert_eq!(client.read().await.unwrap()[0], 0x00);
}

#[tokio::test]
async fn what_takes_too_long_or_is_too_much_is_refused() {
    let stage = Stage::new([answers(report())]).await;
    let limits = Limits {
        login_time: Duration::from_millis(50),
        connections: 1,
        ..Limits::default()
    };
    let address = listener(&stage, limits).await;
    let mut silent = Client::connect(address).await.0;
    assert_eq!(silent.read().await, None);

    let address = listener(
        &stage,
        Limits {
            connections: 1,
            ..Limits::default()
        },
    )
    .await;
    let mut client = Client::admin(address).await;
    let (mut other, refused) = Client::connect(address).await;
    assert_eq!(error(&refused).0, 1040);
    assert_eq!(other.read().await, None);
    let metrics = stage.get("/metrics").await;
    assert_eq!(
        metrics.sample("myriad_admin_connections_refused_total"),
        1.0
    );

    let mut long = vec![b' '; 64 << 10];
    long[0] = 0x03;
    client.write(0, &long).await;
    assert_eq!(error(&client.read().await.unwrap()).0, 1064);
    long.push(b' ');
    client.write(0, &long).await;
    assert_eq!(error(&client.read().await.unwrap()).0, 1153);
}

#[tokio::test]
async fn a_silent_administrator_is_let_go() {
    let stage = Stage::new([answers(report())]).await;
    let limits = Limits {
        silent_time: Duration::from_millis(50),
        ..Limits::default()
    };
    let address = listener(&stage, limits).await;
    let mut client = Client::admin(address).await;
    assert_eq!(client.read().await, None);
}
