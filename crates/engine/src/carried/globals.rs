//! Global variables that somebody changes: sessions that have begun before keep what they began with, as on the
//! server, where each has a copy of the values of then. A backend connection that is opened later has those of its
//! own time.
//!
//! What it began with is asked of the session that makes the change, unless it has set the variable itself. Others
//! get the same, if everybody may set it. What a change has made of the variable is what sessions after it begin with,
//! until the next one.

use std::collections::VecDeque;
use std::sync::Arc;

use events::Io;
use membership::Key;
use session::{can_be_refused, is_carried, is_restorable};
use wire::TextResultSet;

use crate::backend::key_state::with_ignore_space;
use crate::backend::setup::SQL_MODE;
use crate::backend::{ClientCommand, Due, Purpose};
use crate::carried::effect::Act;
use crate::carried::routines::unhex;
use crate::carried::told::value_told;
use crate::carried::track_lists::is_of_tracking;
use crate::client::Client;
use crate::{Engine, Mail, Turn};

/// A global variable that was changed. The changes of all global variables are counted: how many there had been
/// says how old a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedGlobal {
    /// How many changes there had been, this one included.
    changes: u32,
    /// Empty if it is not known which.
    name: Box<[u8]>,
    /// What the session has begun with that made the first change.
    before: Option<Box<[u8]>>,
    /// What sessions begin with from then on.
    after: Option<Box<[u8]>>,
}

impl ChangedGlobal {
    fn new(changes: u32, name: &[u8]) -> Self {
        Self {
            changes,
            name: name.into(),
            before: None,
            after: None,
        }
    }

    fn is_of(&self, other: &Self) -> bool {
        (self.changes, &self.name) == (other.changes, &other.name)
    }
}

/// What is to be asked about a change.
pub(crate) struct GlobalQuestion {
    changed: ChangedGlobal,
    asks: Asks,
}

enum Asks {
    /// What the session has begun with.
    Before(TextResultSet),
    /// What the variable is now.
    After(TextResultSet),
}

impl GlobalQuestion {
    /// The rows of the answer.
    pub(crate) fn rows(&mut self) -> &mut TextResultSet {
        match &mut self.asks {
            Asks::Before(rows) | Asks::After(rows) => rows,
        }
    }

    fn text(&self) -> Vec<u8> {
        let name = &self.changed.name[..];
        match self.asks {
            Asks::Before(_) => [b"SELECT @@session.", name, b" LIMIT 1"].concat(),
            // Whatever is sent to the session's client, its bytes are what the server runs.
            Asks::After(_) if *name == *INIT_CONNECT => {
                b"SELECT HEX(@@global.init_connect) LIMIT 1".to_vec()
            }
            Asks::After(_) => [b"SELECT @@global.", name, b" LIMIT 1"].concat(),
        }
    }
}

/// What sessions do about it is known since they began: only what later ones begin with is to be asked.
const AUTOCOMMIT: &[u8] = b"autocommit";
pub(crate) const WAIT_TIMEOUT: &[u8] = b"wait_timeout";
const INTERACTIVE_TIMEOUT: &[u8] = b"interactive_timeout";
const INIT_CONNECT: &[u8] = b"init_connect";

/// True for variables of which it is known what sessions begin with.
fn is_learned(name: &[u8]) -> bool {
    const LEARNED: [&[u8]; 4] = [AUTOCOMMIT, WAIT_TIMEOUT, INTERACTIVE_TIMEOUT, INIT_CONNECT];
    LEARNED.contains(&name) || is_of_tracking(name)
}

/// True for variables of which sessions keep what they began with. How long they may be silent is the front door's to say
/// unless they do.
fn is_kept(name: &[u8]) -> bool {
    const NOT_KEPT: [&[u8]; 3] = [AUTOCOMMIT, INTERACTIVE_TIMEOUT, WAIT_TIMEOUT];
    is_carried(name) && !NOT_KEPT.contains(&name)
}

/// More are not kept: sessions that are older than one of which nothing is known any more have the new values.
const CHANGED_MAX: usize = 64;

/// What older sessions have begun with.
#[derive(Default)]
pub(crate) struct FormerGlobals {
    /// In the order of the changes.
    changed: VecDeque<ChangedGlobal>,
    /// The newest change that is not kept any more.
    forgotten: u32,
    /// How often anything of this was learned.
    news: u16,
}

