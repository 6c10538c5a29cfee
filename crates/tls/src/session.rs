//! One connection's end of the protocol: rustls without buffers of its own. It is fed what came and says what is to
//! leave; it owns no bytes.

use events::{CertificateDigest, TlsFacts};
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, UnbufferedStatus, WriteTraffic,
};

use crate::names;

/// What a record adds to what is in it, at most, with its header.
const RECORD_OVERHEAD: usize = 64;
pub(crate) const RECORD_MAX: usize = 16 << 10;

/// One end.
pub(crate) enum Session {
    /// Ours is the server, which shows the certificate with this digest.
    Server(UnbufferedServerConnection, CertificateDigest),
    /// Ours is the client.
    Client(UnbufferedClientConnection),
}

/// Where bytes are put, and what is to be done with them.
struct Desk<'a> {
    /// What the peer said.
    plain: &'a mut Vec<u8>,
    /// What is to be sent to it.
    sealed: &'a mut Vec<u8>,
    /// What is to be said, as soon as that can be.
    says: Option<Says<'a>>,
}

/// What we say.
enum Says<'a> {
    Bytes(&'a [u8]),
    /// That we will say no more.
    End,
}

/// What one step led to.
enum Step {
    /// There may be more to do.
    On,
    /// Nothing can be done before more comes.
    Waits,
    /// The peer has said that it will say no more.
    Ended,
}

/// How far the input was dealt with.
#[derive(Debug)]
pub(crate) enum Reached {
    /// All that was complete.
    End,
    /// The peer has said that it will say no more.
    PeerEnded,
    /// The peer did something that is not allowed, or cannot be trusted; an alert may be among what leaves.
    Failed(rustls::Error),
}

impl Session {
    /// Deals with what came: what it says is appended to `plain`, what is to be sent to `sealed`. Returns how many
    /// bytes of the input are no longer needed; the rest must stay as it is and be the beginning of the next input.
    pub(crate) fn advance(
        &mut self,
        input: &mut [u8],
        plain: &mut Vec<u8>,
        sealed: &mut Vec<u8>,
    ) -> (usize, Reached) {
        let mut at = 0;
        loop {
            let mut desk = Desk {
                plain: &mut *plain,
                sealed: &mut *sealed,
                says: None,
            };
            let (used, step) = self.step(&mut input[at..], &mut desk);
            at += used;
            match step {
                Ok(Step::On) => {}
                Ok(Step::Waits) => return (at, Reached::End),
                Ok(Step::Ended) => return (at, Reached::PeerEnded),
                Err(error) => {
                    self.complain(&mut input[at..], sealed);
                    return (at, Reached::Failed(error));
                }
            }
        }
    }

    /// Encrypts. `rest` is what [`Session::advance`] has left over. False if it could not be done.
    pub(crate) fn seal(&mut self, rest: &mut [u8], plain: &[u8], sealed: &mut Vec<u8>) -> bool {
        self.says(rest, Says::Bytes(plain), sealed)
    }

    /// Says that we will say no more.
    pub(crate) fn end(&mut self, rest: &mut [u8], sealed: &mut Vec<u8>) -> bool {
        self.says(rest, Says::End, sealed)
    }

    /// True until something can be said.
    pub(crate) fn is_handshaking(&self) -> bool {
        match self {
            Session::Server(server, _) => server.is_handshaking(),
            Session::Client(client) => client.is_handshaking(),
        }
    }

    /// True if the ends knew each other from before.
    #[cfg(test)]
    pub(crate) fn is_resumed(&self) -> bool {
        let kind = match self {
            Session::Server(server, _) => server.handshake_kind(),
            Session::Client(client) => client.handshake_kind(),
        };
        kind == Some(rustls::HandshakeKind::Resumed)
    }

    /// What was agreed upon.
    pub(crate) fn facts(&self) -> TlsFacts {
        match self {
            Session::Server(server, shown) => names::facts(server, Some(shown.clone())),
            Session::Client(client) => names::facts(client, None),
        }
    }

