//! Texts that are prepared by name (`PREPARE … FROM`, `EXECUTE`, `DEALLOCATE`): carried by name and text,
//! and prepared anew on a backend that does not have them, in the schema and `sql_mode` of then.
//!
//! Carried is what is known to be harmless: the text is known, is one statement, and asks for nothing that
//! the front door knows better. Bounded per session; the others pin, as ever.

use events::Io;
use membership::Key;
use session::statement::{
    Dialect, Kind, PinReason, Source, Statement, TextPrepared, Traits, classify, prepare_statement,
    text_prepared,
};
use session::{SessionState, plan};
use wire::Command;

use crate::backend::{Backend, ClientCommand, Purpose, RestorePart};
use crate::client::Client;
use crate::commands::Packet;
use crate::commands::dispatch::put_restore;
use crate::conditions::Does;
use crate::prepared::may_ask_for_schema;
use crate::{Engine, Mail, Turn};

/// So many one session may have, and so many bytes of them.
const TEXTS_MAX: usize = 32;
const BYTES_MAX: usize = 16 << 10;

/// So many may be left on a backend before it is cleaned.
const LEFT_MAX: usize = 64;

/// A text that a session has prepared.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    name: Box<[u8]>,
    text: Box<[u8]>,
    /// The session's state when it was prepared.
    state: SessionState,
    /// What running it does.
    statement: Statement,
    /// What running it does to the list of conditions.
    does: Does,
    /// No two have the same.
    id: u64,
}

/// The texts of a session.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    list: Vec<Text>,
}

impl Texts {
    fn get(&self, name: &[u8]) -> Option<&Text> {
        self.list.iter().find(|text| *text.name == *name)
    }

    fn remove(&mut self, name: &[u8]) {
        self.list.retain(|text| *text.name != *name);
    }

    /// Whether a text of `more` bytes can be kept under this name, in place of the one that has it.
    fn has_room(&self, name: &[u8], more: usize) -> bool {
        let others = || self.list.iter().filter(|text| *text.name != *name);
        let bytes: usize = others().map(|text| text.text.len()).sum();
        others().count() < TEXTS_MAX && bytes + more <= BYTES_MAX
    }
}

/// What is prepared by name on a backend, and whose it is.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    list: Vec<Named>,
}

/// A name that is a text's on a backend.
#[derive(Debug)]
struct Named {
    name: Box<[u8]>,
    /// The text's.
    id: u64,
    /// It could not be prepared: what it reads may be gone by now.
    was_refused: bool,
}

impl Prepared {
    fn get(&self, name: &[u8]) -> Option<&Named> {
        self.list.iter().find(|named| *named.name == *name)
    }

    /// The name is nobody's any more.
    pub(crate) fn remove(&mut self, name: &[u8]) {
        self.list.retain(|named| *named.name != *name);
    }

    /// The name is this text's from now on. True if there are so many now that the backend is to be cleaned.
    fn put(&mut self, name: &[u8], id: u64) -> bool {
        self.remove(name);
        self.list.push(Named {
            name: name.into(),
            id,
            was_refused: false,
        });
        self.list.len() > LEFT_MAX
    }

    /// The text that the name is of could not be prepared.
    pub(crate) fn refused(&mut self, name: &[u8]) {
        let named = self.list.iter_mut().find(|named| *named.name == *name);
        named.into_iter().for_each(|named| named.was_refused = true);
    }

    /// True if there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// What a command does to texts once it has succeeded.
#[derive(Debug)]
pub(crate) enum TextEffect {
    /// The text is prepared now.
    Prepares(Text),
    /// Another text, which is not known, has the name now.
    Hides(Box<[u8]>),
    /// The name is free now.
    Frees(Box<[u8]>),
}

impl Engine {
    /// The verdict on a text that is about prepared texts, where `found` is that of its words.
    pub(crate) fn judge_prepared(
        &self,
        client: &Client,
        (text, dialect): (&[u8], &Dialect),
        mut found: Statement,
    ) -> Statement {
        if client.pins.contains(PinReason::TextPrepared) {
            return found;
        }
        match text_prepared(text, dialect) {
            Some(TextPrepared::Prepare(name, source)) => {
                let prepared = self.prepared(client, (name, source), dialect);
                prepared
                    .iter()
                    .for_each(|_| found.pins.remove(PinReason::TextPrepared));
            }
            // What USING lists may assign.
            Some(TextPrepared::Execute(_)) if text.windows(2).any(|part| part == b":=") => {}
            Some(TextPrepared::Execute(name)) => return executed(client, &name, found),
            Some(TextPrepared::Deallocate(_)) => {}
            // Which of the texts goes is not known.
            None if found.pins.is_empty() => found.pins.insert(PinReason::TextPrepared),
            None => {}
        }
        found
    }

