//! A client that says exactly what a test wants it to say.

use std::io::{self, BufReader, Read, Write};
use std::time::Duration;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use wire::{
    AuthMoreData, AuthPlugin, AuthSwitchRequest, Capabilities, ErrPacket, ExtendedCapabilities,
    HandshakeResponse, Header, InitialHandshake, OkPacket, REQUEST_PUBLIC_KEY, write_packet,
};

use super::stream::Stream;
use super::{Address, Answer, Outcome, Packet, Part, Shape, tls};

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

/// What today's clients negotiate.
pub(crate) const USUAL: Capabilities = Capabilities::LONG_PASSWORD
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::MULTI_STATEMENTS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::PLUGIN_AUTH_LENENC_DATA)
    .union(Capabilities::DEPRECATE_EOF);

/// How to log in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Login<'a> {
    pub(crate) user: &'a str,
    pub(crate) password: &'a str,
    /// Sent if `capabilities` has CONNECT_WITH_DB.
    pub(crate) schema: &'a str,
    pub(crate) capabilities: Capabilities,
    /// Sent if `capabilities` lacks LONG_PASSWORD.
    pub(crate) extended: ExtendedCapabilities,
    pub(crate) collation: u8,
}

impl Default for Login<'_> {
    fn default() -> Self {
        Self {
            user: "app",
            password: "secret",
            schema: "",
            capabilities: USUAL,
            extended: ExtendedCapabilities::empty(),
            collation: 45,
        }
    }
}

impl<'a> Login<'a> {
    /// As usual, with this schema.
    pub(crate) fn to(schema: &'a str) -> Self {
        let capabilities = USUAL | Capabilities::CONNECT_WITH_DB;
        Self {
            schema,
            capabilities,
            ..Self::default()
        }
    }
}

/// How a client hangs up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HangUp {
    /// With a FIN, unless something of an answer was not read.
    Closed,
    /// With an RST, if that is over TCP.
    Reset,
}

/// A connection in the command phase.
pub(crate) struct Client {
    stream: BufReader<Stream>,
    capabilities: Capabilities,
    nonce: [u8; 20],
    /// Packets since the last command, modulo 256.
    received: u8,
    /// The id that it was given.
    pub(crate) connection_id: u32,
    /// The OK packet that ended its login.
    pub(crate) welcome: Packet,
}

impl Client {
    /// Connects and logs in as `app` with the given schema.
    pub(crate) fn new(address: &Address, schema: &str) -> Self {
        Self::login(address, &Login::to(schema)).unwrap()
    }

    /// Connects and logs in. `Err`: what the other end said instead of OK.
    pub(crate) fn login(address: &Address, login: &Login<'_>) -> Result<Self, Outcome> {
        Self::try_login(address, login).unwrap()
    }

    /// The same where nobody may be listening, or not for long.
    pub(crate) fn try_login(
        address: &Address,
        login: &Login<'_>,
    ) -> io::Result<Result<Self, Outcome>> {
        let (mut client, handshake) = match Self::try_connect(address)? {
            Ok(connected) => connected,
            Err(refused) => return Ok(Err(refused)),
        };
        let response = client.response(&handshake, login);
        client.stream.get_mut().write_all(&response)?;
        let let_in = client.finish_login(login.password)?;
        Ok(let_in.map(|()| client.compressed_if_agreed()))
    }

    /// What it sends on, and receives from; what was received already is lost.
    pub(super) fn into_stream(self) -> Stream {
        self.stream.into_inner()
    }

    /// Both sides compress from here on, if both have said so.
    fn compressed_if_agreed(self) -> Self {
        if !self.capabilities.contains(Capabilities::COMPRESS) {
            return self;
        }
        let stream = Stream::compressed(self.stream.into_inner());
        Self {
            stream: BufReader::with_capacity(64 << 10, stream),
            ..self
        }
    }

