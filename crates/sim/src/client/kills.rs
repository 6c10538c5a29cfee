//! Who asked for whose end: which statements a KILL may have ended, which clients must be gone, and
//! what whoever asked must be told (rule 15). Owns no connection.

use events::{Span, Timestamp};
use fastrand::Rng;

use super::request::{How, Kill};
use crate::failure::{Broken, Rule, ensure};

/// What a client that is gone had asked for is carried out by then, if it ever is.
const LATE: Span = Span::from_ms(20);

/// One more than the highest id that any run gives out.
const NOBODYS: u32 = engine::FIRST_CONNECTION_ID + 1_000_000;

/// All clients that can be named, and all orders so far.
#[derive(Default)]
pub(crate) struct Kills {
    targets: Vec<Target>,
    orders: Vec<Order>,
    interrupted: Vec<Interrupted>,
    /// Who sent something, the latest last.
    senders: Vec<usize>,
}

/// A client that was told its connection id.
struct Target {
    client: usize,
    id: u32,
    /// Whom it has been, or has said it is.
    accounts: Vec<usize>,
    /// Since when it is logged in as the last of them; `None` during a login.
    since: Option<Timestamp>,
}

struct Order {
    asker: usize,
    account: usize,
    kill: Kill,
    sent: Timestamp,
    /// What was told, and when.
    answered: Option<(Timestamp, Told)>,
}

/// A statement that was told that it was interrupted.
#[derive(Clone, Copy)]
struct Interrupted {
    victim: usize,
    sent: Timestamp,
    /// When it was told.
    now: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Done,
    NoSuchThread,
    /// Another error, or nothing: it may have been carried out or not.
    Else,
}

impl Kills {
    /// A client was told its id.
    /// The connection id that a client was given last.
    pub(crate) fn id_of(&self, client: usize) -> Option<u32> {
        let mut targets = self.targets.iter().rev();
        Some(targets.find(|target| target.client == client)?.id)
    }

    /// The client that was given this id.
    pub(crate) fn client_of(&self, id: u32) -> Option<usize> {
        let mut targets = self.targets.iter().rev();
        Some(targets.find(|target| target.id == id)?.client)
    }

    pub(crate) fn came(&mut self, client: usize, id: u32) {
        self.targets.push(Target {
            client,
            id,
            accounts: Vec::new(),
            since: None,
        });
    }

    /// A client says that it is `account`.
    pub(super) fn logs_in(&mut self, client: usize, account: usize) {
        if let Some(target) = self.target(client) {
            target.accounts.push(account);
            target.since = None;
        }
    }

    /// It was believed.
    pub(super) fn logged_in(&mut self, client: usize, now: Timestamp) {
        if let Some(target) = self.target(client) {
            target.since = Some(now);
        }
    }

    /// Whom somebody of `account` may want to end.
    pub(super) fn choose(&self, rng: &mut Rng, account: usize) -> Kill {
        let own = |target: &&Target| target.accounts.last() == Some(&account);
        let mut targets: Vec<_> = self.targets.iter().collect();
        if rng.u8(0..8) > 0 {
            targets.retain(own);
        }
        let sent_last = |target: &&&Target| {
            let place = self.senders.iter().rposition(|&of| of == target.client);
            place.map_or(0, |place| place + 1)
        };
        let target = match rng.bool() {
            true => targets.iter().max_by_key(sent_last),
            false => rng.choice(&targets),
        };
        let target = target.filter(|_| rng.u8(0..20) > 0);
        let hows = [
            How::Query,
            How::Query,
            How::Query,
            How::Query,
            How::Connection,
            How::Bare,
            How::Command,
        ];
        Kill {
            id: target.map_or(NOBODYS, |target| target.id),
            victim: target.map(|target| target.client),
            how: hows[rng.usize(..hows.len())],
        }
    }

    /// A client sent something else.
    pub(super) fn heard(&mut self, client: usize) {
        self.senders.push(client);
    }

    pub(super) fn sent(&mut self, (asker, account): (usize, usize), kill: Kill, now: Timestamp) {
        self.orders.push(Order {
            asker,
            account,
            kill,
            sent: now,
            answered: None,
        });
    }

