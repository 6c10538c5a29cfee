//! All that a worker has on record: its clients, its backends, and what it knows.
//!
//! Whatever needs no more than records is a method of [`Records`], written where its subject is. Such methods decide
//! nothing about who is served next and start nothing anew: that is up to `matching` and to the desk.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use accounts::Directory;
use carry::pin_log::PinLog;
use carry::session_memory::SessionMemory;
use events::Timestamp;
use membership::Key;
use pool::{KeyId, Pool};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use session::SessionState;
use session::statement::Dialect;

use crate::record::backend::{Backend, PoolKey, TurnCounter};
use crate::record::buffering::Buffering;
use crate::record::client::State;
use crate::record::clients::Clients;
use crate::record::counters::Counters;
use crate::record::key_state::KeyState;
use crate::record::known::Known;
use crate::record::long::LongCommands;
use crate::record::settings::Settings;
use crate::record::shared::Shared;
use crate::record::shares::Share;

/// The records of one worker.
pub(crate) struct Records {
    /// What the worker was told at its start.
    pub settings: Arc<Settings>,
    /// What all workers share.
    pub shared: Arc<Shared>,
    /// The worker's number.
    pub worker: usize,
    /// Who may log in, as far as the worker knows.
    pub accounts: Arc<Directory>,
    /// Clients, each on the list of its state.
    pub clients: Clients,
    /// How many clients of this worker are counted among those of all.
    pub counted: usize,
    /// Backends, each on the list of its key and state.
    pub pool: Pool<PoolKey, Backend>,
    /// Counts the turns of the loop; backends have it, too.
    pub loop_turns: TurnCounter,
    /// One per key of the pool.
    pub keys: Vec<KeyState>,
    /// One per account that has keys.
    pub shares: Vec<Share>,
    /// Places in `shares`, by account.
    places_of_shares: HashMap<u32, usize>,
    /// What sessions keep beside their records.
    pub session_memory: SessionMemory,
    /// Bytes of long data that waits for the execution that uses it.
    pub long_data: Arc<AtomicUsize>,
    /// What is known of the server and of statements.
    pub known: Known,
    /// Clients by connection id, for KILL.
    pub ids: HashMap<u32, Key>,
    /// Why sessions were pinned, as far as it was logged.
    pub pin_log: PinLog,
    /// Keys for which something may be due.
    pub awake: Vec<KeyId>,
    /// What is counted.
    pub counters: Counters,
    /// For what must not be guessed, besides clients' nonces.
    pub random: ChaCha20Rng,
    /// Empty buffers for clients' inboxes.
    pub spares: Vec<Vec<u8>>,
    /// Commands that are too long to be looked at by the worker itself.
    pub long: LongCommands,
    /// Memory for clients' commands.
    pub buffering: Buffering,
}

impl Records {
    /// The records of worker number `worker`, which has seen nothing yet. `seed`: fresh random bytes, its own.
    pub(crate) fn new(
        settings: Arc<Settings>,
        shared: Arc<Shared>,
        worker: usize,
        seed: [u8; 32],
    ) -> Self {
        Self {
            accounts: settings.accounts.clone(),
            settings,
            shared,
            worker,
            clients: Clients::new(),
            counted: 0,
            pool: Pool::default(),
            loop_turns: TurnCounter::default(),
            keys: Vec::new(),
            shares: Vec::new(),
            places_of_shares: HashMap::new(),
            session_memory: SessionMemory::default(),
            long_data: Arc::default(),
            known: Known::nothing(),
            ids: HashMap::new(),
            pin_log: PinLog::default(),
            awake: Vec::new(),
            counters: Counters::default(),
            random: ChaCha20Rng::from_seed(seed),
            spares: Vec::new(),
            long: LongCommands::default(),
            buffering: Buffering::default(),
        }
    }

    /// The number of a key of the pool; a key that is new gets one.
    pub(crate) fn key_id(&mut self, key: &PoolKey) -> KeyId {
        let id = self.pool.key_id(key);
        self.clients.add_key(id);
        if self.keys.len() <= id.0 as usize {
            let share = self.place_of_share(key.account);
            self.shares[share].keys.push(id);
            self.keys.push(KeyState {
                share,
                ..KeyState::default()
            });
        }
        id
    }

    /// The place of the share of an account.
    fn place_of_share(&mut self, account: u32) -> usize {
        let shares = &mut self.shares;
        let place = self.places_of_shares.entry(account);
        *place.or_insert_with(|| {
            shares.push(Share::of(account));
            shares.len() - 1
        })
    }

    /// How the server reads the texts of a session.
    pub(crate) fn dialect_of(&self, client: Key) -> Option<Dialect> {
        self.known.dialect(&self.clients.get(client)?.session)
    }

    /// True if only logins bring backend connections of `id`.
    pub(crate) fn is_relayed(&self, id: KeyId) -> bool {
        let account = self.accounts.account(self.pool.key(id).account);
        account.is_some_and(|account| account.credential.relayed().is_some())
    }

    /// The record of a connection that is opened.
    pub(crate) fn new_backend(&self, collation: u8, now: Timestamp) -> Backend {
        let session = SessionState::new(collation, &self.known.interner);
        Backend::new(session, self.loop_turns.clone(), now)
    }

    pub(crate) fn client_states(&self) -> impl Iterator<Item = State> {
        let fixed = [
            State::Greeting,
            State::Login,
            State::Challenged,
            State::Judged,
            State::Idle,
            State::Active,
            State::InLane,
            State::ForLock,
            State::Queued,
            State::Held,
            State::Asking,
        ];
        let of_key = |id| [State::Waiting(id), State::ForLane(id)];
        fixed
            .into_iter()
            .chain(self.pool.key_ids().flat_map(of_key))
    }
}
