//! Places in the connection phase when all are taken: whoever has taken longer than an honest client would gives
//! its own to whoever comes. Decides nothing about those who have proved who they are.

use events::{Io, Span};
use membership::Key;

use crate::client::{Client, LoginStep, RelayStage, State};
use crate::counters::DisconnectReason;
use crate::errors::ClientError;
use crate::shared::LoginSlot;
use crate::{Engine, Mail, Turn};

/// Who has been here for less may be about to answer. As many as there are places can come in that time, so that
/// a storm of honest clients is turned away at the door and those within get on.
const GRACE: Span = Span::from_secs(1);

/// So many of the oldest are looked at: others, who wait for us, may be among them.
const LOOKS: usize = 16;

impl Engine {
    /// The right to be in the connection phase.
    pub(crate) fn place_to_log_in<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
    ) -> Option<LoginSlot> {
        let max = self.settings.max_logins;
        if let Some(slot) = self.shared.begin_login(max) {
            return Some(slot);
        }
        let dawdler = self.dawdler(turn)?;
        let error = ClientError::too_many_connections();
        self.refuse(turn, dawdler, &error, DisconnectReason::TooManyLogins);
        self.shared.begin_login(max)
    }

    /// The oldest of those who take their time.
    fn dawdler<I: Io<Mail>>(&self, turn: &Turn<'_, I>) -> Option<Key> {
        let oldest = self.clients.iter(State::Login).take(LOOKS);
        let mut late = oldest.take_while(|(_, client)| turn.now >= client.since + GRACE);
        let found = late.find(|(_, client)| dawdles(client))?;
        Some(found.0)
    }
}

/// True if the client has a place and it is its turn to say something.
fn dawdles(client: &Client) -> bool {
    client.login.as_ref().is_some_and(|login| {
        let is_due = match &login.step {
            LoginStep::Beginning
            | LoginStep::Response
            | LoginStep::AuthSwitch { .. }
            | LoginStep::Password(_)
            | LoginStep::Encrypted(_) => true,
            LoginStep::Relay(relaying) => matches!(relaying.stage, RelayStage::Client(_)),
            LoginStep::Asking(_)
            | LoginStep::Checking(_)
            | LoginStep::Schema
            | LoginStep::Denied => false,
        };
        is_due && login.slot.is_some()
    })
}
