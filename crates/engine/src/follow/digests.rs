//! The digest of a read: what it has in common with others.

use carry::conditions::Does;
use carry::digests::{Digest, Sample};
use carry::ending::Ending;
use carry::packet::Packet;
use carry::prepared::named::executes;
use carry::prepared::templates::Template;
use events::Span;
use session::statement::{Statement, Traits};
use wire::{Command, ServerStatus};

use crate::record::backend::ClientCommand;
use crate::record::client::Client;
use crate::record::known::Known;
use crate::record::retry::COMMAND_MAX;

impl ClientCommand {
    /// What an execution that took `service` and was answered with so many bytes says of its digest.
    pub(crate) fn sample(&self, service: Span, bytes: usize, ending: &Ending) -> Sample {
        // An answer that nobody waits for may end with the ERR of the KILL that ended the statement.
        let waited_for = self.client.is_some();
        let odd = waited_for && (matches!(ending, Ending::Err(_)) || self.counts.warned);
        Sample {
            service,
            bytes,
            odd,
        }
    }
}

impl Known {
    /// What a plain read outside of transactions and pins has in common with others.
    pub(crate) fn digest(
        &self,
        client: &Client,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> Digest {
        let plain = statement.traits.contains(Traits::PURE_READ)
            // What the server says of these concerns none of the sessions beside.
            && !statement.traits.contains(Traits::HINTS_VARIABLES)
            && packet.payload.first() == Some(&(Command::Query as u8))
            && packet.raw.len() <= COMMAND_MAX
            && client.login.is_none()
            && client.status.contains(ServerStatus::AUTOCOMMIT)
            // The first read of a lane would use up what was for another one's.
            && client.session.next_transaction().is_none()
            && !client.holds_backend();
        if !plain {
            return Digest::NONE;
        }
        self.digest_of_tables(client, packet, statement)
    }

    /// What a read has in common with others that read the same tables.
    pub(crate) fn digest_of_tables(
        &self,
        client: &Client,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> Digest {
        if executes(packet.payload)
            && let Some(prepared) = client.statement(packet.payload)
        {
            let Template {
                binding, meaning, ..
            } = &*prepared.template;
            return Digest::prepared(meaning.statement.digest, (client.key, binding.schema()));
        }
        let does = Does::of_statement(statement, packet.text(), self.flavor());
        let schema = client.session.schema.as_deref();
        Digest::new(statement.digest, (client.key, schema), does)
    }
}
