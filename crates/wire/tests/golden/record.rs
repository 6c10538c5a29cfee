//! Takes the packets anew from real servers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use localdb::{Family, Installation, LocalDb, Options};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use wire::{
    AuthMoreData, AuthPlugin, AuthSwitchRequest, CACHING_SHA2_PASSWORD, Capabilities, Command,
    ExtendedCapabilities, HEADER_LEN, HandshakeResponse, Header, InitialHandshake, NATIVE_PASSWORD,
    REQUEST_PUBLIC_KEY, ResponseWalk, encrypt_password, write_packet,
};

use crate::file::Golden;
use crate::script::{ENDINGS, LOCAL_INFILE, PREPARE, PREPARED, STATEMENTS, TRACKERS};

const PASSWORD: &[u8] = b"secret";

const LOGIN: Capabilities = Capabilities::PROTOCOL_41
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::LOCAL_FILES)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::MULTI_STATEMENTS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PS_MULTI_RESULTS)
    .union(Capabilities::PLUGIN_AUTH);

/// Stands for MariaDB's extended flag, which has no place among these. It means nothing to servers.
const PROGRESS: Capabilities = Capabilities::REMEMBER_OPTIONS;

#[test]
#[ignore = "writes the golden packets anew, from a MariaDB, a MySQL and, for logins, MariaDB 11.8"]
fn record() {
    let newer = Installation::named("mariadb-11.8").unwrap();
    let usual = [Family::MariaDb, Family::MySql].map(Installation::usual);
    for installation in usual.into_iter().chain([newer]) {
        let folder = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let options = Options::in_folder(folder.path())
            .installation(installation)
            .port(port);
        let database = LocalDb::start(options).unwrap();
        let account = "CREATE USER golden IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO golden";
        database.execute(account).unwrap();
        let version = database.execute("SELECT VERSION()").unwrap();
        let recorder = Recorder {
            server: installation.name(),
            version: version.trim(),
            database: &database,
        };
        recorder.connection_phase();
        if installation == newer {
            continue;
        }
        recorder.answers();
        recorder.prepared();
        if installation.family() == Family::MariaDb {
            recorder.progress();
        }
    }
}

struct Recorder<'a> {
    server: &'a str,
    version: &'a str,
    database: &'a LocalDb,
}

impl Recorder<'_> {
    fn keep(&self, name: &str, what: &str, bytes: Vec<u8>) {
        let (server, version) = (self.server, self.version);
        let about = format!("{what}\nfrom {version}, by the test `record`");
        Golden { bytes }.write(server, name, &about);
    }

    fn client(&self) -> Client {
        Client(TcpStream::connect(("127.0.0.1", self.database.port())).unwrap())
    }

    fn connection_phase(&self) {
        let mut client = self.client();
        let hello = client.packet();
        self.keep("initial_handshake", "what the server says first", hello);
        drop(client);
        self.login(NATIVE_PASSWORD, (b"wrong", LOGIN), "native_wrong");
        self.login(CACHING_SHA2_PASSWORD, (PASSWORD, LOGIN), "sha2_first");
        self.login(CACHING_SHA2_PASSWORD, (PASSWORD, LOGIN), "sha2_again");
        self.login(NATIVE_PASSWORD, (PASSWORD, LOGIN), "native");
        let tracked = LOGIN | Capabilities::DEPRECATE_EOF | Capabilities::SESSION_TRACK;
        self.login(NATIVE_PASSWORD, (PASSWORD, tracked), "tracked");
    }

    /// All that is said to a client whose first response is of `plugin`.
    fn login(&self, plugin: &[u8], (password, wanted): (&[u8], Capabilities), name: &str) {
        let (_, said) = self.client().login(plugin, password, wanted);
        for (index, packet) in said.into_iter().enumerate() {
            let plugin = String::from_utf8_lossy(plugin);
            let what = format!("packet {index} behind a handshake response of {plugin}");
            self.keep(&format!("login_{name}_{index}"), &what, packet);
        }
    }

    fn logged_in(&self, endings: Capabilities) -> Client {
        let (mut client, _) = self
            .client()
            .login(NATIVE_PASSWORD, PASSWORD, LOGIN | endings);
        client.query(TRACKERS, endings);
        client
    }

    fn answers(&self) {
        for (suffix, endings) in ENDINGS {
            self.database.execute(PREPARE).unwrap();
            let mut client = self.logged_in(endings);
            for (name, statement, what) in STATEMENTS {
                let answer = client.query(statement, endings);
                let what = format!("{statement}\n{what}");
                self.keep(&format!("answer_{name}{suffix}"), &what, answer);
            }
            client.command(Command::Query, LOCAL_INFILE.as_bytes());
            let request = client.packet();
            self.keep(&format!("local_infile{suffix}"), LOCAL_INFILE, request);
            client.send(2, b"");
            let answer = client.packet();
            self.keep(
                &format!("local_infile_end{suffix}"),
                "after the file",
                answer,
            );
        }
    }

    fn prepared(&self) {
        for (suffix, endings) in ENDINGS {
            let mut client = self.logged_in(endings);
            client.query("USE golden", endings);
            client.command(Command::StmtPrepare, PREPARED.as_bytes());
            let mut said = client.packet();
            let id = said[HEADER_LEN + 1..][..4].to_vec();
            let ends = if endings.is_empty() { 2 } else { 0 };
            for _ in 0..5 + ends {
                said.extend(client.packet());
            }
            self.keep(&format!("prepare{suffix}"), PREPARED, said);
            // No cursor, once, no NULL, types follow: a BIGINT.
            let fixed = b"\0\x01\0\0\0\0\x01\x08\0\x01\0\0\0\0\0\0\0";
            client.command(Command::StmtExecute, &[&id[..], fixed].concat());
            let answer = client.answer(endings);
            let what = format!("{PREPARED}\nexecuted: rows in binary form");
            self.keep(&format!("answer_execute{suffix}"), &what, answer);
        }
    }

    /// Reports that MariaDB puts before an answer, for clients that can take them.
    fn progress(&self) {
        let filled = "CREATE TABLE golden.long_one AS SELECT seq, REPEAT('x', 200) AS x FROM golden.seq_1_to_600000";
        self.database.execute(filled).unwrap();
        let caps = LOGIN | Capabilities::DEPRECATE_EOF | PROGRESS;
        let (mut client, _) = self.client().login(NATIVE_PASSWORD, PASSWORD, caps);
        client.query("SET progress_report_time = 1", caps);
        let alter = "ALTER TABLE golden.long_one ADD y CHAR(200) DEFAULT 'y', ALGORITHM=COPY";
        client.command(Command::Query, alter.as_bytes());
        let report = client.packet();
        self.keep("progress", &format!("{alter}\na progress report"), report);
    }
}

