//! The text that a command is about, which may be another one than its own.

use std::borrow::Cow;

use membership::Key;
use session::statement::{Kind, Source, Statement, TextPrepared, Traits, text_prepared};

use crate::Engine;
use crate::client::Client;
use crate::commands::Packet;
use crate::prepared::named::executes;

impl Engine {
    /// The text that a command runs, which may be a prepared one; `None` if that is not known.
    pub(crate) fn text_that_runs<'a>(
        &'a self,
        key: Key,
        packet: Packet<'a>,
        statement: &Statement,
    ) -> Option<Cow<'a, [u8]>> {
        let client = self.clients.get(key)?;
        if executes(packet.payload) {
            return Some((&client.statement(packet.payload)?.template.text[..]).into());
        }
        if !statement.traits.contains(Traits::RUNS_PREPARED_TEXT) {
            return Some(packet.text().into());
        }
        self.text_named(key, packet, statement)
    }

    /// The text that a COM_QUERY names to be prepared or run; `None` if it names none, or that is not known.
    pub(crate) fn text_named(
        &self,
        client: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> Option<Cow<'_, [u8]>> {
        let runs = statement.traits.contains(Traits::RUNS_PREPARED_TEXT);
        if !runs && statement.kind != Kind::Prepared {
            return None;
        }
        let client = self.clients.get(client)?;
        let dialect = self.facts.as_ref()?.dialect(&client.session)?;
        match text_prepared(packet.text(), &dialect)? {
            TextPrepared::Execute(name) => {
                let text = client.texts.as_ref()?.get(&name)?;
                Some((&text.text[..]).into())
            }
            TextPrepared::Prepare(_, source) | TextPrepared::Immediate { source, .. } => {
                self.text_of(client, source).map(Cow::from)
            }
            TextPrepared::Deallocate(_) => None,
        }
    }

    /// The text that PREPARE or EXECUTE IMMEDIATE names, if it is known.
    pub(super) fn text_of(&self, client: &Client, source: Source) -> Option<Vec<u8>> {
        match source {
            Source::Text(text) => Some(text),
            Source::Variable(variable) => {
                let known = self.knows_user_variable(client, &variable);
                let user = client.session.user.as_ref().filter(|_| known)?;
                user.get(&variable)?.ascii()
            }
        }
    }
}
