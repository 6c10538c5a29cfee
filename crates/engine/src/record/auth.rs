//! How far the connection phase of a backend has come, and what answers its server's challenge.

use accounts::Secret;
use wire::{AuthPlugin, Capabilities, ExtendedCapabilities};

/// How far a backend's connection phase has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackendLogin {
    /// The initial handshake is due.
    Handshake,
    /// TLS is being agreed upon.
    Securing(Greeted),
    /// The answer to our response to this challenge is due.
    Response(Challenge),
    /// The server's public key is due.
    PublicKey(Challenge),
    /// The password was sent: OK or ERR is due.
    Verdict,
}

/// What a server asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub plugin: AuthPlugin,
    pub nonce: [u8; 20],
}

/// What is kept of a server's initial handshake until it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Greeted {
    pub challenge: Challenge,
    /// What it can do.
    pub offered: Capabilities,
    /// What is negotiated with it.
    pub capabilities: Capabilities,
    pub extended: ExtendedCapabilities,
}

impl Challenge {
    /// What answers it; `None` if that needs the password itself, which is not known.
    pub(crate) fn response(&self, secret: &Secret<'_>) -> Option<Vec<u8>> {
        secret.response(self.plugin, &self.nonce)
    }
}