    /// The same over TLS, if the other end shows a certificate that one in `trusted`, which is PEM, vouches for.
    pub(crate) fn login_over_tls(
        address: &Address,
        login: &Login<'_>,
        trusted: &[u8],
    ) -> Result<Self, Outcome> {
        let (mut client, handshake) = Self::connect(address)?;
        let mut response = client.response(&handshake, login);
        client.send_bytes(&request_for_tls(&response));
        let Stream::Tcp(stream) = client.stream.into_inner() else {
            panic!("TLS goes over TCP");
        };
        let stream = Stream::Tls(Box::new(tls::secured(stream, trusted)));
        client.stream = BufReader::with_capacity(64 << 10, stream);
        response[3] = 2;
        client.send_bytes(&response);
        client
            .finish_login(login.password)
            .unwrap()
            .map(|()| client)
    }

    /// The packet that answers the initial handshake.
    pub(crate) fn response(&mut self, handshake: &[u8], login: &Login<'_>) -> Vec<u8> {
        let handshake = InitialHandshake::parse(handshake).unwrap();
        self.capabilities = login.capabilities & handshake.capabilities;
        self.connection_id = handshake.connection_id;
        self.nonce = handshake.nonce;
        let plugin = AuthPlugin::named(handshake.auth_plugin).unwrap_or_default();
        let response = HandshakeResponse {
            capabilities: self.capabilities,
            extended: login.extended & handshake.extended,
            max_packet_size: 1 << 30,
            collation: login.collation,
            user: login.user.as_bytes(),
            auth_response: &plugin.response(login.password.as_bytes(), &handshake.nonce),
            schema: Some(login.schema.as_bytes()),
            auth_plugin: plugin.name(),
            attributes: b"",
        };
        let mut bytes = Vec::new();
        response.encode(&mut bytes, 1);
        bytes
    }

    /// Connects and reads the initial handshake's payload.
    pub(crate) fn connect(address: &Address) -> Result<(Self, Vec<u8>), Outcome> {
        Self::try_connect(address).unwrap()
    }

    fn try_connect(address: &Address) -> io::Result<Result<(Self, Vec<u8>), Outcome>> {
        let stream = BufReader::with_capacity(64 << 10, Stream::connect(address)?);
        let welcome = Packet {
            sequence_id: 0,
            payload: Vec::new(),
        };
        let mut client = Self {
            stream,
            capabilities: USUAL,
            nonce: [0; 20],
            received: 0,
            connection_id: 0,
            welcome,
        };
        let handshake = client.receive()?.payload;
        Ok(match ErrPacket::parse(&handshake) {
            Ok(error) => Err(outcome(&error)),
            Err(_) => Ok((client, handshake)),
        })
    }

    /// Reads what follows the response, and switches the plugin if it is asked to.
    /// `Err`: the connection is lost.
    pub(crate) fn finish_login(&mut self, password: &str) -> io::Result<Result<(), Outcome>> {
        loop {
            let Packet {
                sequence_id,
                payload,
            } = self.receive()?;
            if OkPacket::parse(&payload).is_ok() && payload[0] == 0 {
                self.welcome = Packet {
                    sequence_id,
                    payload,
                };
                return Ok(Ok(()));
            }
            if let Ok(error) = ErrPacket::parse(&payload) {
                return Ok(Err(outcome(&error)));
            }
            let answer = match AuthMoreData::parse(&payload) {
                Ok(AuthMoreData::FastAuthSuccess) => continue,
                // Where nobody listens the password itself may be sent.
                Ok(AuthMoreData::FullAuthentication) => match self.stream.get_ref().is_private() {
                    true => [password.as_bytes(), b"\0"].concat(),
                    false => REQUEST_PUBLIC_KEY.to_vec(),
                },
                Ok(AuthMoreData::Data(pem)) => {
                    let random = &mut ChaCha20Rng::from_seed([7; 32]);
                    wire::encrypt_password(password.as_bytes(), &self.nonce, pem, random).unwrap()
                }
                _ => self.switched(&payload, password),
            };
            let mut bytes = Vec::new();
            write_packet(&mut bytes, sequence_id + 1, &answer);
            self.send_bytes(&bytes);
        }
    }

