//! One worker's backend connections, on one list per state.

use std::collections::HashMap;
use std::hash::Hash;

use events::{Span, Timestamp};
use membership::{Key, ListId, Roster};

use crate::ledger::Slot;

/// How many idle connections are looked at for one that needs no restore.
const LOOK_AT: usize = 32;

/// A connection that is being cleaned for longer is not counted on: it may be rolling back what took hours.
const CLEANED_SOON: Span = Span::from_ms(100);

/// How many states there are.
const STATES: usize = State::Reserved as usize + 1;

const ALL_STATES: [State; STATES] = [
    State::Connecting,
    State::Resetting,
    State::Idle,
    State::Active,
    State::Lane,
    State::Draining,
    State::Reserved,
];

/// The state of a backend connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// The socket is being connected, or the connection phase is under way.
    Connecting,
    /// Logged in; being set up, or cleaned for the next session.
    Resetting,
    /// Clean and free.
    Idle,
    /// Attached to a session, or finishing what one left behind.
    Active,
    /// Filled with reads of several sessions, one behind the other.
    Lane,
    /// Finishing what was sent to it as a lane; it gets no more.
    Draining,
    /// Outside the budget and of no session: kept for KILL.
    Reserved,
}

/// Names a key of the pool for as long as the pool lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub u32);

/// How well an idle connection suits a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It is in the session's state.
    Same,
    /// It is, but for what few statements need.
    Near,
    /// It can be brought there.
    Restorable,
    /// It cannot.
    Never,
}

/// Which of the idle connections that a session can have it gets; of those that fit alike, the one used last, for it is
/// the warmest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preference {
    /// One that needs as little as can be to be as the session wants it.
    #[default]
    Fitting,
    /// One that needs as much as can be.
    Foreign,
}

/// Where a statement's backend comes from.
#[derive(Debug, PartialEq, Eq)]
pub enum Choice {
    /// This idle connection.
    Attach(Key),
    /// None now; opening another would help if there is a slot.
    Open,
    /// None now, and enough are being opened already.
    Wait,
}

/// A connection with the slot that it occupies and the key it belongs to.
struct Member<B> {
    backend: B,
    key: KeyId,
    since: Timestamp,
    _slot: Slot,
}

/// The lists of one key.
#[derive(Clone, Copy)]
struct Lists {
    connecting: ListId,
    resetting: ListId,
    idle: ListId,
    active: ListId,
    lane: ListId,
    draining: ListId,
    reserved: ListId,
}

/// The connections of one worker.
pub struct Pool<K, B> {
    members: Roster<Member<B>>,
    ids: HashMap<K, KeyId>,
    keys: Vec<K>,
    lists: Vec<Lists>,
    /// Keys that may have idle connections, each once: those that have are all among them.
    resting: Vec<KeyId>,
    /// How many are on the lists of each state, over all keys.
    totals: [usize; STATES],
}

impl<K: Clone + Eq + Hash, B> Pool<K, B> {
    /// The id of `key`, a new one if it was never seen.
    pub fn key_id(&mut self, key: &K) -> KeyId {
        if let Some(&id) = self.ids.get(key) {
            return id;
        }
        let id = KeyId(self.keys.len() as u32);
        self.ids.insert(key.clone(), id);
        self.keys.push(key.clone());
        self.lists.push(Lists {
            connecting: self.members.add_list(),
            resetting: self.members.add_list(),
            idle: self.members.add_list(),
            active: self.members.add_list(),
            lane: self.members.add_list(),
            draining: self.members.add_list(),
            reserved: self.members.add_list(),
        });
        id
    }

    /// The key of an id.
    pub fn key(&self, id: KeyId) -> &K {
        &self.keys[id.0 as usize]
    }

    /// All ids.
    pub fn key_ids(&self) -> impl Iterator<Item = KeyId> + use<K, B> {
        (0..self.keys.len() as u32).map(KeyId)
    }

    /// A connection that begins to be made with `slot`.
    pub fn insert(&mut self, key: KeyId, slot: Slot, backend: B, now: Timestamp) -> Key {
        let member = Member {
            backend,
            key,
            since: now,
            _slot: slot,
        };
        self.totals[State::Connecting as usize] += 1;
        self.members
            .insert(self.lists[key.0 as usize].connecting, member)
    }

    /// A connection outside the budget that begins to be made.
    pub fn insert_reserved(&mut self, key: KeyId, slot: Slot, backend: B, now: Timestamp) -> Key {
        let member = Member {
            backend,
            key,
            since: now,
            _slot: slot,
        };
        self.totals[State::Reserved as usize] += 1;
        self.members
            .insert(self.lists[key.0 as usize].reserved, member)
    }

    /// Takes a connection out; its slot is given back.
    pub fn remove(&mut self, member: Key) -> Option<B> {
        let state = self.state(member)?;
        self.totals[state as usize] -= 1;
        self.members.remove(member).map(|member| member.backend)
    }

