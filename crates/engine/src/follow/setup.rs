//! Cleans backends, and learns what a session begins with on them.

use std::sync::Arc;

use carry::leftovers::Leftovers;
use carry::outbound::{LEFT_FOR, put_command};
use carry::roles::role;
use carry::routines::unhex;
use carry::told::Unknown;
use carry::track_lists::Asked;
use events::Io;
use membership::Key;
use pool::State as BackendState;
use session::statement::Flavor;
use session::{ASK_FOR_COLLATIONS, Collations, SessionState, misreads};
use wire::{Command, TextResultSet};

use crate::record::ask::Ask;
use crate::record::backend::{Backend, Due, InsertId, Step};
use crate::record::facts::Facts;
use crate::record::records::Records;
use crate::record::setup::{FACTS, FACTS_AND_ROLE, Fact, SQL_MODE, charset};
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// The tracker is on for all that it can tell; of a transaction, what only the next one is to have. Autocommit is on
/// whatever the global value is by now: a session keeps the one that it has begun with.
const SETUP: &[u8] = b"SET session_track_schema=1,session_track_state_change=1,\
    session_track_system_variables='*',session_track_transaction_info=2,autocommit=1";

impl Records {
    /// Cleans a backend for whoever comes next.
    pub(crate) fn reset_backend<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        self.pool.move_to(key, BackendState::Resetting, turn.now);
        if let Some(id) = self.pool.key_of(key) {
            self.wake(id);
        }
        self.put_reset(turn, key);
    }

    /// Sends what cleans a backend, whoever is attached to it.
    pub(crate) fn put_reset<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let flavor = self.known.flavor();
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        self.counters.backend_resets += 1;
        let outbox = turn.io.outbox(backend.handle);
        put_command(outbox, Command::ResetConnection, b"");
        if let Some(facts) = &self.known.facts {
            let collation = facts.collation_after_reset(backend.session.collation);
            backend.session.collation = collation;
        }
        backend.expect(Step::Reset);
        if let Some(schema) = backend.session.selected().cloned() {
            // MariaDB leaves it selected, and forgets its character set, or has that of a schema that is gone.
            if flavor == Flavor::MariaDb {
                backend.leave_schema(outbox);
            }
            let charset = self.known.charsets.get(backend.session.collation);
            let charset = charset.map(|charset| &*charset.client);
            let charset = charset.filter(|charset| misreads(charset, &schema));
            backend.put_schema(outbox, (&schema, charset), Step::Reselect);
        }
        backend.due = Due::empty();
        backend.agenda.clear();
        backend.leftovers.unknown = Unknown::default();
        backend.retrack = None;
        (backend.keeps_locks, backend.keeps_characteristics) = (false, false);
        backend.statements.forget_all();
        put_setup(outbox, backend, self.known.facts.as_ref());
    }

    /// The schema of a backend that was cleaned is gone. One that has its name later would not be selected anew, and lack
    /// its character set.
    pub(crate) fn lost_schema(&mut self, key: Key) {
        let left = self.known.flavor() == Flavor::MariaDb;
        if let Some(backend) = self.pool.get_mut(key) {
            backend.retired = true;
            if left {
                // What a session waits to have run there must not run in the other one.
                backend
                    .session
                    .set_schema(LEFT_FOR, &mut self.known.interner);
            }
        }
    }

    /// The backend said what a session begins with.
    pub(crate) fn learn_session(&mut self, key: Key, facts: &TextResultSet) {
        let flavor = self.known.flavor();
        let has_roles = self.known.facts.as_ref().is_some_and(Facts::has_roles);
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let mut session = SessionState::new(backend.session.collation, &self.known.interner);
        session.schema.clone_from(&backend.session.schema);
        // Neither does COM_RESET_CONNECTION change the role (rule 3).
        let role = role(Fact::Role.of(facts), flavor).unwrap_or_default();
        match &backend.login_role {
            _ if !has_roles => {}
            None => backend.login_role = Some(role),
            Some(_) if role.is_empty() => backend.retired = true,
            Some(login) if role == *login => {}
            Some(_) => session.set_role(Some(&role)),
        }
        let charset = charset(facts, None, self.known.facts.as_ref());
        session.charset = charset.map(|charset| self.known.interner.charset(charset));
        let is_new = backend.is_new();
        // What the server has run there is the matter of sessions, each of which has its own.
        let initiated = is_new
            && Fact::InitConnect
                .of(facts)
                .is_some_and(|text| !text.is_empty());
        let teaches = is_new || self.known.charsets.get(session.collation).is_none();
        let teaches = teaches && !initiated;
        if let (Some(charset), true) = (&session.charset, teaches) {
            self.known
                .charsets
                .learn(session.collation, charset.clone());
        }
        if let Some(sql_mode) = Fact::SqlMode.of(facts) {
            session.set_variable(SQL_MODE, sql_mode, &mut self.known.interner);
        }
        backend.session = session;
        backend.insert_id = InsertId::Known(0);
        backend.leftovers = Leftovers::default();
        (backend.dirty, backend.counted_rows) = (initiated, false);
        // A command may wait for a clean backend.
        backend.due &= Due::COMMAND;
        backend.agenda.clear();
        self.learn_globals(facts);
    }

    /// The backend listed the server's collations.
    pub(crate) fn learn_collations(&mut self, rows: &TextResultSet) {
        if let Some(facts) = &mut self.known.facts {
            facts.charsets.collations = Some(Arc::new(Collations::told(rows.rows())));
        }
    }

    /// A backend said what sessions begin with from now on.
    pub(crate) fn learn_globals(&mut self, facts: &TextResultSet) {
        // In the character set of a session's results the answer may be unreadable. The next new connection tells it.
        if !matches!(Fact::LogBin.of(facts), Some(b"0" | b"1")) {
            return;
        }
        if let Some(autocommit) = Fact::Autocommit.of(facts) {
            self.learn_autocommit(autocommit == b"1");
        }
        if let Some(known) = &mut self.known.facts {
            let text = |fact: Fact| fact.of(facts).unwrap_or_default();
            known.learn_sql_mode(text(Fact::GlobalSqlMode));
            known.binary_log = text(Fact::LogBin) == b"1";
            known.auto_is_null = text(Fact::AutoIsNull) == b"1";
            known.init_connect = unhex(text(Fact::InitConnect)).map(Into::into);
            known.wait_timeout = text(Fact::WaitTimeout).into();
            known.interactive_timeout = text(Fact::InteractiveTimeout).into();
            known.charsets.chosen = text(Fact::ChosenCollations).into();
        }
        self.learn_tracked(Asked::told(facts, Fact::Tracking as usize));
    }

    /// What sessions begin with from now on, and have begun with that came before anybody knew: of those, no statement
    /// has run on a backend.
    fn learn_autocommit(&mut self, autocommit: bool) {
        let facts = self.known.facts.as_mut();
        let is_news = facts.is_some_and(|facts| facts.learn_autocommit(autocommit));
        if autocommit || !is_news {
            return;
        }
        for place in 0..self.clients.places() {
            let key = self.clients.at(place).map(|(key, _)| key);
            let client = key.and_then(|key| self.clients.get_mut(key));
            if let Some(client) = client.filter(|client| !client.session.has_set(b"autocommit")) {
                client.begin_without_autocommit(&mut self.known.interner);
            }
        }
    }

    /// What the session tracker tells of sessions that have not set it, as the global variables say.
    fn learn_tracked(&mut self, global: Asked) {
        if !self.known.track_lists.begin_with(global) {
            return;
        }
        for place in 0..self.clients.places() {
            let key = self.clients.at(place).map(|(key, _)| key);
            let client = key.and_then(|key| self.clients.get_mut(key));
            if let Some(client) = client {
                client.tracks = self.known.track_lists.first();
            }
        }
    }
}

/// What each backend needs before a session gets it, whoever had it.
pub(crate) fn put_setup(outbox: &mut Vec<u8>, backend: &mut Backend, facts: Option<&Facts>) {
    if facts.is_some_and(|facts| facts.charsets.collations.is_none()) {
        // Before all variables are tracked: see there.
        backend.ask(outbox, Ask::Collations, ASK_FOR_COLLATIONS);
    }
    backend.put_query(outbox, SETUP);
    backend.expect(Step::Setup(false));
    let roles = facts.is_some_and(Facts::has_roles);
    backend.ask(
        outbox,
        Ask::Facts,
        if roles { FACTS_AND_ROLE } else { FACTS },
    );
}