impl FormerGlobals {
    /// Takes over a change, or what was learned of it.
    pub(crate) fn learn(&mut self, changed: &ChangedGlobal) {
        self.news = self.news.wrapping_add(1);
        if changed.name.is_empty() {
            self.changed.retain(|known| known.changes > changed.changes);
            self.forgotten = self.forgotten.max(changed.changes);
            return;
        }
        if let Some(known) = self.changed.iter_mut().find(|known| known.is_of(changed)) {
            known.before = changed.before.clone().or_else(|| known.before.take());
            known.after = changed.after.clone().or_else(|| known.after.take());
            return;
        }
        let place = self
            .changed
            .partition_point(|known| known.changes <= changed.changes);
        self.changed.insert(place, changed.clone());
        if self.changed.len() > CHANGED_MAX {
            let oldest = self.changed.pop_front();
            self.forgotten = oldest.map_or(self.forgotten, |oldest| oldest.changes);
        }
    }

    /// What a session began with before which there had been so many changes.
    fn of_session(&self, began: u32) -> impl Iterator<Item = (&[u8], &[u8])> {
        let known = self
            .changed
            .iter()
            .enumerate()
            .filter(move |_| began >= self.forgotten);
        known.filter_map(move |(place, changed)| {
            let mut before = self.changed.iter().take(place);
            let last = before.rfind(|other| other.name == changed.name);
            let value = match last {
                _ if changed.changes <= began => None,
                Some(last) if last.changes > began => None,
                Some(last) => last.after.as_deref(),
                None => changed.before.as_deref(),
            };
            Some((&changed.name[..], value?))
        })
    }
}

