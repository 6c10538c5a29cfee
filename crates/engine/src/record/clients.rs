//! All client connections of a worker, and the list that each is on.

use events::{Span, Timestamp};
use membership::{Key, ListId, Roster};
use pool::KeyId;

use crate::record::client::{Client, Login, LoginStep, State};

const GREETING: ListId = ListId(0);

const LOGIN: ListId = ListId(1);

const IDLE: ListId = ListId(2);

const ACTIVE: ListId = ListId(3);

const HELD: ListId = ListId(4);

const ASKING: ListId = ListId(5);

const IN_LANE: ListId = ListId(6);

const QUEUED: ListId = ListId(7);

const CHALLENGED: ListId = ListId(8);

const JUDGED: ListId = ListId(9);

const FOR_LOCK: ListId = ListId(10);

const OF_ITS_OWN: u32 = 11;

const FIXED: u32 = OF_ITS_OWN + OWN_TIMEOUTS as u32;

/// So many values of `wait_timeout` that sessions have set can count at a time.
const OWN_TIMEOUTS: usize = 32;

/// All client connections of a worker.
pub(crate) struct Clients {
    roster: Roster<Client>,
    /// The values of `wait_timeout` that idle sessions have set for themselves, in seconds. Each has a list of its
    /// own, so that only the first of that can be due.
    own_timeouts: Vec<u32>,
}

impl Clients {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self {
            roster: Roster::new(FIXED),
            own_timeouts: Vec::new(),
        }
    }

    /// Makes room for the waiters of `key`. Keys come in the order of their ids.
    pub(crate) fn add_key(&mut self, key: KeyId) {
        while self.roster.lists() <= FIXED + 2 * key.0 + 1 {
            self.roster.add_list();
        }
    }

    /// A new connection.
    pub(crate) fn insert(&mut self, state: State, client: Client) -> Key {
        self.roster.insert(list(state), client)
    }

    /// Moves a connection to another state. All transitions go through here.
    pub(crate) fn move_to(&mut self, key: Key, to: State, now: Timestamp) {
        let Some(from) = self.state(key) else { return };
        debug_assert!(
            may_follow(from, to),
            "a client went from {from:?} to {to:?}"
        );
        self.renew(key, to, now);
    }

    /// Its backend works for a connection, perhaps as before: then its time goes on.
    pub(crate) fn set_active(&mut self, key: Key, now: Timestamp) {
        if self.state(key) != Some(State::Active) {
            self.move_to(key, State::Active, now);
        }
    }

    /// The connection phase of a connection, if it is in that.
    pub(crate) fn login_mut(&mut self, key: Key) -> Option<&mut Login> {
        self.get_mut(key)?.login.as_deref_mut()
    }

    /// A login has come so far: it is on the list of those whose turn it is, too.
    pub(crate) fn set_step(&mut self, key: Key, step: LoginStep, now: Timestamp) {
        let Some(login) = self.login_mut(key) else {
            return;
        };
        let to = step.state();
        login.step = step;
        if self.state(key) != Some(to) {
            self.move_to(key, to, now);
        }
    }

    /// The connection, which is in `state`, is as if it had come there just now.
    pub(crate) fn renew(&mut self, key: Key, state: State, now: Timestamp) {
        let Some(client) = self.roster.get_mut(key) else {
            return;
        };
        client.since = now;
        let own = match state {
            State::Idle => client.session.variables.wait_timeout(),
            _ => None,
        };
        let own = own.and_then(|seconds| self.list_of_timeout(seconds));
        self.roster.move_to(key, own.unwrap_or_else(|| list(state)));
    }

    /// The list of idle sessions that may be silent for so long because they have said so. `None` if others
    /// have set too many other values: then the general one counts.
    fn list_of_timeout(&mut self, seconds: u32) -> Option<ListId> {
        let own = &mut self.own_timeouts;
        let known = own.iter().position(|&known| known == seconds);
        let vacant = |&n: &usize| self.roster.len_of(own_list(n)) == 0;
        let place = known.or_else(|| (0..OWN_TIMEOUTS).find(vacant))?;
        match own.get_mut(place) {
            Some(timeout) => *timeout = seconds,
            None => own.push(seconds),
        }
        Some(own_list(place))
    }

    /// The idle session whose silence will be, or has been, too long first, and when that is. Who has not set
    /// `wait_timeout` may be silent for `limit`.
    pub(crate) fn first_silent(&self, limit: Option<Span>) -> Option<(Timestamp, Key)> {
        let own = (0..).zip(&self.own_timeouts);
        let own = own.map(|(n, &seconds)| (own_list(n), Span::from_secs(seconds.into())));
        let limits = limit.map(|limit| (IDLE, limit)).into_iter().chain(own);
        let silent = limits.filter_map(|(list, limit)| {
            let key = self.roster.first(list)?;
            Some((self.get(key)?.since + limit, key))
        });
        silent.min_by_key(|&(at, _)| at)
    }

    /// Takes a connection out.
    pub(crate) fn remove(&mut self, key: Key) -> Option<Client> {
        self.roster.remove(key)
    }

    /// The connection.
    pub(crate) fn get(&self, key: Key) -> Option<&Client> {
        self.roster.get(key)
    }

    /// The connection, to be changed.
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut Client> {
        self.roster.get_mut(key)
    }

    /// The connection at a place, if there is one.
    pub(crate) fn at(&self, place: usize) -> Option<(Key, &Client)> {
        self.roster.at(place)
    }

    /// How many places there are, vacant ones included.
    pub(crate) fn places(&self) -> usize {
        self.roster.places()
    }

    /// The state that a connection is in: the list it is on.
    pub(crate) fn state(&self, key: Key) -> Option<State> {
        Some(match self.roster.list_of(key)? {
            GREETING => State::Greeting,
            LOGIN => State::Login,
            CHALLENGED => State::Challenged,
            JUDGED => State::Judged,
            IDLE => State::Idle,
            ACTIVE => State::Active,
            HELD => State::Held,
            ASKING => State::Asking,
            IN_LANE => State::InLane,
            QUEUED => State::Queued,
            FOR_LOCK => State::ForLock,
            ListId(own) if own < FIXED => State::Idle,
            ListId(other) => match (other - FIXED) % 2 {
                0 => State::Waiting(KeyId((other - FIXED) / 2)),
                _ => State::ForLane(KeyId((other - FIXED) / 2)),
            },
        })
    }

    /// The connection that has been in `state` the longest; of the idle, of those that have, or have not, set
    /// `wait_timeout`.
    pub(crate) fn first(&self, state: State) -> Option<Key> {
        self.lists(state).find_map(|list| self.roster.first(list))
    }

    /// Since when the first of `state` is there.
    pub(crate) fn oldest(&self, state: State) -> Option<Timestamp> {
        Some(self.get(self.first(state)?)?.since)
    }

    /// Since when the last of `state` is there.
    pub(crate) fn newest(&self, state: State) -> Option<Timestamp> {
        Some(self.get(self.roster.last(list(state))?)?.since)
    }

    /// How many are in `state`.
    pub(crate) fn count(&self, state: State) -> usize {
        self.lists(state).map(|list| self.roster.len_of(list)).sum()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.roster.len()
    }

    /// Bytes of memory that the records take.
    pub(crate) fn bytes(&self) -> usize {
        self.roster.bytes()
    }

    /// All in `state`, the oldest there first.
    pub(crate) fn iter(&self, state: State) -> impl Iterator<Item = (Key, &Client)> {
        self.lists(state).flat_map(|list| self.roster.iter(list))
    }

    /// The lists of those in `state`.
    fn lists(&self, state: State) -> impl Iterator<Item = ListId> + use<> {
        let own = match state {
            State::Idle => self.own_timeouts.len(),
            _ => 0,
        };
        std::iter::once(list(state)).chain((0..own).map(own_list))
    }
}

