//! Texts that are prepared by name (`PREPARE … FROM`, `EXECUTE`, `DEALLOCATE`): carried by name and text,
//! and prepared anew on a backend that does not have them, in the schema and `sql_mode` of then.
//!
//! Carried is what is known to be harmless: the text is known, is one statement, and asks for nothing that
//! the front door knows better. Bounded per session; the others pin, as ever.

mod immediate;
mod named_text;
mod on_backend;
mod questions;
mod texts;

use events::Io;
use membership::Key;
use session::statement::{
    Dialect, Kind, PinReason, PinReasons, Source, Statement, TextPrepared, Traits, classify,
    text_prepared,
};
use wire::Command;

pub(crate) use self::on_backend::Prepared;
use self::questions::is_question;
pub(crate) use self::questions::runs_unseen;
use self::texts::{BYTES_MAX, Running, Staying};
pub(crate) use self::texts::{Text, Texts};
use crate::backend::ClientCommand;
use crate::carried::user_variables::changes_data;
use crate::client::Client;
use crate::commands::Packet;
use crate::commands::answers::Ending;
use crate::commands::settle::never_ran;
use crate::conditions::Does;
use crate::prepared::may_ask_for_schema;
use crate::{Engine, Mail, Turn};

/// What a command does to texts once it has succeeded.
#[derive(Debug)]
pub(crate) enum TextEffect {
    /// The text is prepared now.
    Prepares(Text),
    /// Another text, which is not carried, has the name now.
    Stays(Staying),
    /// The same of a text of which nothing is known.
    Hides(Box<[u8]>),
    /// The name is free now.
    Frees(Box<[u8]>),
    /// Any names may have other texts now.
    Unseen,
}

impl TextEffect {
    /// The name, and the text that has it now and is not carried.
    fn name_and_staying(self) -> (Box<[u8]>, Option<Staying>) {
        match self {
            Self::Prepares(text) => (text.name, None),
            Self::Stays(text) => (text.name.clone(), Some(text)),
            Self::Hides(name) | Self::Frees(name) => (name, None),
            Self::Unseen => (Box::default(), None),
        }
    }
}

impl Engine {
    /// The verdict on a text that is about prepared texts, where `found` is that of its words.
    pub(crate) fn judge_prepared(
        &self,
        client: &Client,
        (text, dialect): (&[u8], &Dialect),
        mut found: Statement,
    ) -> Statement {
        let about = text_prepared(text, dialect);
        if let Some(TextPrepared::Immediate {
            source,
            with_values,
        }) = about
        {
            return self.immediate(client, (source, dialect), (with_values, found));
        }
        if client.pins.contains(PinReason::TextPrepared) {
            if found.kind == Kind::Prepared {
                found.traits |= counts_by_name(client, about);
            }
            return found;
        }
        match about {
            Some(TextPrepared::Prepare(name, source)) => {
                let prepared = self.prepared(client, (name, source), dialect);
                prepared
                    .iter()
                    .for_each(|_| found.pins.remove(PinReason::TextPrepared));
            }
            // What USING lists may assign.
            Some(TextPrepared::Execute(_)) if text.windows(2).any(|part| part == b":=") => {}
            Some(TextPrepared::Execute(name)) => return executed(client, &name, found),
            Some(TextPrepared::Immediate { .. } | TextPrepared::Deallocate(_)) => {}
            // Which of the texts goes is not known.
            None if found.pins.is_empty() => found.pins.insert(PinReason::TextPrepared),
            None => {}
        }
        found
    }

    /// True if a text does the same on any backend that is brought to the session's state.
    fn can_be_carried(&self, client: &Client, text: &[u8], inner: &Statement) -> bool {
        let logs = self.facts.as_ref().is_some_and(|facts| facts.binary_log);
        let unseen =
            logs && changes_data(inner.kind) && inner.traits.contains(Traits::USES_USER_VARIABLES);
        let homeless = client.session.schema.is_none() && may_ask_for_schema(text);
        let harmless = is_carried(inner) || is_question(inner, text, self.flavor());
        harmless && !homeless && !unseen
    }