    /// The answer to a request to switch the plugin; nothing, if it is one that is not known here.
    fn switched(&mut self, payload: &[u8], password: &str) -> Vec<u8> {
        let request = AuthSwitchRequest::parse(payload).unwrap();
        self.nonce = *request.data.first_chunk().unwrap();
        let plugin = AuthPlugin::named(request.plugin);
        plugin.map_or_else(Vec::new, |plugin| {
            plugin.response(password.as_bytes(), &self.nonce)
        })
    }

    /// Runs statements and returns what came of each.
    pub(crate) fn run(&mut self, sql: &str) -> Vec<Outcome> {
        self.try_run(sql).unwrap()
    }

    /// The same, of a connection that may be lost.
    pub(crate) fn try_run(&mut self, sql: &str) -> io::Result<Vec<Outcome>> {
        let mut bytes = Vec::new();
        write_packet(&mut bytes, 0, &[&[COM_QUERY], sql.as_bytes()].concat());
        self.stream.get_mut().write_all(&bytes)?;
        Ok(self.answer()?.outcomes())
    }

    /// Prepares and executes a statement by commands; `between` is called before it is executed. The answer to
    /// the last of them. The statement stays.
    pub(crate) fn execute(&mut self, sql: &str, between: impl FnOnce()) -> Answer {
        self.send(COM_STMT_PREPARE, sql.as_bytes());
        let prepared = self.answer_of(Shape::Prepare).unwrap();
        let (Part::PrepareOk, first) = &prepared.packets[0] else {
            return prepared;
        };
        between();
        let id = &first.payload[1..5];
        self.send(COM_STMT_EXECUTE, &[id, &[0, 1, 0, 0, 0]].concat());
        self.answer().unwrap()
    }

    /// The first column of the first row of one statement's result set.
    pub(crate) fn value(&mut self, sql: &str) -> String {
        match &self.run(sql)[..] {
            [Outcome::Rows(rows)] if !rows.is_empty() => rows[0][0].clone(),
            other => panic!("{sql}: {other:?}"),
        }
    }

    /// True if a statement about the server's processes is answered with this value. MySQL refuses to list processes now
    /// and then (ERR 3854), as one that it lists ends.
    pub(crate) fn lists(&mut self, sql: &str, value: &str) -> bool {
        matches!(&self.run(sql)[..], [Outcome::Rows(rows)] if rows[0][0] == value)
    }

    /// Sends a command in one packet, or in several if it is long.
    pub(crate) fn send(&mut self, command: u8, argument: &[u8]) {
        let mut bytes = Vec::with_capacity(argument.len() + 64);
        write_packet(&mut bytes, 0, &[&[command], argument].concat());
        self.received = 0;
        self.send_bytes(&bytes);
    }

    /// The same of a connection that may be lost.
    pub(crate) fn send_command_that_goes(&mut self, command: u8, argument: &[u8]) {
        let mut bytes = Vec::with_capacity(argument.len() + 64);
        write_packet(&mut bytes, 0, &[&[command], argument].concat());
        self.received = 0;
        self.send_what_goes(&bytes);
    }

    /// Sends a statement.
    pub(crate) fn query(&mut self, sql: &str) {
        self.send(COM_QUERY, sql.as_bytes());
    }