struct Client(TcpStream);

impl Client {
    fn packet(&mut self) -> Vec<u8> {
        let mut packet = vec![0; HEADER_LEN];
        self.0.read_exact(&mut packet).unwrap();
        let header = Header::parse(&packet).unwrap();
        packet.resize(HEADER_LEN + header.len, 0);
        self.0.read_exact(&mut packet[HEADER_LEN..]).unwrap();
        packet
    }

    fn send(&mut self, sequence_id: u8, payload: &[u8]) {
        let mut bytes = Vec::new();
        write_packet(&mut bytes, sequence_id, payload);
        self.0.write_all(&bytes).unwrap();
    }

    fn command(&mut self, command: Command, argument: &[u8]) {
        self.send(0, &[&[command as u8], argument].concat());
    }

    fn query(&mut self, statement: &str, endings: Capabilities) -> Vec<u8> {
        self.command(Command::Query, statement.as_bytes());
        self.answer(endings)
    }

    fn answer(&mut self, endings: Capabilities) -> Vec<u8> {
        let mut walk = ResponseWalk::new(endings.contains(Capabilities::DEPRECATE_EOF), 0);
        let mut answer = Vec::new();
        while !walk.is_done() {
            let packet = self.packet();
            let mut at = 0;
            while let Some(piece) = walk.next(&packet[at..]).unwrap() {
                at += piece.bytes().len();
            }
            answer.extend(packet);
        }
        answer
    }

    /// Logs in; also gives what came behind the initial handshake, until OK or ERR.
    fn login(
        mut self,
        plugin: &[u8],
        password: &[u8],
        wanted: Capabilities,
    ) -> (Self, Vec<Vec<u8>>) {
        let hello = self.packet();
        let hello = InitialHandshake::parse(&hello[HEADER_LEN..]).unwrap();
        let mut nonce = hello.nonce;
        let mut plugin = AuthPlugin::named(plugin).unwrap();
        let mut response = Vec::new();
        HandshakeResponse {
            capabilities: wanted & hello.capabilities,
            extended: hello.extended & wanted_extended(wanted),
            max_packet_size: 1 << 24,
            collation: 45,
            user: b"golden",
            auth_response: &plugin.response(password, &nonce),
            schema: None,
            auth_plugin: plugin.name(),
            attributes: b"",
        }
        .encode(&mut response, 1);
        self.0.write_all(&response).unwrap();
        let mut said = Vec::new();
        loop {
            let packet = self.packet();
            said.push(packet.clone());
            let (next, payload) = (packet[3].wrapping_add(1), &packet[HEADER_LEN..]);
            if let Ok(request) = AuthSwitchRequest::parse(payload) {
                plugin = AuthPlugin::named(request.plugin).unwrap();
                nonce = request.data.try_into().unwrap();
                self.send(next, &plugin.response(password, &nonce));
                continue;
            }
            match AuthMoreData::parse(payload) {
                Ok(AuthMoreData::FastAuthSuccess) => {}
                Ok(AuthMoreData::FullAuthentication) => self.send(next, REQUEST_PUBLIC_KEY),
                Ok(AuthMoreData::Data(key)) => {
                    let mut rng = ChaCha20Rng::seed_from_u64(1);
                    let secret = encrypt_password(password, &nonce, key, &mut rng).unwrap();
                    self.send(next, &secret);
                }
                Err(_) => return (self, said),
            }
        }
    }
}

fn wanted_extended(wanted: Capabilities) -> ExtendedCapabilities {
    match wanted.contains(PROGRESS) {
        true => ExtendedCapabilities::PROGRESS,
        false => ExtendedCapabilities::empty(),
    }
}