    /// What a PREPARE would give the session; `None` if that cannot be carried.
    fn prepared(
        &self,
        client: &Client,
        (name, source): (Box<[u8]>, Source),
        dialect: &Dialect,
    ) -> Option<Text> {
        let (text, inner) = self.inner(client, source, dialect)?;
        let others = client.texts.as_ref();
        let room = others.is_none_or(|texts| texts.has_room(&name, text.len()));
        let fits = room && text.len() <= BYTES_MAX && self.has_session_memory();
        (fits && self.can_be_carried(client, &text, &inner)).then(|| Text {
            name,
            state: client.session.clone(),
            does: Does::of_statement(&inner, &text, self.flavor()),
            asks: is_question(&inner, &text, self.flavor()),
            statement: inner,
            text: text.into(),
            id: 0,
        })
    }

    /// The text that PREPARE or EXECUTE IMMEDIATE names, if it is known, and the verdict on it.
    fn inner(
        &self,
        client: &Client,
        source: Source,
        dialect: &Dialect,
    ) -> Option<(Vec<u8>, Statement)> {
        let text = self.text_of(client, source)?;
        let inner = classify(&text, dialect);
        Some((text, inner))
    }

    /// A text that is not carried. Of what adds to the list, or runs several statements, only the answer tells.
    fn staying(
        &self,
        client: &Client,
        (name, source): (Box<[u8]>, Source),
        dialect: &Dialect,
    ) -> Option<Staying> {
        let (text, statement) = self.inner(client, source, dialect)?;
        let does = Does::of_statement(&statement, &text, self.flavor());
        let told = matches!(does, Does::Replaces | Does::Keeps | Does::Asks);
        let asks = is_question(&statement, &text, self.flavor());
        told.then(|| Staying {
            name,
            running: Running::of(&statement, does),
            may_prepare: runs_unseen(&statement),
            question: asks.then(|| text.into()),
        })
    }

