//! Connections that become TLS connections. A layer between driver and engine does the cryptography.

use accounts::{Certain, Requires};
use events::{Io, Peer, TlsFacts, TlsSide};
use membership::Key;
use wire::SslRequest;

use crate::record::owner::Owner;
use crate::record::records::Records;
use crate::record::settings::TlsMode;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// True if the client asks for TLS, in place of its handshake response, and may.
    pub(crate) fn may_begin_tls(&self, key: Key, payload: &[u8]) -> bool {
        let client = self.clients.get(key);
        let may = client
            .is_some_and(|client| self.settings.tls != TlsMode::Off && client.origin.tls.is_none());
        may && SslRequest::is(payload)
    }

    /// From here on the client speaks TLS. `early` is all that it sent behind its request: it is taken as TLS, so
    /// that nobody can put anything there that would be heard as if it had come over it.
    pub(crate) fn begin_tls<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        early: &[u8],
    ) {
        if let Some(client) = self.clients.get(key) {
            let connection = (client.handle, Owner::Client(key).tag());
            turn.io.start_tls(connection, TlsSide::Server, early);
        }
    }

    /// The client speaks TLS. Its handshake response is still due.
    pub(crate) fn client_secured(&mut self, key: Key, facts: TlsFacts) {
        self.counters.tls_handshakes += 1;
        if let Some(client) = self.clients.get_mut(key) {
            client.origin.tls = Some(Box::new(facts));
        }
    }

    /// True if nobody can listen to what the client says: TLS, or a socket of this host.
    pub(crate) fn is_secure(&self, key: Key) -> bool {
        self.clients
            .get(key)
            .is_some_and(|client| client.origin.tls.is_some() || client.origin.peer == Peer::Unix)
    }

    /// True if the client is connected as an account requires it.
    pub(crate) fn meets(&self, key: Key, requires: &Requires) -> bool {
        let client = self.clients.get(key);
        let tls = client.and_then(|client| client.origin.tls.as_deref());
        match requires {
            Requires::Nothing => true,
            Requires::Ssl => tls.is_some(),
            Requires::X509 => tls.is_some_and(|facts| facts.certificate.is_some()),
            Requires::Certain(certain) => tls.is_some_and(|facts| is_certain(certain, facts)),
        }
    }
}

/// Whether TLS is as an account has it. Compared byte by byte, as the servers do.
fn is_certain(certain: &Certain, facts: &TlsFacts) -> bool {
    let is = |asked: &Option<String>, found: Option<&str>| {
        asked.as_deref().is_none_or(|asked| found == Some(asked))
    };
    let certificate = facts.certificate.as_deref();
    (certificate.is_some() || !certain.certificate)
        && is(&certain.cipher, Some(facts.cipher))
        && is(&certain.subject, certificate.map(|shown| &*shown.subject))
        && is(&certain.issuer, certificate.map(|shown| &*shown.issuer))
}