fn own_list(place: usize) -> ListId {
    ListId(OF_ITS_OWN + place as u32)
}

fn list(state: State) -> ListId {
    match state {
        State::Greeting => GREETING,
        State::Login => LOGIN,
        State::Challenged => CHALLENGED,
        State::Judged => JUDGED,
        State::Idle => IDLE,
        State::Active => ACTIVE,
        State::Held => HELD,
        State::Asking => ASKING,
        State::InLane => IN_LANE,
        State::Queued => QUEUED,
        State::ForLock => FOR_LOCK,
        State::Waiting(key) => ListId(FIXED + 2 * key.0),
        State::ForLane(key) => ListId(FIXED + 2 * key.0 + 1),
    }
}

fn may_follow(from: State, to: State) -> bool {
    match (from, to) {
        (State::Greeting, State::Login) => true,
        (State::Login, State::Challenged | State::Judged) => true,
        (State::Challenged, State::Judged) | (State::Judged, State::Login | State::Challenged) => {
            true
        }
        (State::Login | State::Judged, State::Idle | State::Waiting(_) | State::Active) => true,
        // COM_CHANGE_USER is a login.
        (State::Idle, State::Waiting(_) | State::Active | State::Login | State::Asking) => true,
        (State::Idle, State::ForLane(_) | State::InLane | State::Queued) => true,
        // Its turn has come, or its time is over.
        (State::Idle, State::ForLock) | (State::ForLock, State::Idle) => true,
        (State::Queued, State::Waiting(_) | State::ForLane(_) | State::Idle) => true,
        (State::Waiting(_), State::Active | State::Idle | State::InLane) => true,
        // To the queue of those who go alone: what it reads is not known to be fast any more.
        (State::ForLane(_), State::InLane | State::Active | State::Idle) => true,
        (State::ForLane(_), State::Waiting(_)) => true,
        (State::InLane, State::Idle | State::Waiting(_)) => true,
        // Back to the queue: its backend was lost before the command was sent.
        (State::Active, State::Idle | State::Held | State::Active | State::Waiting(_)) => true,
        (State::Held, State::Active | State::Idle | State::Asking) => true,
        (State::Asking, State::Held | State::Idle) => true,
        _ => false,
    }
}
