//! Clients, backends and pins, line by line.

use events::Timestamp;
use membership::Key;
use pool::State as BackendState;
use session::statement::{PinReason, digest_text};
use wire::{Command, HEADER_LEN, Header};

use crate::record::client::{Client, State};
use crate::record::look::{BackendLine, PinLine, Slice, schema, slice};
use crate::record::records::Records;

/// A digest's length, in bytes, and how much of a statement is read for it.
const DIGEST_MAX: usize = 200;

const TEXT_MAX: usize = 4 << 10;

impl Records {
    /// What waits is at the front of the client's inbox, also in a lane. What runs alone is known
    /// only as long as it may have to be sent again.
    pub(crate) fn statement_of(&self, client: &Client, state: State) -> Option<String> {
        let raw = match state {
            state if state.waits() || state == State::InLane => &client.inbox,
            State::Active => &self.pool.get(client.backend?)?.replay,
            _ => return None,
        };
        let payload = raw.get(HEADER_LEN..HEADER_LEN + Header::parse(raw)?.len)?;
        let &command = payload.first()?;
        if command != Command::Query as u8 {
            return Command::from_byte(command).map(|command| format!("{command:?}"));
        }
        let text = client.text(payload);
        let dialect = self.known.facts.as_ref()?.dialect(&client.session)?;
        let text = text.get(..TEXT_MAX).unwrap_or(text);
        Some(digest_text(text, &dialect, DIGEST_MAX))
    }

    pub(crate) fn backend_lines(&self, from: usize, now: Timestamp) -> Slice<BackendLine> {
        slice(from, self.pool.places(), |place| {
            let (key, _) = self.pool.at(place)?;
            self.backend_line(key, now)
        })
    }

    fn backend_line(&self, key: Key, now: Timestamp) -> Option<BackendLine> {
        let backend = self.pool.get(key)?;
        let account = self.pool.key(self.pool.key_of(key)?).account;
        let client = backend.client.and_then(|key| self.clients.get(key));
        Some(BackendLine {
            id: backend.connection_id,
            worker: self.worker,
            user: self.user(account),
            state: backend_state(self.pool.state(key)?),
            state_us: now.since(self.pool.since(key)?).as_us(),
            age_us: now.since(backend.opened).as_us(),
            client: client.map(|client| client.id),
            schema: schema(&backend.session),
            commands: backend.exchanges.len(),
        })
    }

    pub(crate) fn pin_lines(&self) -> Vec<PinLine> {
        let pinned = self.pinned();
        let lines = PinReason::ALL.iter().map(|&reason| {
            let place = reason as usize & 31;
            let (user, example) = self.pin_log.example(reason).unwrap_or_default();
            PinLine {
                reason,
                sessions: pinned[place],
                pins: self.counters.pins[place],
                user: user.to_owned(),
                example: example.to_owned(),
            }
        });
        lines.filter(|line| line.pins > 0).collect()
    }

    pub(crate) fn user(&self, account: u32) -> String {
        let account = self.accounts.account(account);
        account.map_or_else(String::new, |account| account.user().to_owned())
    }
}

fn backend_state(state: BackendState) -> &'static str {
    match state {
        BackendState::Connecting => "connecting",
        BackendState::Resetting => "resetting",
        BackendState::Idle => "idle",
        BackendState::Active => "active",
        BackendState::Lane => "lane",
        BackendState::Draining => "draining",
        BackendState::Reserved => "reserved",
    }
}
