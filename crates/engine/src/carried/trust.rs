//! Whether the session tracker of a server tells what it should. The first connection of each server is probed while it is
//! clean: a few variables are set to the values that they have. MariaDB 11.4 and 11.8 tell `autocommit` for whichever flag
//! was set, and 10.5, older 10.11 and older 11.4 tell of variables of plugins only that something has changed.
//!
//! What a text names is asked for wherever it was not told (`told`). What no text names, because a trigger or a routine has
//! set it, is told on a sound server; on another one all variables are compared with what sessions begin with. Owns the
//! probe, and what sessions begin with.

use std::sync::Arc;

use events::Io;
use membership::Key;
use session::is_carried;
use session::is_charset_variable;
use session::is_told_as;
use session::statement::{Flavor, PinReason};
use wire::{OkPacket, StateChange, TextResultSet};

use crate::ask::Ask;
use crate::backend::Due;
use crate::backend::Step;
use crate::known::Known;
use crate::pair::Pair;
use crate::{Engine, Mail, Turn};

/// Flags, and variables of plugins. Each server has them, and any account may set them.
const PROBED: [&str; 5] = [
    "foreign_key_checks",
    "unique_checks",
    "sql_notes",
    "innodb_lock_wait_timeout",
    "myisam_sort_buffer_size",
];

/// What sessions begin with on a server whose tracker is not sound (MariaDB).
const READ_BEGINNING: &[u8] =
    b"SELECT LOWER(VARIABLE_NAME),SESSION_VALUE FROM information_schema.SYSTEM_VARIABLES \
    WHERE VARIABLE_SCOPE LIKE 'SESSION%' AND READ_ONLY='NO' LIMIT 10000";

/// What is known of a server's session tracker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tracker {
    /// It was not probed yet.
    #[default]
    Unknown,
    /// It tells what was set.
    Sound,
    /// It does not.
    Unsound(Option<Arc<Beginning>>),
}

/// A variable's name and its value.
type Variable = (Box<[u8]>, Box<[u8]>);

/// The variables of a session that are carried, and what they begin with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Beginning {
    values: Vec<Variable>,
}

impl Beginning {
    fn told(rows: &TextResultSet) -> Self {
        let values = rows.rows().filter_map(|row| match row {
            [Some(name), value] if is_carried(name) && !is_charset_variable(name) => {
                let value = value.as_deref().unwrap_or_default();
                Some((name[..].into(), value.into()))
            }
            _ => None,
        });
        Self {
            values: values.collect(),
        }
    }

    /// The names of all of them.
    pub(crate) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.values.iter().map(|(name, _)| &**name)
    }

    /// What a session begins with.
    pub(crate) fn get(&self, name: &[u8]) -> Option<&[u8]> {
        let known = self.values.iter().find(|(known, _)| **known == *name);
        known.map(|(_, value)| &**value)
    }
}

/// The answer to the probe so far.
#[derive(Debug)]
pub(crate) struct Probe {
    untold: Vec<&'static str>,
    /// Some variable was told, if only by a wrong name.
    tells_any: bool,
}

impl Probe {
    fn new() -> Self {
        Self {
            untold: PROBED.to_vec(),
            tells_any: false,
        }
    }

    /// Takes note of what was told.
    pub(crate) fn told(&mut self, ok: &OkPacket<'_>) {
        for change in ok.changes() {
            if let StateChange::SystemVariable { name, .. } = change {
                self.tells_any = true;
                self.untold
                    .retain(|untold| !is_told_as(untold.as_bytes(), name));
            }
        }
    }
}

/// Sets a few variables to the values that they have.
#[must_use]
pub fn tracker_probe() -> String {
    let sets = PROBED.map(|name| format!("{name}=@@session.{name}"));
    format!("SET SESSION {}", sets.join(","))
}

/// The variables of the probe of which its answer does not tell.
#[must_use]
pub fn untold_by_probe(answer: &OkPacket<'_>) -> Vec<String> {
    let mut probe = Probe::new();
    probe.told(answer);
    probe.untold.iter().map(|&name| name.into()).collect()
}

