//! A session's list of conditions, brought to where it is asked for: read back from the backend that has it, told
//! from what is known, or had on another backend by running again what gave it.

use carry::conditions::binary_rows::Form;
use carry::conditions::{Answer, Conditions, Does, ReadWarnings};
use carry::diagnostics::capture::Capture;
use carry::ending::Ending;
use carry::locks::effect::LockEffect;
use carry::packet::Packet;
use events::Io;
use membership::Key;
use session::statement::{Flavor, Kind, Statement, Traits, show_diagnostics};
use wire::{ErrPacket, Told, Translation, asks_for_cursor};

use crate::follow::restore::put_restore;
use crate::record::ask::Ask;
use crate::record::backend::{Backend, ClientCommand, Due, Purpose, Step};
use crate::record::carried::{Carried, Kept};
use crate::record::client::Client;
use crate::record::pair::Pair;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// Longer texts are not looked at for a question.
const QUESTION_MAX: usize = 256;

/// The list of conditions. Whoever is about to change it asks for it first.
pub(crate) static CONDITIONS: Carried = Carried {
    answered: |pair, command, ending| {
        command.note_conditions(&mut pair.client.capture, ending);
    },
    told: |pair, _, reply| {
        if let (Kept::Conditions(read), Ok(_)) = (reply.kept, reply.rows) {
            pair.learn_warnings(*read);
        }
    },
    ..Carried::NOTHING
};

impl Backend {
    /// If the session asks for conditions that must be had once more, what gave them runs again. True if so.
    pub(crate) fn repeat(
        &mut self,
        outbox: &mut Vec<u8>,
        (client, statement): (&mut Client, &Statement),
        payload: &[u8],
    ) -> bool {
        let asks = statement.traits.intersects(Traits::NEEDS_CONDITIONS);
        if !asks || client.counted(payload, statement).is_some() {
            return false;
        }
        self.repeat_read(outbox, &mut client.capture.conditions)
    }

    fn repeat_read(&mut self, outbox: &mut Vec<u8>, conditions: &mut Conditions) -> bool {
        let Some(text) = conditions.repeated() else {
            return false;
        };
        // It may give none this time.
        self.clear_conditions(outbox);
        self.put_query(outbox, &text);
        self.expect(Step::Repeat);
        conditions.repeats();
        true
    }

    /// The list that it was asked for and has not told yet.
    pub(crate) fn outstanding_list(&mut self) -> Option<&mut ReadWarnings> {
        self.exchanges
            .iter_mut()
            .find_map(|exchange| match &mut exchange.purpose {
                Purpose::Ask(question) => match &mut question.ask {
                    Ask::OfSession(_, Kept::Conditions(read)) => Some(&mut **read),
                    _ => None,
                },
                _ => None,
            })
    }

    /// Part of a restore has failed: if it was for a read that was to run once more, what follows tells nothing of
    /// the session's list. True if it was for nothing else.
    pub(crate) fn gives_up_list(&mut self) -> bool {
        let has = |is: fn(&Purpose) -> bool| {
            let mut exchanges = self.exchanges.iter();
            exchanges.any(|exchange| is(&exchange.purpose))
        };
        let repeats = has(|purpose| matches!(purpose, Purpose::Own(Step::Repeat)));
        if !repeats || has(|purpose| matches!(purpose, Purpose::Command(_))) {
            return false;
        }
        for exchange in &mut self.exchanges {
            let asked = exchange.purpose.ask();
            if matches!(asked, Some(Ask::OfSession(_, Kept::Conditions(_)))) {
                exchange.purpose = Step::Repeat.into();
            }
        }
        true
    }
}

impl Client {
    /// True of GET DIAGNOSTICS about conditions that are not on a backend which the session holds. Without a user
    /// variable the server refuses it itself, as it does RESIGNAL.
    pub(crate) fn gets_elsewhere(&self, statement: &Statement) -> bool {
        let gets = Traits::READS_DIAGNOSTICS | Traits::ASSIGNS_USER_VARIABLES;
        statement.kind == Kind::Diagnostics
            && statement.traits.contains(gets)
            && (!self.holds_backend() || self.capture.conditions.list().is_some())
    }
}

impl Records {
    /// A plain read in a lane has given conditions that a command leaves, and may change what they depend on: the
    /// read runs once more before it, so that they are known by value. True if so.
    pub(crate) fn keeps_list_first<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> bool {
        let client = self.clients.get(key);
        if !client.is_some_and(|client| client.capture.conditions.is_again()) {
            return false;
        }
        let does = self.does(key, packet, statement);
        if !matches!(does, Does::Keeps | Does::Several { .. }) {
            return false;
        }
        let restore = self.restore(key, None);
        let Some(client) = self.clients.get_mut(key) else {
            return false;
        };
        let Some(attached) = client.backend else {
            return false;
        };
        let Some(backend) = self.pool.get_mut(attached) else {
            return false;
        };
        // It only reads, so nothing of this must be awaited (rule 5).
        let outbox = turn.io.outbox(backend.handle);
        put_restore(outbox, backend, &restore);
        backend.session.take_schema(&client.session);
        backend.session.take_all_but_schema(&client.session);
        let again = client.capture.conditions.repeated().map(Into::into);
        backend.repeat_read(outbox, &mut client.capture.conditions);
        backend.due |= Due::COMMAND;
        self.counters.lane_repeats += 1;
        self.counters.restores += u64::from(!restore.is_empty());
        self.read_warnings(turn, attached);
        let backend = self.pool.get_mut(attached);
        if let Some(read) = backend.and_then(Backend::outstanding_list) {
            *read.again() = again;
        }
        self.clients.set_active(key, turn.now);
        true
    }