    /// Appends the alert that an error has led to, if there is one.
    fn complain(&mut self, rest: &mut [u8], sealed: &mut Vec<u8>) {
        let mut desk = Desk {
            plain: &mut Vec::new(),
            sealed,
            says: None,
        };
        // Behind it the error is told again.
        if let (0, Ok(Step::On)) = self.step(rest, &mut desk) {
            tracing::trace!("the peer is sent an alert");
        }
    }

    fn says(&mut self, rest: &mut [u8], says: Says<'_>, sealed: &mut Vec<u8>) -> bool {
        let mut desk = Desk {
            plain: &mut Vec::new(),
            sealed,
            says: Some(says),
        };
        // First comes what the session itself has to say, such as new keys.
        while let (0, Ok(Step::On)) = self.step(rest, &mut desk) {}
        desk.says.is_none()
    }

    fn step(
        &mut self,
        input: &mut [u8],
        desk: &mut Desk<'_>,
    ) -> (usize, Result<Step, rustls::Error>) {
        match self {
            Session::Server(server, _) => step(server.process_tls_records(input), desk),
            Session::Client(client) => step(client.process_tls_records(input), desk),
        }
    }
}

fn step<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    desk: &mut Desk<'_>,
) -> (usize, Result<Step, rustls::Error>) {
    let mut used = status.discard;
    let step = match status.state {
        Ok(ConnectionState::ReadTraffic(mut traffic)) => loop {
            match traffic.next_record() {
                None => break Ok(Step::On),
                Some(Err(error)) => break Err(error),
                Some(Ok(record)) => {
                    used += record.discard;
                    desk.plain.extend_from_slice(record.payload);
                }
            }
        },
        Ok(ConnectionState::EncodeTlsData(mut data)) => {
            append(desk.sealed, RECORD_MAX, |room| match data.encode(room) {
                Err(EncodeError::InsufficientSize(needed)) => Err(Some(needed.required_size)),
                other => other.map_err(|_| None),
            })
            .map(|()| Step::On)
        }
        Ok(ConnectionState::TransmitTlsData(data)) => {
            data.done();
            Ok(Step::On)
        }
        Ok(ConnectionState::WriteTraffic(traffic)) => match desk.says.take() {
            Some(says) => write(traffic, &says, desk.sealed).map(|()| Step::Waits),
            None => Ok(Step::Waits),
        },
        Ok(ConnectionState::BlockedHandshake) => Ok(Step::Waits),
        Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => Ok(Step::Ended),
        // What is sent ahead of the handshake is never accepted.
        Ok(_) => Err(rustls::Error::General("early data".into())),
        Err(error) => Err(error),
    };
    (used, step)
}

fn write<Data>(
    mut traffic: WriteTraffic<'_, Data>,
    says: &Says<'_>,
    sealed: &mut Vec<u8>,
) -> Result<(), rustls::Error> {
    let len = match says {
        Says::Bytes(bytes) => bytes.len(),
        Says::End => 0,
    };
    let room = len + (len / RECORD_MAX + 1) * RECORD_OVERHEAD;
    append(sealed, room, |room| {
        let written = match says {
            Says::Bytes(bytes) => traffic.encrypt(bytes, room),
            Says::End => traffic.queue_close_notify(room),
        };
        written.map_err(|error| match error {
            EncryptError::InsufficientSize(needed) => Some(needed.required_size),
            EncryptError::EncryptExhausted => None,
        })
    })
}

/// Has `write` append to `out`: it is given so much room, and more if it says how much.
fn append(
    out: &mut Vec<u8>,
    mut room: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<usize>>,
) -> Result<(), rustls::Error> {
    let before = out.len();
    loop {
        out.resize(before + room, 0);
        match write(&mut out[before..]) {
            Ok(written) => {
                out.truncate(before + written);
                return Ok(());
            }
            Err(Some(needed)) if needed > room => room = needed,
            Err(_) => {
                out.truncate(before);
                return Err(rustls::Error::EncryptError);
            }
        }
    }
}