impl Engine {
    /// Asks a new backend whether its server tells what is set, if that is not known, or not what sessions begin with.
    pub(crate) fn probe_tracker<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let known = self.known.facts.as_ref().map(|facts| &facts.tracker);
        let backend = self.pool.get_mut(key);
        let open = matches!(known, Some(Tracker::Unknown | Tracker::Unsound(None)));
        if let (true, Some(backend)) = (open, backend) {
            backend.put_query(turn.io.outbox(backend.handle), tracker_probe().as_bytes());
            backend.expect(Step::Probe(Probe::new()));
        }
    }

    /// The backend has told, or has refused to set one of them. False if its server tells nothing at all, so that it cannot
    /// be used.
    pub(crate) fn probed<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (probe, refused): (&Probe, bool),
    ) -> bool {
        let Some(facts) = &mut self.known.facts else {
            return true;
        };
        if probe.untold.is_empty() {
            facts.tracker = Tracker::Sound;
            return true;
        }
        // Older MariaDB 11.4 tells none of them by its name, but tells of each that something was set.
        if !refused && !probe.tells_any {
            let version = String::from_utf8_lossy(&facts.version);
            let text = format!("{version} does not tell which variables its sessions set");
            self.server_unfit(turn, key, text);
            return false;
        }
        if let Tracker::Unknown | Tracker::Sound = facts.tracker {
            facts.tracker = Tracker::Unsound(None);
        }
        let version = String::from_utf8_lossy(&facts.version);
        if self.shared.tracker_is_news(&facts.version) {
            tracing::warn!(
                %version,
                untold = probe.untold.join(","),
                "the server does not tell rightly which variables its sessions set: what a SET names is asked for, \
                which costs a question each"
            );
        }
        let backend = self.pool.get_mut(key);
        if let (Flavor::MariaDb, Some(backend)) = (facts.flavor, backend) {
            let outbox = turn.io.outbox(backend.handle);
            backend.ask(outbox, Ask::Beginning, READ_BEGINNING);
        }
        true
    }
}

impl Known {
    /// The backend has told what sessions begin with.
    pub(crate) fn learn_beginning(&mut self, rows: &TextResultSet) {
        if let Some(facts) = &mut self.facts
            && let Tracker::Unsound(beginning) = &mut facts.tracker
        {
            *beginning = Some(Arc::new(Beginning::told(rows)));
        }
    }

    /// A global variable has changed: sessions begin with something else, and the next new backend is asked.
    pub(crate) fn forget_beginning(&mut self) {
        if let Some(facts) = &mut self.facts
            && let Tracker::Unsound(beginning) = &mut facts.tracker
        {
            *beginning = None;
        }
    }

    /// True if the server is known to tell less than it should.
    pub(crate) fn is_unsound(&self) -> bool {
        let tracker = self.facts.as_ref().map(|facts| &facts.tracker);
        matches!(tracker, Some(Tracker::Unsound(_)))
    }

    /// What sessions begin with on a server whose tracker is not sound.
    pub(crate) fn beginning(&self) -> Option<Arc<Beginning>> {
        match &self.facts.as_ref()?.tracker {
            Tracker::Unsound(beginning) => beginning.clone(),
            Tracker::Unknown | Tracker::Sound => None,
        }
    }
}

impl Pair<'_> {
    /// Something may have set variables that no text names. On a server whose tracker is not sound all are asked for; the
    /// session is pinned if it is not known which there are.
    pub(crate) fn may_have_set_unseen(&mut self) {
        match self.known.facts.as_ref().map(|facts| &facts.tracker) {
            Some(Tracker::Unsound(Some(_))) if self.may_ask() => {
                self.backend.due |= Due::ALL_VARIABLES;
            }
            Some(Tracker::Unsound(_)) => self.pin_late(PinReason::UntrackedVariable),
            _ => {}
        }
    }
}