    /// What a COM_QUERY does to texts, if it is about them.
    pub(crate) fn text_effect(
        &mut self,
        client: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> Option<Box<TextEffect>> {
        if self.may_rename_questions(client, (packet, statement)) {
            return Some(Box::new(TextEffect::Unseen));
        }
        let query = packet.payload.first() == Some(&(Command::Query as u8));
        if !query || statement.kind != Kind::Prepared {
            return None;
        }
        let (record, facts) = (self.clients.get(client)?, self.facts.as_ref()?);
        let dialect = facts.dialect(&record.session)?;
        Some(Box::new(match text_prepared(packet.text(), &dialect)? {
            TextPrepared::Execute(_) | TextPrepared::Immediate { .. } => return None,
            TextPrepared::Deallocate(name) => TextEffect::Frees(name),
            TextPrepared::Prepare(name, source) => {
                let carried = !statement.pins.contains(PinReason::TextPrepared);
                let prepared = self.prepared(record, (name.clone(), source.clone()), &dialect);
                match prepared.filter(|_| carried) {
                    Some(mut text) => {
                        self.texts_prepared += 1;
                        text.id = self.texts_prepared;
                        TextEffect::Prepares(text)
                    }
                    None => match self.staying(record, (name.clone(), source), &dialect) {
                        Some(text) => TextEffect::Stays(text),
                        None => TextEffect::Hides(name),
                    },
                }
            }
        }))
    }

    /// What running, or preparing, the text that a command names does to the list of conditions; `None` if it names none
    /// that is known.
    pub(crate) fn text_does(&self, client: Key, packet: Packet<'_>) -> Option<Does> {
        let client = self.clients.get(client)?;
        let dialect = self.facts.as_ref()?.dialect(&client.session)?;
        match text_prepared(packet.text(), &dialect)? {
            TextPrepared::Execute(name) => Some(client.texts.as_ref()?.running(&name)?.does),
            TextPrepared::Prepare(_, Source::Text(text)) => {
                let prepared = classify(&text, &dialect);
                Some(Does::of_preparing(&prepared, &text, self.flavor()))
            }
            TextPrepared::Immediate {
                source,
                with_values: false,
            } => self.immediate_does(client, source, &dialect),
            _ => None,
        }
    }

    /// A command that is about texts was answered.
    pub(crate) fn texts_answered(
        &mut self,
        key: Key,
        command: &mut ClientCommand,
        ending: &Ending,
    ) {
        let Some(effect) = command.texts.take() else {
            return;
        };
        let failed = *ending != Ending::Ok;
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let client = command
            .client
            .and_then(|client| self.clients.get_mut(client));
        let here = &mut backend.leftovers.prepared;
        match (*effect, failed) {
            (TextEffect::Frees(_), true) => {}
            (TextEffect::Unseen, _) => {
                let texts = client.and_then(|client| client.texts.as_mut());
                let texts = texts.filter(|_| !never_ran(command, ending));
                texts.into_iter().for_each(|texts| texts.forget_questions());
            }
            (TextEffect::Prepares(text), false) => {
                backend.dirty |= here.put(&text.name, text.id);
                if let Some(client) = client {
                    let texts = client.texts.get_or_insert_default();
                    texts.put(text);
                    texts.kept.count(texts.bytes(), &self.session_memory);
                }
            }
            // A PREPARE that fails takes away what had the name.
            (effect, _) => {
                let hides = !failed && matches!(effect, TextEffect::Hides(_));
                let (name, staying) = effect.name_and_staying();
                // One that was killed before it began leaves what another session has under the name.
                backend.dirty |= failed && here.get(&name).is_some();
                here.remove(&name);
                let Some(client) = client else { return };
                client.forget_text(&name);
                if let (Some(text), false) = (staying, failed) {
                    client.texts.get_or_insert_default().stays(text);
                }
                if hides {
                    client.texts.get_or_insert_default().hides();
                }
            }
        }
    }

    /// Prepares what a statement needs of the session's texts and the backend does not have, and takes
    /// away what it must not see. True if there was something: it is awaited (rule 5).
    pub(crate) fn bring_texts<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        (packet, statement): (Packet<'_>, &Statement),
    ) -> bool {
        let used = self.names_used(client, packet, statement);
        let Some(attached) = self.clients.get(client).and_then(|client| client.backend) else {
            return false;
        };
        if !self.lacks_texts((client, attached), &used) {
            return false;
        }
        // To prepare one may empty the list.
        self.read_warnings(turn, attached);
        let (Some(client), Some(facts)) = (self.clients.get(client), &self.facts) else {
            return false;
        };
        let Some(backend) = self.pool.get_mut(attached) else {
            return false;
        };
        let outbox = turn.io.outbox(backend.handle);
        let mut brought = backend.take_away(outbox, client, &used);
        let lacking = backend.lacking(client, &used);
        if lacking.iter().any(|text| text.text.contains(&b'@')) {
            // Whether it can be prepared may depend on what they are.
            backend.put_user_variables(outbox, client);
        }
        for text in lacking {
            let dialect = facts.dialect(&text.state);
            dialect.iter().for_each(|dialect| match used {
                Names::Deallocated(_) => backend.prepare_to_go(outbox, text),
                _ => {
                    let can_lack = used == Names::All;
                    backend.prepare(outbox, (text, can_lack), (&client.session, dialect));
                }
            });
            brought |= dialect.is_some();
        }
        self.counters.restores += u64::from(brought);
        brought
    }

    /// True if a backend lacks texts that are used, or has others under their names.
    fn lacks_texts(&self, (client, backend): (Key, Key), used: &Names) -> bool {
        let (client, backend) = (self.clients.get(client), self.pool.get(backend));
        let (Some(client), Some(backend)) = (client, backend) else {
            return false;
        };
        backend.has_foreign(client, used) || !backend.lacking(client, used).is_empty()
    }

    /// Which of the texts a statement uses.
    fn names_used(&self, client: Key, packet: Packet<'_>, statement: &Statement) -> Names {
        let (Some(client), Some(facts)) = (self.clients.get(client), &self.facts) else {
            return Names::None;
        };
        let backend = client.backend.and_then(|key| self.pool.get(key));
        if client.texts.is_none()
            && backend.is_none_or(|backend| backend.leftovers.prepared.is_empty())
        {
            return Names::None;
        }
        // Nothing that names another table can be prepared while tables are locked.
        let hides = [
            PinReason::Call,
            PinReason::TextPrepared,
            PinReason::Unknown,
            PinReason::LockTables,
        ];
        if hides.iter().any(|&reason| statement.pins.contains(reason)) {
            return Names::All;
        }
        let dialect = facts.dialect(&client.session);
        match dialect.and_then(|dialect| text_prepared(packet.text(), &dialect)) {
            Some(TextPrepared::Execute(name)) => Names::Executed(name),
            Some(TextPrepared::Deallocate(name)) => Names::Deallocated(name),
            Some(TextPrepared::Prepare(..) | TextPrepared::Immediate { .. }) | None => Names::None,
        }
    }
}

/// The names of texts that a statement uses.
#[derive(PartialEq, Eq)]
pub(super) enum Names {
    /// None.
    None,
    /// This one.
    Executed(Box<[u8]>),
    /// This one, which is nobody's then.
    Deallocated(Box<[u8]>),
    /// It may be any.
    All,
}

impl Names {
    pub(super) fn contains(&self, name: &[u8]) -> bool {
        match self {
            Self::None => false,
            Self::Executed(used) | Self::Deallocated(used) => **used == *name,
            Self::All => true,
        }
    }
}

/// What a statement about texts may do to `FOUND_ROWS()` in a session that is pinned for some.
fn counts_by_name(client: &Client, about: Option<TextPrepared>) -> Traits {
    let running = match about {
        Some(TextPrepared::Execute(name)) => {
            let texts = client.texts.as_ref();
            texts.and_then(|texts| texts.running(&name))
        }
        Some(TextPrepared::Prepare(..) | TextPrepared::Deallocate(_)) => return Traits::empty(),
        Some(TextPrepared::Immediate { .. }) | None => None,
    };
    running.map_or(Traits::COUNTS_UNSENT_ROWS, |running| running.counts)
}

/// What an EXECUTE does, where `found` is the verdict on its words.
fn executed(client: &Client, name: &[u8], found: Statement) -> Statement {
    match client.texts.as_ref().and_then(|texts| texts.get(name)) {
        Some(text) => run(&text.statement, found),
        // The server does not know it either.
        None => Statement {
            traits: Traits::MAY_WRITE,
            pins: pins_of_words(&found),
            ..found
        },
    }
}

/// What running a text that can be carried does.
fn run(inner: &Statement, found: Statement) -> Statement {
    let own = inner.traits - (Traits::PURE_READ | Traits::BARE_BEGIN);
    let of_words = found.traits & (Traits::USES_USER_VARIABLES | Traits::UNKNOWN_CALL);
    Statement {
        kind: inner.kind,
        traits: own | Traits::RUNS_PREPARED_TEXT | of_words,
        pins: inner.pins | pins_of_words(&found),
        digest: found.digest,
    }
}

/// The reasons to pin that an EXECUTE has itself, whatever it runs.
fn pins_of_words(found: &Statement) -> PinReasons {
    let mut pins = found.pins;
    pins.remove(PinReason::TextPrepared);
    pins.remove(PinReason::Call);
    pins
}

/// True if a text can be run under another name on any backend.
fn is_carried(inner: &Statement) -> bool {
    const KNOWN_BETTER: Traits = Traits::READS_DIAGNOSTICS
        .union(Traits::READS_ROW_COUNTS)
        .union(Traits::READS_CONNECTION_ID)
        .union(Traits::READS_ADDRESS)
        .union(Traits::SETS_UNSCOPED)
        .union(Traits::ASSIGNS_USER_VARIABLES)
        .union(Traits::DRAWS_SEQUENCE)
        .union(Traits::TELLS_SEQUENCE)
        .union(Traits::MULTIPLE);
    let kind = matches!(
        inner.kind,
        Kind::Select
            | Kind::Insert
            | Kind::Replace
            | Kind::Update
            | Kind::Delete
            | Kind::Set
            | Kind::Do
            | Kind::Show
            | Kind::Ddl
            | Kind::Commit
            | Kind::Rollback
    );
    kind && !inner.traits.intersects(KNOWN_BETTER)
}
