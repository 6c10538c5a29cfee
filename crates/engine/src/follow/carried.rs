//! The table of everything that follows a session, and the agenda: what backends are asked about it, and when.
//!
//! A question of Myriad's own empties the session's list of conditions and counts rows. So `read_back` asks for these first.

use carry::ending::Ending;
use carry::outbound::put_command;
use carry::roles::follow_next_transaction;
use events::{Io, Timestamp};
use membership::Key;
use wire::{Command, OkPacket, StateChange};

use crate::follow::charset::CHARSET;
use crate::follow::conditions::CONDITIONS;
use crate::follow::diagnostics::ROW_COUNTS;
use crate::follow::insert_id::INSERT_ID;
use crate::follow::retrack::TRACKING;
use crate::follow::roles::ROLE;
use crate::follow::sequences::SEQUENCES;
use crate::follow::told::VARIABLES;
use crate::follow::untold::PUT_BACK;
use crate::follow::user_variables::names::NAMES;
use crate::follow::user_variables::values::USER_VARIABLES;
use crate::follow::views::{TABLES, VIEWS};
use crate::record::ask::{Ask, Question};
use crate::record::backend::{ClientCommand, Due, Purpose, Step};
use crate::record::carried::Carried;
use crate::record::pair::Pair;
use crate::record::records::Records;
use crate::record::setup::FACTS;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// All that follows a session and must be learned from answers, in the order in which backends are asked about it.
const CARRIED: [&Carried; 13] = [
    &TRACKING,
    &PUT_BACK,
    &CHARSET,
    &VARIABLES,
    &ROLE,
    &NAMES,
    &TABLES,
    &ROW_COUNTS,
    &CONDITIONS,
    &INSERT_ID,
    &USER_VARIABLES,
    &VIEWS,
    &SEQUENCES,
];

impl Pair<'_> {
    /// A command of the session was answered.
    pub(crate) fn answered(&mut self, command: &ClientCommand, ending: &Ending) {
        for thing in CARRIED {
            (thing.answered)(self, command, ending);
        }
    }

    /// Asks for what a question of ours would change, if only the backend knows that. True if so.
    pub(crate) fn saves_first(&mut self, outbox: &mut Vec<u8>) -> bool {
        if self.ask_for_conditions(outbox) {
            return true;
        }
        let asks = self.backend.ask_for_found_rows(outbox);
        self.counters.read_backs += u64::from(asks);
        asks
    }

    /// Asks for what is on the agenda. False if nothing is.
    fn ask_next(&mut self, outbox: &mut Vec<u8>, now: Timestamp) -> bool {
        if self.backend.agenda.is_empty() {
            return false;
        }
        if self.saves_first(outbox) {
            return true;
        }
        while let Some(thing) = self.backend.agenda.next(&CARRIED) {
            if (thing.ask)(self, outbox, now) {
                self.counters.read_backs += 1;
                return true;
            }
        }
        false
    }
}

impl Records {
    /// Asks the backend what must be known before anything else happens. False if nothing is due.
    pub(crate) fn read_back<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let Some(backend) = self.pool.get_mut(key) else {
            return true;
        };
        let asks = backend.due.intersects(Due::PING | Due::GLOBALS) || !backend.agenda.is_empty();
        if !asks {
            return false;
        }
        let outbox = turn.io.outbox(backend.handle);
        if backend.due.contains(Due::PING) {
            put_command(outbox, Command::Ping, b"");
            backend.expect(Step::Ping);
            backend.due -= Due::PING;
            self.counters.read_backs += 1;
            return true;
        }
        let changed_globals = backend.due.contains(Due::GLOBALS);
        if let Some(mut pair) = self.pair(key)
            && (pair.ask_next(outbox, turn.now) || changed_globals && pair.saves_first(outbox))
        {
            return true;
        }
        let Some(backend) = self.pool.get_mut(key) else {
            return true;
        };
        // Without a session there is nobody to ask for.
        backend.agenda.clear();
        if changed_globals {
            backend.ask(outbox, Ask::Globals, FACTS);
            backend.due -= Due::GLOBALS;
            self.counters.read_backs += 1;
        }
        changed_globals
    }

    /// Asks the backend for what only that knows of a session that is about to leave it. False if there is nothing.
    pub(crate) fn read_last<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let Some(mut pair) = self.pair(key) else {
            return false;
        };
        for thing in CARRIED {
            if (thing.leave)(&pair) {
                pair.asks(thing);
            }
        }
        if pair.backend.agenda.is_empty() {
            return false;
        }
        let outbox = turn.io.outbox(pair.backend.handle);
        pair.ask_next(outbox, turn.now)
    }

    /// What the answer to something of ours says of changes to the session.
    pub(crate) fn purpose_told(&mut self, key: Key, purpose: &mut Purpose, ok: &OkPacket<'_>) {
        let (of_backend, of_session) = match purpose {
            Purpose::Own(Step::Probe(probe)) => {
                probe.told(ok);
                (true, true)
            }
            Purpose::Own(Step::Setup(tells)) => {
                let is_variable = |change| matches!(change, StateChange::SystemVariable { .. });
                *tells |= ok.changes().any(is_variable);
                (false, false)
            }
            Purpose::Own(Step::Restore(_) | Step::Reset) => (false, false),
            Purpose::Ask(question) => (true, !question.ask.uses_up_next_transaction()),
            Purpose::Own(_) | Purpose::Command(_) => (true, true),
        };
        if ok.state_changes.is_empty() {
            return;
        }
        if let Some(mut pair) = self.pair(key) {
            match purpose {
                Purpose::Ask(Question {
                    ask: Ask::OfSession(thing, _),
                    ..
                }) => (thing.tracked)(&mut pair, ok),
                Purpose::Own(Step::Retrack) => pair.retrack_told(ok),
                _ => {}
            }
            if of_session {
                follow_next_transaction(&mut pair.client.session, ok);
            }
        }
        if let Some(backend) = self.pool.get_mut(key)
            && of_backend
        {
            // MariaDB tells only with rows that an ERR before them has used up what was set for it.
            follow_next_transaction(&mut backend.session, ok);
        }
    }
}
