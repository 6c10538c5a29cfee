//! A client that chooses the compressed packets that its commands come in.

use std::io::{self, Read, Write};

use compression::{HEADER_LEN, Header, Opened, Packer, Unpacker};
use events::Compression;
use wire::{Capabilities, ErrPacket};

use super::stream::Stream;
use super::{Address, Client, Login};

/// A connection that is logged in and compressed from here on.
pub(crate) struct PackedClient {
    stream: Stream,
}

/// A compressed packet that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackedAnswer {
    /// Its own sequence id.
    pub(crate) sequence_id: u8,
    /// What is in it.
    pub(crate) plain: Vec<u8>,
}

impl PackedAnswer {
    /// The sequence id of the first packet in it.
    pub(crate) fn first_within(&self) -> u8 {
        self.plain[3]
    }

    /// The number of the ERR packet that is in it; the answer ends with that.
    pub(crate) fn error(&self) -> Option<u16> {
        let error = ErrPacket::parse(&self.plain[4..]).ok()?;
        Some(error.code)
    }
}

impl PackedClient {
    /// Logs in.
    pub(crate) fn new(address: &Address, login: &Login<'_>) -> Self {
        let login = Login {
            capabilities: login.capabilities | Capabilities::COMPRESS,
            ..*login
        };
        let (mut client, handshake) = Client::connect(address).unwrap();
        let response = client.response(&handshake, &login);
        client.send_bytes(&response);
        client.finish_login(login.password).unwrap().unwrap();
        Self {
            stream: client.into_stream(),
        }
    }

    /// Sends bytes as they are. An error means that the other end has closed.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// The next compressed packet; `None` at the end of the connection.
    pub(crate) fn receive(&mut self) -> Option<PackedAnswer> {
        let mut header = [0; HEADER_LEN];
        self.stream.read_exact(&mut header).ok()?;
        let header = Header::parse(&header)?;
        let mut content = vec![0; header.len];
        self.stream.read_exact(&mut content).ok()?;
        let (mut plain, mut at) = (Vec::new(), 0);
        let mut opened = Opened::new(Compression::Zlib, header).unwrap();
        let mut unpacker = Unpacker::default();
        while !opened.is_done() {
            let part = unpacker.part(&mut opened, &content[at..]).unwrap();
            plain.extend_from_slice(part.plain);
            at += part.consumed;
        }
        Some(PackedAnswer {
            sequence_id: header.sequence_id,
            plain,
        })
    }
}

/// Ordinary packets as compressed ones of at most `cut` bytes each, numbered from `sequence_id` on.
pub(crate) fn packed(plain: &[u8], cut: usize, mut sequence_id: u8) -> Vec<u8> {
    let (mut packer, mut bytes) = (Packer::default(), Vec::new());
    for part in plain.chunks(cut) {
        sequence_id = packer.pack(Compression::Zlib, part, (sequence_id, &mut bytes));
    }
    bytes
}
