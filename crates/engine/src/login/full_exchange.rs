//! Asks a client for the password itself.

use accounts::Refused;
use carry::errors::ClientError;
use events::Io;
use membership::Key;
use wire::{AuthMoreData, AuthPlugin};

use crate::login::identity::Claim;
use crate::record::client::{Answered, LoginStep};
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// Only the password itself can tell whether the client is who it says.
    pub(crate) fn ask_for_password<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        claim: &Claim<'_>,
    ) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let Some(login) = &mut client.login else {
            return;
        };
        let outbox = turn.io.outbox(client.handle);
        login.sequence_id = AuthMoreData::FullAuthentication.encode(outbox, login.sequence_id);
        let step = LoginStep::Password(Box::new(Answered {
            plugin: AuthPlugin::CachingSha2Password,
            user: claim.user.into(),
            schema: claim.schema.map(Into::into),
            response: claim.response.into(),
        }));
        self.clients.set_step(key, step, turn.now);
        self.counters.full_authentications += 1;
    }

    /// What a client is told whose proof is remembered nowhere: nothing would open a backend for it.
    pub(crate) fn not_remembered(&mut self, refused: &Refused) -> ClientError {
        self.counters.secrets_refused += 1;
        let count = self.counters.secrets_refused;
        // Each login would fill the log.
        if count.is_power_of_two() {
            tracing::warn!(error = %refused, count, "logins are refused");
        }
        ClientError::not_remembered(refused)
    }
}
