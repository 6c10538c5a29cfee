//! What was found in one statement so far, and the verdict drawn from it at its end.
//! Owns the meaning of "plain read" and "may write"; finds nothing itself.

use super::kind::{Kind, Statement, Traits};
use super::pins::{PinReason, PinReasons};
use super::user_variables;

/// The collected findings of one statement.
#[derive(Default)]
pub(super) struct Findings {
    traits: Traits,
    pins: PinReasons,
    not_plain: bool,
    writes: bool,
    assigns: bool,
    selects: bool,
    joins: bool,
}

/// What a routine or a text that cannot be seen may do.
const HIDDEN: Traits = Traits::GENERATES_ID.union(Traits::READS_LAST_INSERT_ID);

/// What keeps a SELECT from being a plain read.
const DEPENDS_ON_SESSION: Traits = Traits::READS_LAST_INSERT_ID
    .union(Traits::SETS_LAST_INSERT_ID)
    .union(Traits::READS_DIAGNOSTICS)
    .union(Traits::READS_ROW_COUNTS)
    .union(Traits::READS_CONNECTION_ID)
    .union(Traits::READS_ADDRESS)
    .union(Traits::READS_GTID)
    .union(Traits::USES_USER_VARIABLES)
    .union(Traits::LISTS_USER_VARIABLES)
    .union(Traits::COUNTS_UNSENT_ROWS)
    .union(Traits::RELEASES_USER_LOCK);

impl Findings {
    pub(super) fn add(&mut self, traits: Traits) {
        self.traits |= traits;
    }

    pub(super) fn pin(&mut self, reason: PinReason) {
        self.pins.insert(reason);
    }

    /// The statement reads more than tables, or waits.
    pub(super) const fn not_plain(&mut self) {
        self.not_plain = true;
    }

    /// The statement may write although its kind does not say so.
    pub(super) const fn writes(&mut self) {
        self.writes = true;
    }

    /// The statement mentions `@name`, as written.
    pub(super) fn user_variable(&mut self, written: &[u8]) {
        self.add(Traits::USES_USER_VARIABLES);
        if user_variables::name(written).is_none() {
            self.pin(PinReason::UserVariable);
        }
    }

    /// The statement has a SELECT that is no subquery, besides the one that it may begin with.
    pub(super) const fn selects(&mut self) {
        self.selects = true;
    }

    /// The statement is about several tables.
    pub(super) const fn joins(&mut self) {
        self.joins = true;
    }

    /// Should the statement mention user variables, it assigns some.
    pub(super) const fn assigns(&mut self) {
        self.assigns = true;
    }

    /// Part of what the statement runs is not in the text.
    pub(super) fn hides(&mut self, reason: PinReason) {
        self.add(HIDDEN);
        self.pin(reason);
        self.writes();
        self.assigns();
    }

    /// A call of a function that is not a known built-in.
    pub(super) fn unknown_call(&mut self) {
        self.add(Traits::UNKNOWN_CALL);
        self.hides(PinReason::UnknownFunction);
    }

    /// The verdict.
    pub(super) fn statement(mut self, kind: Kind) -> Statement {
        match kind {
            Kind::Unknown => self.hides(PinReason::Unknown),
            Kind::Insert | Kind::Replace | Kind::Load => self.add(Traits::GENERATES_ID),
            Kind::Diagnostics => self.assigns(),
            _ => {}
        }
        let reads = match kind {
            Kind::Insert | Kind::Replace | Kind::Ddl => self.selects,
            Kind::Update | Kind::Delete => self.joins,
            _ => false,
        };
        if reads {
            self.add(Traits::COUNTS_UNSENT_ROWS);
        }
        self.settle();
        if self.writes || !reads_by_kind(kind) {
            self.add(Traits::MAY_WRITE);
        } else if kind == Kind::Select && self.is_plain() {
            self.add(Traits::PURE_READ);
        }
        Statement {
            kind,
            traits: self.traits,
            pins: self.pins,
            digest: 0,
        }
    }

    /// Takes back what other findings contradict.
    fn settle(&mut self) {
        if self.assigns && self.traits.contains(Traits::USES_USER_VARIABLES) {
            self.add(Traits::ASSIGNS_USER_VARIABLES);
        }
        if self.not_plain {
            self.traits.remove(Traits::BARE_BEGIN);
        }
        // Whether the lock is taken before or after the release is not in the tokens.
        if self.pins.contains(PinReason::UserLock) {
            self.traits.remove(Traits::RELEASES_USER_LOCK);
        }
    }

    fn is_plain(&self) -> bool {
        !self.not_plain && self.pins.is_empty() && !self.traits.intersects(DEPENDS_ON_SESSION)
    }
}

const fn reads_by_kind(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Empty
            | Kind::Select
            | Kind::Show
            | Kind::Explain
            | Kind::Begin
            | Kind::Commit
            | Kind::Rollback
            | Kind::Savepoint
            | Kind::Set
            | Kind::Use
            | Kind::Kill
            | Kind::Handler
            | Kind::Diagnostics
    )
}
