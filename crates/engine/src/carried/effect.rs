//! What a command will do to what its session holds on a backend, or has it told, as far as that can be told from the
//! command: remembered with it until its answer comes. Owns the telling; what is held is in `holdings`,
//! what a prepared statement's answer changes in `prepared`.

use std::sync::Arc;

use membership::Key;
use session::Binding;
use session::statement::{Dialect, Holding, Kind, PinReason, Statement, Traits, holding};
use wire::{Command, Piece, asks_for_cursor};

use crate::Engine;
use crate::carried::holdings;
use crate::carried::routines::{Routine, routines_of};
use crate::commands::Packet;
use crate::commands::rewrite::{self, prepared_text};
use crate::conditions::Does;
use crate::locks::effect::LockEffect;
use crate::prepared::Preparing;
use crate::prepared::by_name::ByName;
use crate::prepared::named::{executes, names_statement};
use crate::prepared::templates::{Meaning, Template};

/// What a command does to what is held.
pub(crate) struct Effect {
    act: Act,
}

/// What a command does. Statements have the client's ids.
pub(crate) enum Act {
    /// What a text does, but for user-level locks.
    Text(Holding),
    /// What a text does to user-level locks.
    Lock(LockEffect),
    /// What a text does to texts that are prepared by name.
    ByName(ByName),
    /// COM_STMT_PREPARE.
    Prepares(Preparing),
    /// A COM_STMT_EXECUTE that asks for a cursor, or ends one.
    Executes(u32),
    /// COM_STMT_FETCH.
    Fetches(u32),
    /// COM_STMT_RESET.
    Resets(u32),
    /// SET or SELECT of what is tracked.
    Retracks,
}

impl Effect {
    /// What a text does.
    pub(crate) fn of_text(holding: Holding) -> Self {
        let act = Act::Text(holding);
        Self { act }
    }

    /// What a command about a prepared statement does.
    pub(crate) fn of_statement(act: Act) -> Self {
        Self { act }
    }

    /// True for what a text does to what is held.
    pub(crate) fn is_of_text(&self) -> bool {
        matches!(self.act, Act::Text(_) | Act::Lock(_) | Act::ByName(_))
    }

    /// What it does to user-level locks.
    pub(crate) fn of_lock(&self) -> Option<&LockEffect> {
        match &self.act {
            Act::Lock(effect) => Some(effect),
            _ => None,
        }
    }

    /// What the command does.
    pub(crate) fn act(&self) -> &Act {
        &self.act
    }

    /// True for what sets, or asks, what is tracked.
    pub(crate) fn retracks(&self) -> bool {
        matches!(self.act, Act::Retracks)
    }

    /// What is prepared in place of a client's text.
    pub(crate) fn text_in_place_of(&self, text: &[u8]) -> Option<&[u8]> {
        match &self.act {
            Act::Prepares(preparing) => {
                Some(&preparing.template.text[..]).filter(|own| *own != text)
            }
            _ => None,
        }
    }

    /// Takes note of a piece of the answer.
    pub(crate) fn note(&mut self, piece: &Piece<'_>) {
        match (&mut self.act, piece) {
            (Act::Prepares(preparing), _) => preparing.note(piece),
            (Act::Lock(effect), _) => effect.note(piece),
            _ => {}
        }
    }
}

impl Engine {
    /// What the command will do to what the session holds, if that can be told.
    pub(crate) fn effect(
        &mut self,
        client: Key,
        packet: Packet<'_>,
        (statement, dialect): (&Statement, Option<&Dialect>),
    ) -> Option<Effect> {
        let act = match packet.payload.first().copied().and_then(Command::from_byte) {
            Some(Command::StmtPrepare) => {
                let stays = statement.pins.contains(PinReason::Prepared);
                self.preparing(client, packet.text(), stays)
            }
            Some(Command::Query) if statement.kind == Kind::Prepared => {
                self.act_by_name(client, packet)
            }
            _ => self
                .clients
                .get(client)
                .and_then(|client| client.retracking(packet, (statement, dialect)))
                .or_else(|| self.act_on_statement(client, packet.payload)),
        };
        if act.is_some() {
            return act.map(Effect::of_statement);
        }
        let dialect = dialect.filter(|_| holdings::concerns(statement))?;
        let runs = executes(packet.payload);
        let holding = match runs {
            false => holding(packet.text(), dialect)?,
            true => {
                let prepared = self.clients.get(client)?.statement(packet.payload)?;
                holding(&prepared.template.text, dialect)?
            }
        };
        match holding {
            Holding::Lock(call) => {
                let act = Act::Lock(self.lock_effect(client, packet, call));
                Some(Effect::of_statement(act))
            }
            // The names of tables belong to the schema that was selected when it was prepared.
            _ if runs => None,
            holding => Some(Effect::of_text(holding)),
        }
    }

    /// What COM_STMT_PREPARE of a text does.
    fn preparing(&mut self, key: Key, text: &[u8], stays: bool) -> Option<Act> {
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
                prepared_text((text, &dialect), client, (meaning.counted, &self.settings))
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
    fn act_on_statement(&self, client: Key, payload: &[u8]) -> Option<Act> {
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