    /// What a PREPARE would give the session; `None` if that cannot be carried.
    fn prepared(
        &self,
        client: &Client,
        (name, source): (Box<[u8]>, Source),
        dialect: &Dialect,
    ) -> Option<Text> {
        let text = match source {
            Source::Text(text) => text,
            Source::Variable(variable) => {
                let known = self.knows_user_variable(client, &variable);
                let user = client.session.user.as_ref().filter(|_| known)?;
                user.get(&variable)?.ascii()?
            }
        };
        let others = client.texts.as_ref();
        let room = others.is_none_or(|texts| texts.has_room(&name, text.len()));
        let inner = classify(&text, dialect);
        let homeless = client.session.schema.is_none() && may_ask_for_schema(&text);
        let fits = room && text.len() <= BYTES_MAX;
        (fits && is_carried(&inner) && !homeless).then(|| Text {
            name,
            state: client.session.clone(),
            does: Does::of_statement(&inner, &text, self.flavor()),
            statement: Statement {
                traits: inner.traits - (Traits::PURE_READ | Traits::BARE_BEGIN),
                ..inner
            },
            text: text.into(),
            id: 0,
        })
    }

    /// What a COM_QUERY does to texts, if it is about them.
    pub(crate) fn text_effect(
        &mut self,
        client: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> Option<Box<TextEffect>> {
        let query = packet.payload.first() == Some(&(Command::Query as u8));
        if !query || statement.kind != Kind::Prepared {
            return None;
        }
        let (record, facts) = (self.clients.get(client)?, self.facts.as_ref()?);
        let dialect = facts.dialect(&record.session)?;
        Some(Box::new(match text_prepared(packet.text(), &dialect)? {
            TextPrepared::Execute(_) => return None,
            TextPrepared::Deallocate(name) => TextEffect::Frees(name),
            TextPrepared::Prepare(name, source) => {
                let carried = !statement.pins.contains(PinReason::TextPrepared);
                let prepared = self.prepared(record, (name.clone(), source), &dialect);
                match prepared.filter(|_| carried) {
                    Some(mut text) => {
                        self.texts_prepared += 1;
                        text.id = self.texts_prepared;
                        TextEffect::Prepares(text)
                    }
                    None => TextEffect::Hides(name),
                }
            }
        }))
    }

    /// What running the text that a command names does to the list of conditions; `None` if it names none that
    /// is known.
    pub(crate) fn text_does(&self, client: Key, packet: Packet<'_>) -> Option<Does> {
        let client = self.clients.get(client)?;
        let texts = client.texts.as_ref()?;
        let dialect = self.facts.as_ref()?.dialect(&client.session)?;
        match text_prepared(packet.text(), &dialect)? {
            TextPrepared::Execute(name) => Some(texts.get(&name)?.does),
            _ => None,
        }
    }

    /// A command that is about texts was answered.
    pub(crate) fn texts_answered(&mut self, key: Key, command: &mut ClientCommand, failed: bool) {
        let Some(effect) = command.texts.take() else {
            return;
        };
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let client = command
            .client
            .and_then(|client| self.clients.get_mut(client));
        let here = &mut backend.leftovers.prepared;
        match (*effect, failed) {
            (TextEffect::Frees(_), true) => {}
            (TextEffect::Prepares(text), false) => {
                backend.dirty |= here.put(&text.name, text.id);
                if let Some(client) = client {
                    let texts = client.texts.get_or_insert_default();
                    texts.remove(&text.name);
                    texts.list.push(text);
                }
            }
            // A PREPARE that fails takes away what had the name.
            (TextEffect::Prepares(Text { name, .. }), true)
            | (TextEffect::Hides(name) | TextEffect::Frees(name), _) => {
                // One that was killed before it began leaves what another session has under the name.
                backend.dirty |= failed && here.get(&name).is_some();
                here.remove(&name);
                if let Some(client) = client {
                    client.forget_text(&name);
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
        let (Some(client), Some(facts)) = (self.clients.get(client), &self.facts) else {
            return false;
        };
        let Some(backend) = client.backend.and_then(|key| self.pool.get_mut(key)) else {
            return false;
        };
        if client.texts.is_none() && backend.leftovers.prepared.is_empty() {
            return false;
        }
        let hides = [PinReason::Call, PinReason::TextPrepared, PinReason::Unknown];
        let all = hides.iter().any(|&reason| statement.pins.contains(reason));
        let one = || match text_prepared(packet.text(), &facts.dialect(&client.session)?)? {
            TextPrepared::Execute(name) => Some((name, false)),
            TextPrepared::Deallocate(name) => Some((name, true)),
            TextPrepared::Prepare(..) => None,
        };
        let (one, goes) = one().filter(|_| !all).unzip();
        let named = |name: &[u8]| all || one.as_deref() == Some(name);
        let outbox = turn.io.outbox(backend.handle);
        let mut brought = false;
        if !client.pins.contains(PinReason::TextPrepared) {
            brought |= backend.take_away(outbox, client, &named);
        }
        // A schema that it is prepared in cannot be given up for what runs without one.
        let strands = |text: &&Text| {
            let schemas = [&client.session.schema, &text.state.schema].map(Option::is_some);
            schemas == [false, true] && (all || client.holds_backend())
        };
        let texts = client.texts.iter().flat_map(|texts| &texts.list);
        for text in texts.filter(|text| !strands(text)) {
            let here = backend.leftovers.prepared.get(&text.name);
            let here = here.filter(|here| here.id == text.id);
            // What is asked for by name is told why it cannot be had; what may use any goes on without it.
            if named(&text.name) && here.is_none_or(|here| here.was_refused && !all) {
                let dialect = facts.dialect(&text.state);
                dialect.iter().for_each(|dialect| match goes {
                    Some(true) => backend.prepare_to_go(outbox, text),
                    _ => backend.prepare(outbox, (text, all), dialect),
                });
                brought |= dialect.is_some();
            }
        }
        self.counters.restores += u64::from(brought);
        brought
    }
}

/// What an EXECUTE does, where `found` is the verdict on its words.
fn executed(client: &Client, name: &[u8], found: Statement) -> Statement {
    let mut pins = found.pins;
    pins.remove(PinReason::TextPrepared);
    pins.remove(PinReason::Call);
    match client.texts.as_ref().and_then(|texts| texts.get(name)) {
        Some(text) => Statement {
            kind: text.statement.kind,
            traits: text.statement.traits
                | Traits::RUNS_PREPARED_TEXT
                | found.traits & (Traits::USES_USER_VARIABLES | Traits::UNKNOWN_CALL),
            pins: text.statement.pins | pins,
            digest: found.digest,
        },
        // The server does not know it either.
        None => Statement {
            traits: Traits::MAY_WRITE,
            pins,
            ..found
        },
    }
}

/// True if a text can be run under another name on any backend.
fn is_carried(inner: &Statement) -> bool {
    const KNOWN_BETTER: Traits = Traits::READS_DIAGNOSTICS
        .union(Traits::READS_ROW_COUNTS)
        .union(Traits::READS_CONNECTION_ID)
        .union(Traits::READS_ADDRESS)
        .union(Traits::SETS_UNSCOPED)
        .union(Traits::ASSIGNS_USER_VARIABLES)
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

impl Backend {
    /// Takes away other sessions' texts whose names the statement may use.
    fn take_away(
        &mut self,
        outbox: &mut Vec<u8>,
        client: &Client,
        named: &impl Fn(&[u8]) -> bool,
    ) -> bool {
        let own = |name: &[u8]| {
            client
                .texts
                .as_ref()
                .is_some_and(|texts| texts.get(name).is_some())
        };
        let foreign = |here: &mut Named| named(&here.name) && !own(&here.name);
        let gone: Vec<_> = self
            .leftovers
            .prepared
            .list
            .extract_if(.., foreign)
            .collect();
        let mut there = gone.iter().filter(|here| !here.was_refused).peekable();
        let takes = there.peek().is_some();
        for Named { name, .. } in there {
            self.put_query(outbox, &[b"DEALLOCATE PREPARE `", &name[..], b"`"].concat());
            self.expect(Purpose::Restore(RestorePart::Set));
        }
        takes
    }

    /// Prepares a text in the schema, with the character sets, the role and in the `sql_mode` of then. Nothing
    /// else of then matters, and to set `autocommit` would end a transaction. What somebody's next
    /// transaction is to be must not hold: where that only reads, a text that writes cannot be prepared.
    /// `can_lack`: what it is brought for may do without it.
    fn prepare(
        &mut self,
        outbox: &mut Vec<u8>,
        (text, can_lack): (&Text, bool),
        dialect: &Dialect,
    ) {
        let mut state = self.session.clone();
        state.schema = text.state.schema.clone().or(state.schema);
        state.charset = text.state.charset.clone().or(state.charset);
        let variables = state
            .variables
            .with_from(b"sql_mode", &text.state.variables);
        state.variables = variables.into();
        state.set_role(text.state.role());
        state.set_next_transaction(b"");
        let restore = plan(&self.session, &state);
        put_restore(outbox, self, &restore);
        self.session = state;
        self.put_query(outbox, &prepare_statement(&text.name, &text.text, dialect));
        self.expect_text(text, can_lack);
    }

    /// Prepares something that can be deallocated: what the text reads may be gone by now.
    fn prepare_to_go(&mut self, outbox: &mut Vec<u8>, text: &Text) {
        self.put_query(
            outbox,
            &[b"PREPARE `", &text.name[..], b"` FROM 'DO 1'"].concat(),
        );
        self.expect_text(text, false);
    }

    fn expect_text(&mut self, text: &Text, can_lack: bool) {
        let name = text.name.clone();
        self.expect(Purpose::Restore(RestorePart::Text { name, can_lack }));
        self.dirty |= self.leftovers.prepared.put(&text.name, text.id);
    }
}

impl Client {
    fn forget_text(&mut self, name: &[u8]) {
        if let Some(texts) = &mut self.texts {
            texts.remove(name);
            if texts.list.is_empty() {
                self.texts = None;
            }
        }
    }
}
