//! Whether the database's session tracker tells what a session sets: its connection is asked to tell, and to set a few
//! variables to the values that they have, as `serve` does it with the first one. The driver that asks for all else is told
//! nothing of sessions, so this is a connection of its own, without TLS.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use wire::{
    AuthMoreData, AuthPlugin, AuthSwitchRequest, Capabilities, Command, ErrPacket,
    ExtendedCapabilities, HandshakeResponse, InitialHandshake, OkPacket, whole_packet,
    write_packet,
};

/// How long the database may be silent.
const PATIENCE: Duration = Duration::from_secs(5);

/// No answer to what is asked here is as long.
const ANSWER_MAX: usize = 64 << 10;

/// Where the database is, and as whom it is asked.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) place: Place,
    pub(super) user: String,
    pub(super) password: String,
}

/// Where the database listens.
#[derive(Clone)]
pub(super) enum Place {
    Unix(PathBuf),
    Tcp(String, u16),
}

/// The probed variables that the database does not tell of. `None` if it cannot track sessions at all.
pub(super) fn untold(target: &Target) -> anyhow::Result<Option<Vec<String>>> {
    let mut connection = Connection::open(&target.place)?;
    if !connection.log_in(target)? {
        return Ok(None);
    }
    connection.run(engine::TRACK_ALL)?;
    let told = connection.run(engine::tracker_probe().as_bytes())?;
    Ok(Some(engine::untold_by_probe(&OkPacket::parse(&told)?)))
}

trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

struct Connection {
    stream: Box<dyn Stream>,
    /// Nobody can listen.
    is_private: bool,
    sequence_id: u8,
    nonce: [u8; 20],
}

impl Connection {
    fn open(place: &Place) -> anyhow::Result<Self> {
        let stream: Box<dyn Stream> = match place {
            Place::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                Box::new(stream)
            }
            Place::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                stream.set_read_timeout(Some(PATIENCE))?;
                Box::new(stream)
            }
        };
        Ok(Self {
            stream,
            is_private: matches!(place, Place::Unix(_)),
            sequence_id: 0,
            nonce: [0; 20],
        })
    }

    /// False if the server cannot track sessions.
    fn log_in(&mut self, target: &Target) -> anyhow::Result<bool> {
        let greeting = self.receive()?;
        let handshake = InitialHandshake::parse(&greeting)?;
        let needed = Capabilities::SESSION_TRACK | Capabilities::DEPRECATE_EOF;
        if !handshake.capabilities.contains(needed) {
            return Ok(false);
        }
        self.nonce = handshake.nonce;
        let plugin = AuthPlugin::named(handshake.auth_plugin).unwrap_or_default();
        let response = HandshakeResponse {
            capabilities: needed
                | Capabilities::LONG_PASSWORD
                | Capabilities::PROTOCOL_41
                | Capabilities::SECURE_CONNECTION
                | Capabilities::PLUGIN_AUTH,
            extended: ExtendedCapabilities::empty(),
            max_packet_size: 1 << 24,
            collation: 45,
            user: target.user.as_bytes(),
            auth_response: &plugin.response(target.password.as_bytes(), &self.nonce),
            schema: None,
            auth_plugin: plugin.name(),
            attributes: b"",
        };
        let mut bytes = Vec::new();
        response.encode(&mut bytes, self.sequence_id);
        self.stream.write_all(&bytes)?;
        loop {
            let packet = self.receive()?;
            match packet.first() {
                Some(0) => return Ok(true),
                Some(0xfe) => {
                    let request = AuthSwitchRequest::parse(&packet)?;
                    self.nonce = *request.data.first_chunk().context("a short nonce")?;
                    let plugin = AuthPlugin::named(request.plugin);
                    let plugin = plugin.context("a plugin that is not known here")?;
                    let proof = plugin.response(target.password.as_bytes(), &self.nonce);
                    self.send(&proof)?;
                }
                Some(1) => match AuthMoreData::parse(&packet)? {
                    AuthMoreData::FastAuthSuccess => {}
                    AuthMoreData::FullAuthentication if self.is_private => {
                        self.send(&[target.password.as_bytes(), b"\0"].concat())?;
                    }
                    _ => bail!("it wants to see the password, over TLS"),
                },
                _ => bail!("{}", error(&packet)),
            }
        }
    }

    fn run(&mut self, sql: &[u8]) -> anyhow::Result<Vec<u8>> {
        self.sequence_id = 0;
        self.send(&[&[Command::Query as u8], sql].concat())?;
        let answer = self.receive()?;
        ensure!(answer.first() == Some(&0), "{}", error(&answer));
        Ok(answer)
    }

    fn send(&mut self, payload: &[u8]) -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        write_packet(&mut bytes, self.sequence_id, payload);
        Ok(self.stream.write_all(&bytes)?)
    }

    fn receive(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            if let Ok(packet) = whole_packet(&bytes) {
                self.sequence_id = packet.sequence_id.wrapping_add(1);
                return Ok(packet.payload.bytes().to_vec());
            }
            let begin = bytes.len();
            ensure!(begin < ANSWER_MAX, "an answer that is too long");
            bytes.resize(begin + 4_096, 0);
            let read = self.stream.read(&mut bytes[begin..])?;
            ensure!(read > 0, "it closed the connection");
            bytes.truncate(begin + read);
        }
    }
}

fn error(packet: &[u8]) -> String {
    match ErrPacket::parse(packet) {
        Ok(error) => format!("{} {}", error.code, String::from_utf8_lossy(error.message)),
        Err(_) => "an answer that is not understood".to_owned(),
    }
}
