//! Admission: how many statements and transactions of an account run at once over all workers, who
//! waits, and who is next.
//!
//! Pure: no socket, no clock, no packet. The limits of an account and of a default schema are a
//! [`Quota`]; [`Rules`] say which applies to whom. All workers share a [`Ledger`]; each has a
//! [`Scheduler`] with the waiters of its own clients. What a statement holds while it runs is a
//! [`Permit`].
//!
//! # What holds
//!
//! * Nobody is let through from a queue while as many run as the limit says, over all workers.
//! * Those who may not wait ([`Scheduler::force`]: in a transaction, or pinned) are counted all the
//!   same, so an account runs at most its limit plus its open transactions and pinned sessions.
//! * Whoever came first is let through first, over all workers, among statements of one account that
//!   need the same permits and can use the same backends; between workers, whoever came first by more
//!   than 1 ms. A read does not wait behind a write that only lacks a transaction permit.
//! * Between accounts, backend time is shared by weight while several want more than there is.
//! * No permit stays free for longer than 1 ms while somebody waits for it at a worker that is awake; 10 ms
//!   if more than one other worker is held up.
//!
//! # How the engine calls it
//!
//! 1. After a login: [`Scheduler::login`], then [`Scheduler::use_schema`] with the default schema,
//!    and again whenever that changes. The [`Seat`] stays with the client; dropping it counts the
//!    client out.
//! 2. A statement of a session that is in a transaction or pinned: [`Scheduler::force`] (with
//!    [`Needs::Query`] inside of a transaction that has its permit), and off it goes. If such a
//!    session has no backend at hand: [`Scheduler::arrive_in_progress`].
//! 3. Any other statement: [`Scheduler::arrive`], with `has_backend` if one is free that only this
//!    group can use. On [`Decision::Queue`] the client waits; its [`Place`] is kept with it.
//! 4. At the end of each turn: [`Scheduler::next`] until it says `None`, then the mail of
//!    [`Scheduler::next_wake`] is posted. Mail that comes in goes to [`Scheduler::woken`].
//!    [`Scheduler::next_timer`] is one of the engine's timers. A permit is given only to who has a backend;
//!    [`Scheduler::without_backend`] and [`Scheduler::first_without_backend`] say who waits for that alone.
//! 5. The permit belongs to the backend connection, beside the command that runs there, since the
//!    statement outlives a client that hangs up. When the last byte of the answer was read from the
//!    backend: [`Permit::end_query`], if a transaction stays open, else [`Scheduler::settle`]. A
//!    BEGIN that was answered ahead takes nothing; the first statement behind it takes both permits.
//!    Each later statement has a permit of its own. When the transaction is over, its permit goes.
//! 6. A client that hangs up or is killed while it waits: [`Scheduler::leave`]. It never runs.
//! 7. When the configuration changes: [`Ledger::set_rules`] once, and mail to every worker, which
//!    calls [`Scheduler::rules_changed`], and [`Scheduler::use_schema`] for its sessions.
//! 8. A [`Rejection`] of a statement is told as error 1226 (`max_queued`, overload) or 1203
//!    (timeouts), SQLSTATE 42000; never of class 08, on which pools evict connections. Of a
//!    login it is 1226.
//!
//! # What it costs
//!
//! A statement of an account without limits costs a branch and a count while nobody waits. With limits
//! it costs two atomic operations for each permit, one to take and one to give back. Nothing is
//! allocated once as many have waited at once as ever do.

mod fair;
mod gate;
mod ledger;
mod like;
mod pattern;
mod permit;
mod quota;
mod rejection;
mod row;
mod rules;
mod scheduler;
mod sync;
mod waits;
mod wheel;

pub use ledger::{Ledger, Usage};
pub use pattern::{AccountName, Identity, Pattern};
pub use permit::{Needs, Permit};
pub use quota::{Overload, Quota};
pub use rejection::{Rejection, Why};
pub use rules::Rules;
pub use scheduler::{
    AccountReport, Arrival, Capacity, Counters, Decision, GateId, Left, Place, Scheduler, Seat,
    Step, Waiting, Wake,
};
pub use waits::Waits;

#[cfg(test)]
mod tests;
