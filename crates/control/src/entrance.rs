//! Who may come in at the listeners, and how: administrators by name and password, with TLS or without.
//!
//! Owns the rules for both. How a client says who it is, and how it is refused, is the matter of each listener.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use zeroize::Zeroizing;

/// So long a wrong password waits to be told.
const REFUSAL_WAITS: Duration = Duration::from_secs(1);

/// Who may log in.
pub struct Administrator {
    /// User name.
    pub user: String,
    /// Password; not empty. Overwritten when dropped.
    pub password: Zeroizing<String>,
    /// Looks, and changes nothing.
    pub read_only: bool,
}

/// Whether connections may, or must, speak TLS, and what they are shown then.
#[derive(Clone)]
pub enum Encryption {
    /// They may not.
    Off,
    /// They may.
    Offered(Arc<tls::Server>),
    /// Nothing is said to others but that they must.
    Required(Arc<tls::Server>),
}

/// The rules of a listener.
pub struct Entrance {
    encryption: Encryption,
    administrators: Vec<Administrator>,
    refusal_waits: Duration,
}

/// A connection, over TLS or not.
pub(crate) type Socket = Box<dyn Duplex>;

/// What can be read from and written to.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

impl Entrance {
    /// For these administrators.
    pub fn new(encryption: Encryption, administrators: Vec<Administrator>) -> Self {
        Self {
            encryption,
            administrators,
            refusal_waits: REFUSAL_WAITS,
        }
    }

    /// The same where a refusal waits for so long.
    #[cfg(test)]
    pub(crate) fn refusing_after(self, refusal_waits: Duration) -> Self {
        Self {
            refusal_waits,
            ..self
        }
    }

    /// True if nobody is asked who they are: there are no administrators.
    pub(crate) fn is_open(&self) -> bool {
        self.administrators.is_empty()
    }

    /// What a connection that speaks TLS is shown; `None` if none may.
    pub(crate) fn offer(&self) -> Option<&tls::Server> {
        match &self.encryption {
            Encryption::Off => None,
            Encryption::Offered(server) | Encryption::Required(server) => Some(server),
        }
    }

    /// True if nothing is said without TLS.
    pub(crate) fn requires_tls(&self) -> bool {
        matches!(self.encryption, Encryption::Required(_))
    }

    /// The administrator of that name whose password `verify` finds proved. An unknown name is checked against a
    /// password all the same: it must not be told apart by time.
    pub(crate) fn admit(
        &self,
        user: &str,
        verify: impl FnOnce(&[u8]) -> bool,
    ) -> Option<&Administrator> {
        let found = self.administrators.iter().find(|known| known.user == user);
        let password = found.map_or("\0", |known| &known.password);
        let is_right = verify(password.as_bytes());
        found.filter(|_| is_right)
    }

    /// Counts a refusal, and lets it wait: guessing is slow. Who is right never comes here.
    pub(crate) async fn slow_down(&self, refused: &AtomicU64) {
        refused.fetch_add(1, Ordering::Relaxed);
        tracing::warn!("login of an administrator refused");
        tokio::time::sleep(self.refusal_waits).await;
    }
}

/// Has a connection speak TLS from here on.
pub(crate) async fn secure(socket: Socket, server: &tls::Server) -> io::Result<Socket> {
    let (config, _) = server.config();
    let secured = TlsAcceptor::from(config).accept(socket).await?;
    Ok(Box::new(secured))
}

/// Whether a client speaks TLS at once: what it begins with cannot be the beginning of HTTP. Nothing of it is taken.
pub(crate) async fn begins_with_tls(stream: &TcpStream) -> io::Result<bool> {
    const HANDSHAKE: u8 = 0x16;
    let mut first = [0];
    stream.peek(&mut first).await?;
    Ok(first == [HANDSHAKE])
}
