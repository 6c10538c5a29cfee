//! The packets of a connection: read within a bound of size and time, written with the right sequence
//! ids. Knows no packet's meaning.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use wire::{HEADER_LEN, Header};

use crate::entrance::{Socket, secure};

/// The longest payload that is taken, in bytes.
pub(super) const PAYLOAD_MAX: usize = 64 << 10;

/// A connection.
pub(super) struct Stream {
    socket: Socket,
    /// What is to be written.
    pub(super) out: Vec<u8>,
    /// Of the next packet that is written.
    pub(super) sequence_id: u8,
    write_time: Duration,
}

/// Why a connection is over.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ended {
    #[error("it was closed")]
    Closed,
    #[error("it failed: {0}")]
    Failed(#[from] io::Error),
    #[error("it took too long")]
    TimedOut,
    #[error("a packet was longer than {PAYLOAD_MAX} bytes")]
    TooLong,
    #[error("its login was refused")]
    Refused,
    #[error("what it sent cannot be read: {0}")]
    Malformed(#[from] wire::Malformed),
}

impl Stream {
    pub(super) fn new(socket: Socket, write_time: Duration) -> Self {
        Self {
            socket,
            out: Vec::new(),
            sequence_id: 0,
            write_time,
        }
    }

    /// Goes on over TLS: what the client sends next is the beginning of it.
    pub(super) async fn secure(&mut self, server: &tls::Server) -> Result<(), Ended> {
        // Until it is secured there is nobody to talk to; nor afterwards, if that fails.
        let socket = std::mem::replace(&mut self.socket, Box::new(tokio::io::empty()));
        self.socket = secure(socket, server).await?;
        Ok(())
    }

    /// The next payload.
    pub(super) async fn read(&mut self, time: Duration) -> Result<Vec<u8>, Ended> {
        let payload = timeout(time, self.read_packet());
        payload.await.map_err(|_| Ended::TimedOut)?
    }

    async fn read_packet(&mut self) -> Result<Vec<u8>, Ended> {
        let mut header = [0; HEADER_LEN];
        match self.socket.read_exact(&mut header).await {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(Ended::Closed);
            }
            read => read?,
        };
        let header = Header::parse(&header).ok_or(Ended::Closed)?;
        self.sequence_id = header.sequence_id.wrapping_add(1);
        if header.len > PAYLOAD_MAX {
            return Err(Ended::TooLong);
        }
        let mut payload = vec![0; header.len];
        self.socket.read_exact(&mut payload).await?;
        Ok(payload)
    }

    /// Writes what is to be written.
    pub(super) async fn flush(&mut self) -> Result<(), Ended> {
        let written = timeout(self.write_time, self.socket.write_all(&self.out)).await;
        self.out.clear();
        Ok(written.map_err(|_| Ended::TimedOut)??)
    }
}