    /// Moves a connection to another state. All transitions go through here.
    pub fn move_to(&mut self, member: Key, to: State, now: Timestamp) {
        let Some(from) = self.state(member) else {
            return;
        };
        debug_assert!(
            may_follow(from, to),
            "a backend went from {from:?} to {to:?}"
        );
        let Some(entry) = self.members.get_mut(member) else {
            return;
        };
        entry.since = now;
        self.totals[from as usize] -= 1;
        self.totals[to as usize] += 1;
        let key = entry_key(&self.members, member);
        if to == State::Idle && self.count(key, State::Idle) == 0 && !self.resting.contains(&key) {
            self.resting.push(key);
        }
        self.members.move_to(member, self.list(key, to));
    }

    /// A connection goes over to another key, in the state that it is in. Not an idle one: sessions would not see
    /// where it has gone.
    pub fn rekey(&mut self, member: Key, key: KeyId) {
        let Some(state) = self.state(member) else {
            return;
        };
        debug_assert!(
            state != State::Idle,
            "an idle backend goes over to another key"
        );
        if let Some(entry) = self.members.get_mut(member) {
            entry.key = key;
        }
        self.members.move_to(member, self.list(key, state));
    }

    /// An idle connection is as if it had become idle just now.
    pub fn renew(&mut self, member: Key, now: Timestamp) {
        let (Some(State::Idle), Some(key)) = (self.state(member), self.key_of(member)) else {
            return;
        };
        if let Some(entry) = self.members.get_mut(member) {
            entry.since = now;
        }
        self.members.move_to(member, self.list(key, State::Idle));
    }

    /// The connection.
    pub fn get(&self, member: Key) -> Option<&B> {
        self.members.get(member).map(|member| &member.backend)
    }

    /// The connection, to be changed.
    pub fn get_mut(&mut self, member: Key) -> Option<&mut B> {
        self.members
            .get_mut(member)
            .map(|member| &mut member.backend)
    }

    /// The connection at a place, if there is one.
    pub fn at(&self, place: usize) -> Option<(Key, &B)> {
        let (key, member) = self.members.at(place)?;
        Some((key, &member.backend))
    }

    /// How many places there are, vacant ones included.
    pub fn places(&self) -> usize {
        self.members.places()
    }

    /// The key that a connection belongs to.
    pub fn key_of(&self, member: Key) -> Option<KeyId> {
        self.members.get(member).map(|member| member.key)
    }

    /// Since when a connection is in its state.
    pub fn since(&self, member: Key) -> Option<Timestamp> {
        self.members.get(member).map(|member| member.since)
    }

    /// The state that a connection is in: the list it is on.
    pub fn state(&self, member: Key) -> Option<State> {
        let lists = self.lists[self.key_of(member)?.0 as usize];
        let list = self.members.list_of(member)?;
        let states = [
            (lists.connecting, State::Connecting),
            (lists.resetting, State::Resetting),
            (lists.idle, State::Idle),
            (lists.active, State::Active),
            (lists.lane, State::Lane),
            (lists.draining, State::Draining),
            (lists.reserved, State::Reserved),
        ];
        states
            .into_iter()
            .find_map(|(of, state)| (of == list).then_some(state))
    }

    /// Where a session of `key` finds a backend, `waiters` sessions of that key wanting one.
    pub fn choose(
        &self,
        key: KeyId,
        (waiters, now): (usize, Timestamp),
        preference: Preference,
        fit: impl Fn(&B) -> Fit,
    ) -> Choice {
        let wanted = match preference {
            Preference::Fitting => [Fit::Same, Fit::Near, Fit::Restorable],
            Preference::Foreign => [Fit::Restorable, Fit::Near, Fit::Same],
        };
        let found = self.first_idle(key, wanted, fit);
        match found {
            Some(member) => Choice::Attach(member),
            None if self.coming(key, now) < waiters => Choice::Open,
            None => Choice::Wait,
        }
    }

    /// The warmest of the connections that fit as is wanted most. How they fit is asked of no more than are needed.
    fn first_idle(&self, key: KeyId, wanted: [Fit; 3], fit: impl Fn(&B) -> Fit) -> Option<Key> {
        let warmest_first = self.members.iter_back(self.list(key, State::Idle));
        let mut found = [None; 3];
        for (member, entry) in warmest_first.take(LOOK_AT) {
            let fits = fit(&entry.backend);
            match wanted.iter().position(|&wanted| wanted == fits) {
                Some(0) => return Some(member),
                Some(rank) => found[rank] = found[rank].or(Some(member)),
                None => {}
            }
        }
        found.into_iter().flatten().next()
    }

