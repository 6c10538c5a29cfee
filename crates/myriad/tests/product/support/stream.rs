//! What a client sends on, and receives from.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use compression::{HEADER_LEN, Header, Opened, Packer, Unpacker};
use events::Compression;
use rustix::net::sockopt;

use super::{Address, LIMIT, tls};

pub(super) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
    Tls(Box<tls::Stream>),
    Compressed(Box<Compressed>),
}

/// A stream in the compressed protocol.
pub(super) struct Compressed {
    inner: Stream,
    packer: Packer,
    unpacker: Unpacker,
    /// The packet that is being unpacked.
    opened: Option<Opened>,
    /// What was received and not unpacked.
    packed: Vec<u8>,
    /// What was unpacked and not read.
    plain: Vec<u8>,
    /// The sequence id of the next packet that is sent.
    sequence_id: u8,
}

impl Stream {
    pub(super) fn connect(address: &Address) -> io::Result<Self> {
        match address {
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(LIMIT))?;
                stream.set_write_timeout(Some(LIMIT))?;
                Ok(Self::Unix(stream))
            }
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(LIMIT))?;
                stream.set_write_timeout(Some(LIMIT))?;
                Ok(Self::Tcp(stream))
            }
        }
    }

    /// The same, compressed from here on.
    pub(super) fn compressed(inner: Self) -> Self {
        Self::Compressed(Box::new(Compressed {
            inner,
            packer: Packer::default(),
            unpacker: Unpacker::default(),
            opened: None,
            packed: Vec::new(),
            plain: Vec::new(),
            sequence_id: 0,
        }))
    }

    /// True if nobody can listen.
    pub(super) fn is_private(&self) -> bool {
        match self {
            Self::Unix(_) | Self::Tls(_) => true,
            Self::Tcp(_) => false,
            Self::Compressed(stream) => stream.inner.is_private(),
        }
    }

    /// Has each answer take this long before it counts as none.
    pub(super) fn waits_up_to(&self, limit: Duration) {
        let set = match self {
            Self::Unix(stream) => stream.set_read_timeout(Some(limit)),
            Self::Tcp(stream) => stream.set_read_timeout(Some(limit)),
            Self::Tls(stream) => stream.sock.set_read_timeout(Some(limit)),
            Self::Compressed(stream) => {
                stream.inner.waits_up_to(limit);
                Ok(())
            }
        };
        set.unwrap();
    }

    /// Has the system send RST when the connection is dropped, where there is such a thing.
    pub(super) fn ends_with_reset(&self) {
        let socket: &TcpStream = match self {
            Self::Unix(_) => return,
            Self::Tcp(stream) => stream,
            Self::Tls(stream) => &stream.sock,
            Self::Compressed(stream) => return stream.inner.ends_with_reset(),
        };
        sockopt::set_socket_linger(socket, Some(Duration::ZERO)).unwrap();
    }

    pub(super) fn gives_up_writing_after(&self, limit: Option<Duration>) {
        let set = match self {
            Self::Unix(stream) => stream.set_write_timeout(limit),
            Self::Tcp(stream) => stream.set_write_timeout(limit),
            Self::Tls(_) | Self::Compressed(_) => panic!("only of plain connections"),
        };
        set.unwrap();
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
            Self::Compressed(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(buffer),
            Self::Tcp(stream) => stream.write(buffer),
            Self::Tls(stream) => stream.write(buffer),
            Self::Compressed(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Compressed {
    /// True if a packet is being unpacked; if none is, the next is opened.
    fn opens(&mut self) -> io::Result<bool> {
        if self.opened.is_none()
            && let Some(header) = Header::parse(&self.packed)
        {
            let opened = Opened::new(Compression::Zlib, header).map_err(io::Error::other)?;
            self.opened = Some(opened);
            self.sequence_id = header.sequence_id.wrapping_add(1);
            self.packed.drain(..HEADER_LEN);
        }
        Ok(self.opened.is_some())
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.plain.is_empty() {
            if self.opens()? {
                let opened = self.opened.as_mut().expect("a packet is open");
                let part = self.unpacker.part(opened, &self.packed);
                let part = part.map_err(io::Error::other)?;
                self.plain.extend_from_slice(part.plain);
                let (consumed, told) = (part.consumed, !part.plain.is_empty());
                let done = opened.is_done();
                self.packed.drain(..consumed);
                self.opened.take_if(|_| done);
                if told || done {
                    continue;
                }
            }
            let mut more = [0; 16 << 10];
            let count = self.inner.read(&mut more)?;
            if count == 0 {
                return Ok(0);
            }
            self.packed.extend_from_slice(&more[..count]);
        }
        let count = self.plain.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.plain[..count]);
        self.plain.drain(..count);
        Ok(count)
    }

    /// All of it, which begins with a packet.
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if buffer.get(3) == Some(&0) {
            // A command.
            self.sequence_id = 0;
        }
        let mut packed = Vec::new();
        let next = (self.sequence_id, &mut packed);
        self.sequence_id = self.packer.pack(Compression::Zlib, buffer, next);
        self.inner.write_all(&packed)?;
        Ok(buffer.len())
    }
}