impl Engine {
    /// A statement has changed global variables. What the session has begun with is to be asked.
    pub(crate) fn globals_set<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        command: &ClientCommand,
    ) {
        let changes = self.shared.changes_global();
        self.global_changed(turn);
        let act = command.effect.as_ref().map(|effect| effect.act());
        let client = command.client.and_then(|client| self.clients.get(client));
        let (Some(Act::SetsGlobals(names)), Some(client)) = (act, client) else {
            return self.tell_changed(turn, &ChangedGlobal::new(changes, b""));
        };
        let own = client.session.clone();
        for name in names {
            // Both are the same, but the character set does not say which of its collations.
            let name: &[u8] = match &name[..] {
                b"character_set_server" => b"collation_server",
                name => name,
            };
            let kept = is_kept(name);
            let changed = ChangedGlobal::new(changes, name);
            let for_others = kept && !can_be_refused(name) || self.is_followed(name);
            let for_itself = kept && !own.has_set(name);
            if for_others {
                self.tell_changed(turn, &changed);
            }
            let asks = [
                for_others.then(|| Asks::After(TextResultSet::default())),
                for_itself.then(|| Asks::Before(TextResultSet::default())),
            ];
            if let Some(backend) = self.pool.get_mut(key) {
                let questions = asks.into_iter().flatten().map(|asks| GlobalQuestion {
                    changed: changed.clone(),
                    asks,
                });
                backend.changed_globals.extend(questions);
                backend
                    .due
                    .set(Due::GLOBALS, !backend.changed_globals.is_empty());
            }
        }
    }

    /// Tells all workers.
    fn tell_changed<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, changed: &ChangedGlobal) {
        let told = Arc::new(changed.clone());
        self.post_to_others(turn, || Mail::GlobalWas(told.clone()));
        self.global_was(changed);
    }

    /// Takes over a change, or what was learned of it.
    pub(crate) fn global_was(&mut self, changed: &ChangedGlobal) {
        if let (Some(facts), Some(value)) = (&mut self.facts, &changed.after) {
            match &*changed.name {
                AUTOCOMMIT => {
                    // Sessions of before have what they began with, known or not.
                    let _was_unknown = facts.learn_autocommit(**value == *b"1");
                }
                WAIT_TIMEOUT => facts.wait_timeout = value.clone(),
                INIT_CONNECT => facts.init_connect = unhex(value).map(Into::into),
                INTERACTIVE_TIMEOUT => facts.interactive_timeout = value.clone(),
                SQL_MODE => {
                    facts.learn_sql_mode(value);
                    let begun = self.keys.iter_mut().filter(|key| key.sql_mode.is_some());
                    begun.for_each(|key| key.begin_with(value));
                }
                _ => {}
            }
        }
        if let Some(value) = &changed.after {
            self.track_lists.global_was(&changed.name, value);
            self.told_at_login.global_was(&changed.name, value);
        }
        // Not of those that a session could be refused.
        let is_carried = !is_learned(&changed.name) && !can_be_refused(&changed.name);
        if is_carried || changed.name.is_empty() {
            self.former_globals.learn(changed);
        }
    }

    /// True for variables of which it is known what sessions begin with, or are told that they do.
    fn is_followed(&self, name: &[u8]) -> bool {
        is_learned(name) || self.told_at_login.names(name)
    }

    /// Asks the next question about what the session of the backend has changed.
    pub(crate) fn ask_for_global<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let next = backend.changed_globals.pop();
        backend
            .due
            .set(Due::GLOBALS, !backend.changed_globals.is_empty());
        if let Some(question) = next {
            backend.put_query(turn.io.outbox(backend.handle), &question.text());
            backend.expect(Purpose::ReadGlobal(Box::new(question)));
        }
    }

    /// The server has answered.
    pub(crate) fn learn_global<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        question: GlobalQuestion,
    ) {
        let GlobalQuestion { mut changed, asks } = question;
        match asks {
            Asks::Before(rows) => {
                let value = value_told(&rows, 0).filter(|value| is_restorable(value));
                changed.before = value.map(Into::into);
                self.keeps_its_own(key, &changed);
            }
            Asks::After(rows) => {
                let value = rows.first(0).filter(|value| is_restorable(value));
                changed.after = value.map(Into::into);
            }
        }
        let client = self.pool.get(key).and_then(|backend| backend.client);
        let client = client.and_then(|client| self.clients.get(client));
        // What it has begun with may have changed since, for all that is known.
        let tells = |client: &Client| client.origin.global_changes >= self.former_globals.forgotten;
        changed.before = changed.before.filter(|_| client.is_some_and(tells));
        if !can_be_refused(&changed.name) || self.is_followed(&changed.name) {
            self.tell_changed(turn, &changed);
        }
    }

    /// The session that has made the change has what it has begun with.
    fn keeps_its_own(&mut self, key: Key, changed: &ChangedGlobal) {
        let (Some(value), Some(backend)) = (&changed.before, self.pool.get_mut(key)) else {
            return;
        };
        let client = backend
            .client
            .and_then(|client| self.clients.get_mut(client));
        let session = client.map(|client| &mut client.session);
        for state in session.into_iter().chain([&mut backend.session]) {
            state.set_variable(&changed.name, value, &mut self.interner);
        }
    }

    /// The session has what it began with, but for what it has set itself.
    pub(crate) fn keep_globals(&mut self, key: Key) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let former = &self.former_globals;
        if client.global_news == former.news {
            return;
        }
        client.global_news = former.news;
        for (name, value) in former.of_session(client.origin.global_changes) {
            if !client.session.has_set(name) {
                let adds = *name == *SQL_MODE && self.pool.key(client.key).adds_to_sql_mode();
                let added = adds.then(|| with_ignore_space(value));
                let value = added.as_deref().unwrap_or(value);
                client.session.set_variable(name, value, &mut self.interner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(changes: u32, name: &str, before: &str, after: &str) -> ChangedGlobal {
        let told = |value: &str| (!value.is_empty()).then(|| value.as_bytes().into());
        ChangedGlobal {
            changes,
            name: name.as_bytes().into(),
            before: told(before),
            after: told(after),
        }
    }

    fn of_session(former: &FormerGlobals, began: u32) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let all = former.of_session(began);
        let all = all.map(|(name, value)| format!("{}={}", text(name), text(value)));
        all.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_session_has_what_it_began_with() {
        let mut former = FormerGlobals::default();
        // The news of one change may overtake those of another.
        former.learn(&changed(3, "a", "", ""));
        former.learn(&changed(1, "a", "", ""));
        former.learn(&changed(2, "b", "7", "8"));
        former.learn(&changed(1, "a", "", "2"));
        assert_eq!(of_session(&former, 0), "b=7");
        former.learn(&changed(1, "a", "1", ""));
        // Whoever made this change is older than the one before.
        former.learn(&changed(3, "a", "1", "3"));
        for (began, expected) in [(0, "a=1 b=7"), (1, "b=7 a=2"), (2, "a=2"), (3, "")] {
            assert_eq!(of_session(&former, began), expected, "{began}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_made_up() {
        let mut former = FormerGlobals::default();
        former.learn(&changed(1, "a", "1", "2"));
        former.learn(&changed(3, "a", "", "4"));
        former.learn(&changed(2, "", "", ""));
        for (began, expected) in [(0, ""), (1, ""), (2, ""), (3, "")] {
            assert_eq!(of_session(&former, began), expected, "{began}");
        }
        former.learn(&changed(4, "a", "", ""));
        assert_eq!(of_session(&former, 3), "a=4");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut former = FormerGlobals::default();
        for change in 1..=CHANGED_MAX as u32 + 2 {
            former.learn(&changed(change, "a", "0", "1"));
        }
        assert_eq!(former.changed.len(), CHANGED_MAX);
        assert_eq!(of_session(&former, 1), "");
        assert_eq!(of_session(&former, 2), "a=0");
        assert_eq!(of_session(&former, 3), "a=1");
    }
}