    /// The connection that has been idle the longest, over all keys. Looks at keys that have idle
    /// connections, however many others there are.
    pub fn oldest_idle(&mut self) -> Option<(Key, Timestamp)> {
        let oldest = (0..self.resting()).filter_map(|at| self.oldest_idle_at(at));
        let oldest = oldest.min_by_key(|&(_, _, since)| since);
        oldest.map(|(_, member, since)| (member, since))
    }

    /// How many keys have idle connections.
    pub fn resting(&mut self) -> usize {
        let mut resting = std::mem::take(&mut self.resting);
        resting.retain(|&key| self.count(key, State::Idle) > 0);
        self.resting = resting;
        self.resting.len()
    }

    /// The connection that has been idle the longest, of the key that stands there among those.
    pub fn oldest_idle_at(&self, at: usize) -> Option<(KeyId, Key, Timestamp)> {
        let key = *self.resting.get(at)?;
        let (member, since) = self.oldest_idle_of(key)?;
        Some((key, member, since))
    }

    /// The same of one key.
    pub fn oldest_idle_of(&self, key: KeyId) -> Option<(Key, Timestamp)> {
        let member = self.members.first(self.list(key, State::Idle))?;
        Some((member, self.members.get(member)?.since))
    }

    /// The connection of `key` that has been in `state` the longest.
    pub fn first(&self, key: KeyId, state: State) -> Option<Key> {
        self.members.first(self.list(key, state))
    }

    /// Since when that connection is in `state`.
    pub fn oldest(&self, key: KeyId, state: State) -> Option<Timestamp> {
        Some(self.members.get(self.first(key, state)?)?.since)
    }

    /// Counts anew what is on the lists: after a panic that may have come between two steps.
    pub fn recount(&mut self) {
        self.totals = [0; STATES];
        self.resting.clear();
        for key in self.key_ids() {
            for state in ALL_STATES {
                self.totals[state as usize] += self.count(key, state);
            }
            if self.count(key, State::Idle) > 0 {
                self.resting.push(key);
            }
        }
    }

    /// The connections of `key` in `state`, the oldest there first.
    pub fn iter(&self, key: KeyId, state: State) -> impl Iterator<Item = (Key, &B)> {
        self.members
            .iter(self.list(key, state))
            .map(|(key, member)| (key, &member.backend))
    }

    /// Since when each of those is there.
    pub fn iter_since(&self, key: KeyId, state: State) -> impl Iterator<Item = Timestamp> {
        let members = self.members.iter(self.list(key, state));
        members.map(|(_, member)| member.since)
    }

    /// Connections of `key` within the budget.
    pub fn owned(&self, key: KeyId) -> usize {
        let states = [
            State::Connecting,
            State::Resetting,
            State::Idle,
            State::Active,
            State::Lane,
            State::Draining,
        ];
        states.into_iter().map(|state| self.count(key, state)).sum()
    }

    /// Connections of `key` in `state`.
    pub fn count(&self, key: KeyId, state: State) -> usize {
        self.members.len_of(self.list(key, state))
    }

    /// Connections in `state`, over all keys.
    pub fn count_all(&self, state: State) -> usize {
        self.totals[state as usize]
    }

    /// Connections in all.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Connections that will soon be idle without anybody's doing.
    pub fn coming(&self, key: KeyId, now: Timestamp) -> usize {
        let resetting = self.iter_since(key, State::Resetting);
        let late = resetting.take_while(|&since| now.since(since) > CLEANED_SOON);
        let resetting = self.count(key, State::Resetting) - late.count();
        self.count(key, State::Connecting) + resetting
    }

    fn list(&self, key: KeyId, state: State) -> ListId {
        let lists = &self.lists[key.0 as usize];
        match state {
            State::Connecting => lists.connecting,
            State::Resetting => lists.resetting,
            State::Idle => lists.idle,
            State::Active => lists.active,
            State::Lane => lists.lane,
            State::Draining => lists.draining,
            State::Reserved => lists.reserved,
        }
    }
}

fn entry_key<B>(members: &Roster<Member<B>>, member: Key) -> KeyId {
    members.get(member).map_or(KeyId(0), |member| member.key)
}

fn may_follow(from: State, to: State) -> bool {
    matches!(
        (from, to),
        (State::Connecting, State::Resetting)
            | (State::Resetting, State::Idle)
            | (State::Idle, State::Active | State::Lane | State::Resetting)
            | (State::Lane, State::Draining)
            | (
                State::Active | State::Lane | State::Draining,
                State::Idle | State::Resetting
            )
            | (State::Reserved, State::Reserved)
    )
}

impl<K, B> Default for Pool<K, B> {
    fn default() -> Self {
        Self {
            members: Roster::new(0),
            ids: HashMap::new(),
            keys: Vec::new(),
            lists: Vec::new(),
            resting: Vec::new(),
            totals: [0; STATES],
        }
    }
}

#[cfg(test)]
mod tests;
