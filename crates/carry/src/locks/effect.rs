//! What a call of a lock's function does to what its session holds, kept with the command until its answer has come.

use std::cell::Cell;

use events::Timestamp;
use session::statement::{LockAct, LockCall, PinReason, Statement, Traits};
use wire::Piece;

use crate::conditions::binary_rows::Form;
use crate::locks::answer::{LockAnswer, LockColumn, Returned};
use crate::locks::registry::{LockName, LockTicket};

/// A call that was sent.
pub struct LockEffect {
    /// What it does.
    pub does: LockAct,
    /// The name of the lock, if that is certain.
    pub name: Option<LockName>,
    /// What its session has of the lock so far.
    pub ticket: Cell<Option<LockTicket>>,
    /// What is called.
    pub call: LockCall,
    /// How its answer is written.
    pub form: Form,
    /// What the answer has said so far.
    pub answer: LockAnswer,
}

impl LockEffect {
    /// Takes note of a piece of the answer.
    pub fn note(&mut self, piece: &Piece<'_>) {
        self.answer.note(piece);
    }

    /// It is sent.
    pub fn sent(&self, now: Timestamp) {
        let ticket = self.ticket.take();
        ticket.iter().for_each(|ticket| ticket.sent(now));
        self.ticket.set(ticket);
    }

    /// What the call returned, as far as the answer says it.
    pub(crate) fn returned(&self) -> Returned {
        self.answer.returned(self.call.tells, self.form)
    }

    /// True if a call of `GET_LOCK` has not got a lock that another session holds.
    pub fn has_not_got(&self) -> bool {
        let is_asked = self.does == LockAct::Gets && self.name.is_some();
        is_asked && self.returned() == Returned::Not
    }

    /// What its session has of the lock so far.
    pub(crate) fn take_ticket(&self) -> Option<LockTicket> {
        self.ticket.take()
    }

    /// What a column with nothing but the value of `GET_LOCK` is like, if the answer has one.
    pub fn column(&self) -> Option<LockColumn> {
        let is_plain = self.does == LockAct::Gets && self.call.column.is_some();
        self.answer.column().filter(|_| is_plain)
    }
}

/// True of a statement that may release locks without being a call that was recognized, or without saying which.
pub fn may_release_unseen(statement: &Statement) -> bool {
    const RUN_OTHERS: [PinReason; 7] = [
        PinReason::UserLock,
        PinReason::Call,
        PinReason::UnknownFunction,
        PinReason::StoredObject,
        PinReason::MultipleStatements,
        PinReason::TextPrepared,
        PinReason::Unknown,
    ];
    statement.traits.contains(Traits::RELEASES_USER_LOCK)
        || RUN_OTHERS
            .iter()
            .any(|&reason| statement.pins.contains(reason))
}
