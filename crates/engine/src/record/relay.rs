//! A login that a backend decides: Myriad hands the server's challenges on to the client, and the client's answers to the
//! server (`login::relay`).

use membership::Key;

use crate::record::relay_places::RelayPlace;

/// The plugin that a backend is told to have been answered for. No account has it, so that each has its own
/// asked for, and with what it needs.
pub(crate) const PLUGIN: &[u8] = b"myriad_relay";

/// A login that a backend decides, as the backend has it.
#[derive(Debug)]
pub(crate) struct Relay {
    /// Whose login.
    pub client: Key,
    /// The sequence id that the next packet to the backend has.
    pub sequence_id: u8,
    /// The client has answered something.
    pub answered: bool,
    /// The plugin that the client was asked for last, as clients call it.
    pub plugin: Box<[u8]>,
    /// The nonce that came with it, if clients take that one for the login's from then on.
    pub nonce: Option<[u8; 20]>,
    /// The right to be decided now.
    pub place: RelayPlace,
}

impl Relay {
    /// The login of this client, of which the backend has heard nothing yet.
    pub(crate) fn new(client: Key, place: RelayPlace) -> Box<Self> {
        Box::new(Self {
            client,
            sequence_id: 0,
            answered: false,
            plugin: Box::default(),
            nonce: None,
            place,
        })
    }
}