    /// Asks the backend for the conditions of the attached session that only it has. False if it has none.
    pub(crate) fn read_warnings<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let Some(mut pair) = self.pair(key) else {
            return false;
        };
        let conditions = &mut pair.client.capture.conditions;
        if !conditions.needs_backend() {
            let read = conditions.read();
            debug_assert!(read.is_none(), "it needs the backend");
            return false;
        }
        let outbox = turn.io.outbox(pair.backend.handle);
        pair.ask_for_conditions(outbox)
    }

    /// Answers SHOW WARNINGS and SHOW ERRORS from what is known. False if the command is another, there
    /// is nothing to show, or the backend at hand knows better.
    pub(crate) fn answered_from_capture<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        text: &[u8],
        form: Form,
    ) -> bool {
        if !may_be_show(text) {
            return false;
        }
        let (Some(client), Some(facts)) = (self.clients.get_mut(key), &self.known.facts) else {
            return false;
        };
        let asked = facts
            .dialect(&client.session)
            .and_then(|dialect| show_diagnostics(text, &dialect));
        let (Some(asked), Some(list)) = (asked, client.capture.conditions.list()) else {
            return false;
        };
        let told = Told {
            status: client.status,
            ..Told::default()
        };
        let outbox = turn.io.outbox(client.handle);
        let offset = client.answer_begins.wrapping_sub(1);
        let translation = Translation::new(client.dialect(), offset);
        list.tell((asked, form), (translation, told), outbox);
        client.capture.row_count = -1;
        self.counters.local_answers += 1;
        true
    }

    /// Answers an execution of SHOW WARNINGS or SHOW ERRORS from the capture. MySQL may open a cursor for it.
    pub(crate) fn executed_from_capture<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
    ) -> bool {
        let statement = self.clients.get(key);
        let statement = statement.and_then(|client| client.statement(packet.payload));
        let cursor = self.known.flavor() == Flavor::MySql && asks_for_cursor(packet.payload);
        let Some(template) = statement
            .map(|statement| statement.template.clone())
            .filter(|_| !cursor)
        else {
            return false;
        };
        self.answered_from_capture(turn, key, &template.text, Form::Binary)
    }
}

impl ClientCommand {
    /// Notes what the answer does to the conditions of its session.
    fn note_conditions(&self, capture: &mut Capture, ending: &Ending) {
        let effect = self.effect.as_ref();
        let lock = effect.and_then(|effect| effect.of_lock());
        // MariaDB gives the list up for an error that GET_LOCK then hides.
        let does = match lock.is_some_and(LockEffect::has_not_got) {
            true => Does::Replaces,
            false => self.does,
        };
        let answer = Answer {
            warnings: self.counts.warnings,
            warned: self.counts.warned,
            error: match ending {
                Ending::Err(error) => ErrPacket::parse(error).ok(),
                Ending::Ok => None,
            },
        };
        capture.conditions.answered(does, &answer);
    }
}

impl Pair<'_> {
    /// Asks the backend for the conditions of its session that only that has. False if it has none.
    pub(crate) fn ask_for_conditions(&mut self, outbox: &mut Vec<u8>) -> bool {
        let Some(mut read) = self.client.capture.conditions.read() else {
            return false;
        };
        if !self.has_memory() {
            read.keeps_none();
        }
        let kept = Kept::Conditions(Box::new(read));
        self.backend
            .ask_about(outbox, &CONDITIONS, kept, b"SHOW WARNINGS");
        self.counters.read_backs += 1;
        true
    }

    /// The backend told the conditions.
    fn learn_warnings(&mut self, read: ReadWarnings) {
        let conditions = &mut self.client.capture.conditions;
        let is_all = conditions.learn(read);
        conditions.count_in(self.memory);
        self.counters.conditions_cut += u64::from(!is_all);
    }
}

/// True for texts that may ask for warnings, so that the others are not looked at twice.
fn may_be_show(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let begins = match text.first() {
        Some(b's' | b'S') => text
            .get(..4)
            .is_some_and(|word| word.eq_ignore_ascii_case(b"show")),
        first => matches!(first, Some(b'/' | b'#' | b'-')),
    };
    begins && text.len() <= QUESTION_MAX
}