    /// The oldest open order of `asker` was answered.
    pub(super) fn answered(
        &mut self,
        asker: usize,
        error: Option<u16>,
        now: Timestamp,
    ) -> Result<(), Broken> {
        let is_killed = self.orders.iter().any(|o| o.kill.victim == Some(asker));
        let mut open = self.orders.iter_mut();
        let Some(order) = open.find(|o| o.asker == asker && o.answered.is_none()) else {
            return Ok(());
        };
        let of_itself = order.kill.victim == Some(asker);
        let told = match error {
            None => Told::Done,
            Some(wire::code::QUERY_INTERRUPTED | wire::code::CONNECTION_KILLED) if of_itself => {
                Told::Done
            }
            Some(wire::code::NO_SUCH_THREAD) => Told::NoSuchThread,
            Some(_) => Told::Else,
        };
        order.answered = Some((now, told));
        let target = self
            .targets
            .iter()
            .find(|t| Some(t.client) == order.kill.victim);
        let right = match (error, target) {
            (Some(wire::code::NO_SUCH_THREAD), _) => true,
            (_, None) => false,
            (Some(wire::code::QUERY_INTERRUPTED | wire::code::CONNECTION_KILLED), Some(target)) => {
                // Somebody may have been quicker.
                target.client == asker || is_killed
            }
            (None, Some(target)) => {
                target.client != asker && target.accounts.contains(&order.account)
            }
            (Some(wire::code::NOT_OWNER), Some(target)) => {
                let settled = target.since.is_some_and(|since| since < order.sent);
                !settled || target.accounts.iter().any(|of| *of != order.account)
            }
            _ => false,
        };
        ensure(Rule::Answer, right, || {
            format!("{:?} was answered with {error:?}", order.kill)
        })
    }

    /// Whoever asked is gone.
    pub(super) fn asker_gone(&mut self, asker: usize, now: Timestamp) {
        let open = self.orders.iter_mut().filter(|o| o.asker == asker);
        for order in open {
            order.answered.get_or_insert((now + LATE, Told::Else));
        }
    }

    /// True if KILLs may have ended this statement of `victim`, and those of before: each another
    /// one, and none a statement that was sent after the KILL was answered.
    pub(super) fn interrupts(&mut self, victim: usize, sent: Timestamp, now: Timestamp) -> bool {
        let statement = Interrupted { victim, sent, now };
        self.interrupted.push(statement);
        let mut ended_by = vec![None; self.orders.len()];
        let statements = 0..self.interrupted.len();
        let own = statements.filter(|&place| self.interrupted[place].victim == victim);
        own.into_iter().all(|place| {
            let mut tried = vec![false; self.orders.len()];
            self.find_order(place, &mut ended_by, &mut tried)
        })
    }

    /// Finds an order for an interrupted statement; others may have to take another one.
    fn find_order(&self, place: usize, ended_by: &mut [Option<usize>], tried: &mut [bool]) -> bool {
        for (at, order) in self.orders.iter().enumerate() {
            if tried[at] || !self.may_end(order, self.interrupted[place]) {
                continue;
            }
            tried[at] = true;
            if ended_by[at].is_none_or(|other| self.find_order(other, ended_by, tried)) {
                ended_by[at] = Some(place);
                return true;
            }
        }
        false
    }

    fn may_end(&self, order: &Order, statement: Interrupted) -> bool {
        let victim = Some(statement.victim);
        let target = self.targets.iter().find(|t| Some(t.client) == victim);
        order.kill.victim == victim
            && order.kill.is_of_query()
            && order.sent <= statement.now
            && order.answered.is_none_or(|(at, _)| at >= statement.sent)
            && target.is_some_and(|target| target.accounts.contains(&order.account))
    }

    /// True if somebody may have wanted to end a statement that was sent then, but came late: what
    /// takes the KILL in its place leaves an error of its own.
    pub(super) fn aims_at(&self, victim: usize, sent: Timestamp) -> bool {
        let mut orders = self.orders.iter();
        orders.any(|order| {
            order.kill.victim == Some(victim)
                && order.kill.is_of_query()
                && order.answered.is_none_or(|(at, _)| at >= sent)
        })
    }

    /// True if somebody may have ended the connection of `victim`.
    pub(super) fn ends(&self, victim: usize) -> bool {
        let mut orders = self.orders.iter();
        orders.any(|order| order.kill.victim == Some(victim) && !order.kill.is_of_query())
    }

    /// A statement that `victim` sent at `sent` was answered: it must not be gone then.
    pub(super) fn check_there(&self, victim: usize, sent: Timestamp) -> Result<(), Broken> {
        let gone = |order: &&Order| {
            let ended = match order.answered {
                Some((at, Told::Done)) => at < sent && !order.kill.is_of_query(),
                Some((at, Told::NoSuchThread)) => at < sent,
                _ => false,
            };
            ended && order.kill.victim == Some(victim)
        };
        let order = self.orders.iter().find(gone);
        ensure(Rule::Answer, order.is_none(), || {
            format!(
                "it goes on after {:?} was answered",
                order.map(|order| order.kill)
            )
        })
    }

    fn target(&mut self, client: usize) -> Option<&mut Target> {
        self.targets.iter_mut().find(|t| t.client == client)
    }
}