    /// Sends bytes as they are.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// Sends as much as goes until nothing goes for `limit`. How many bytes that were.
    pub(crate) fn sends_until_held(&mut self, bytes: &[u8], limit: Duration) -> usize {
        let stream = self.stream.get_mut();
        stream.gives_up_writing_after(Some(limit));
        let mut sent = 0;
        while sent < bytes.len() {
            match stream.write(&bytes[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        stream.gives_up_writing_after(None);
        sent
    }

    /// Sends as much as the other end takes before it closes.
    pub(crate) fn send_what_goes(&mut self, bytes: &[u8]) {
        // A broken pipe is what the caller expects; what was said before it can still be read.
        let _closed = self.stream.get_mut().write_all(bytes);
    }

    /// The next packet.
    pub(crate) fn receive(&mut self) -> io::Result<Packet> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        let header = Header::parse(&header).unwrap();
        let mut payload = vec![0; header.len];
        self.stream.read_exact(&mut payload)?;
        self.received = self.received.wrapping_add(1);
        let sequence_id = match self.stream.get_ref() {
            // In compressed packets the servers let them begin anew with each part of an answer.
            Stream::Compressed(_) => self.received,
            _ => header.sequence_id,
        };
        Ok(Packet {
            sequence_id,
            payload,
        })
    }

    /// The answer to the oldest command that was sent.
    pub(crate) fn answer(&mut self) -> io::Result<Answer> {
        Answer::read(self.capabilities, || self.receive())
    }

    /// The same of a command that is answered otherwise than a statement.
    pub(crate) fn answer_of(&mut self, shape: Shape) -> io::Result<Answer> {
        Answer::read_as((shape, self.capabilities), || self.receive())
    }

    /// The answer to the oldest command that was sent. If that asks for a file, this is its contents.
    pub(crate) fn answer_with_file(&mut self, file: &[u8]) -> io::Result<Answer> {
        let mut first = Some(self.receive()?);
        if let Some(asked) = first.take_if(|packet| packet.payload.first() == Some(&0xfb)) {
            let mut bytes = Vec::new();
            let mut next = asked.sequence_id.wrapping_add(1);
            if !file.is_empty() {
                next = write_packet(&mut bytes, next, file);
            }
            write_packet(&mut bytes, next, b"");
            self.send_what_goes(&bytes);
        }
        let capabilities = self.capabilities;
        Answer::read(capabilities, || {
            first.take().map_or_else(|| self.receive(), Ok)
        })
    }

    /// The same, of a client that hangs up before it has sent all of the file.
    pub(crate) fn answer_with_half_a_file(&mut self, file: &[u8]) {
        let Ok(asked) = self.receive() else { return };
        if asked.payload.first() == Some(&0xfb) {
            let mut bytes = Vec::new();
            write_packet(&mut bytes, asked.sequence_id.wrapping_add(1), file);
            bytes.truncate(bytes.len() / 2);
            self.send_what_goes(&bytes);
        }
    }

    /// Takes up to so many bytes of what comes, as long as the next of them comes within `limit`.
    pub(crate) fn takes(&mut self, most: usize, limit: Duration) {
        self.waits_up_to(limit);
        let mut buffer = [0; 4096];
        let mut left = most;
        while left > 0 {
            let wanted = left.min(buffer.len());
            match self.stream.read(&mut buffer[..wanted]) {
                Ok(0) | Err(_) => return,
                Ok(count) => left -= count,
            }
        }
    }

    /// Ends the connection without a word.
    pub(crate) fn hang_up(self, how: HangUp) {
        if how == HangUp::Reset {
            self.stream.get_ref().ends_with_reset();
        }
    }

    /// Has each answer take this long before it counts as none.
    pub(crate) fn waits_up_to(&self, limit: Duration) {
        self.stream.get_ref().waits_up_to(limit);
    }

    /// What comes until the other end closes. Fails if it does not.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => rest,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => rest,
            Err(error) => panic!("it was not closed: {error}"),
        }
    }
}

/// The beginning of a handshake response, with CLIENT_SSL.
fn request_for_tls(response: &[u8]) -> Vec<u8> {
    let mut request = Vec::new();
    write_packet(&mut request, 1, &response[4..36]);
    request[5] |= (Capabilities::SSL.bits() >> 8) as u8;
    request
}

fn outcome(error: &ErrPacket<'_>) -> Outcome {
    Outcome::Err(
        error.code,
        String::from_utf8_lossy(error.message).into_owned(),
    )
}
