//! What a command does to prepared statements. COM_STMT_PREPARE gets its template here.

use std::sync::Arc;

use carry::conditions::Does;
use carry::effect::Act;
use carry::prepared::Preparing;
use carry::prepared::named::names_statement;
use carry::prepared::templates::{Meaning, Template};
use carry::rewrite;
use carry::routines::{Routine, routines_of};
use membership::Key;
use session::Binding;
use session::statement::{Kind, PinReason, Statement, Traits};
use wire::{Command, asks_for_cursor};

use crate::follow::rewrite::prepared_text;
use crate::record::records::Records;

impl Records {
    /// What COM_STMT_PREPARE of a text does.
    pub(crate) fn preparing(&mut self, key: Key, text: &[u8], stays: bool) -> Option<Act> {
        let template = match self.known_template(key, text) {
            Some(known) => known,
            None => self.new_template(key, text)?,
        };
        let keeps = self.clients.get(key)?.dialect().cache_metadata;
        let mut preparing = Preparing::new(template);
        preparing.stays = stays;
        preparing.keeps = keeps.then(Box::default);
        Some(Act::Prepares(preparing))
    }

    /// The template of a text that no session has prepared in the state of this one, or whose meaning is the session's own.
    fn new_template(&mut self, key: Key, text: &[u8]) -> Option<Arc<Template>> {
        let mut statement = self.judge_text(key, text);
        let uses = statement.traits.contains(Traits::USES_USER_VARIABLES);
        let client = self.clients.get(key)?;
        let mentions = uses
            .then(|| client.mentions_of_text(&self.known, text))
            .flatten();
        if uses && mentions.is_none() {
            statement.pins.insert(PinReason::UserVariable);
        }
        // What is carried for texts is not for these: whoever runs them stays.
        if statement.traits.contains(Traits::SETS_UNSCOPED) {
            statement.pins.insert(PinReason::UntrackedVariable);
        }
        let meaning = Meaning {
            statement,
            does: Does::of_statement(&statement, text, self.known.flavor()),
            kills: self.victim_for_ever(key, text),
            counted: self.counted(key, text, &statement),
            mentions: mentions.unwrap_or_default().into(),
            calls: self.calls_of(key, text, &statement),
        };
        let dialect = self.dialect_of(key);
        let client = self.clients.get(key)?;
        let rewrites = rewrite::concerns(&statement);
        // The server ends what has its own id.
        let own = match dialect {
            Some(dialect) if rewrites && statement.kind != Kind::Kill => {
                prepared_text(text, &dialect, client, meaning.counted, &self.settings)
            }
            _ => None,
        };
        // The meaning of others may depend on the session: the client that it ends, texts prepared by name.
        let read_as = match statement.kind {
            Kind::Select | Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete
                if !rewrites =>
            {
                dialect
            }
            _ => None,
        };
        let text = own.as_deref().unwrap_or(text);
        let binding = Binding::of(&client.session, &mut self.known.interner);
        Some(self.known.templates.get((text, binding), meaning, read_as))
    }

    /// The routines that a text calls, read as the session reads it.
    fn calls_of(&self, key: Key, text: &[u8], statement: &Statement) -> Box<[Routine]> {
        self.dialect_of(key).map_or_else(Box::default, |dialect| {
            routines_of(text, statement, &dialect)
        })
    }

    /// What a command does to the cursor of a prepared statement.
    pub(crate) fn act_on_statement(&self, client: Key, payload: &[u8]) -> Option<Act> {
        if !names_statement(payload) {
            return None;
        }
        let client = self.clients.get(client)?;
        let id = client.statement(payload)?.id;
        match Command::from_byte(*payload.first()?)? {
            Command::StmtFetch => Some(Act::Fetches(id)),
            Command::StmtReset => Some(Act::Resets(id)),
            _ if asks_for_cursor(payload) || client.has_cursor(id) => Some(Act::Executes(id)),
            _ => None,
        }
    }
}
