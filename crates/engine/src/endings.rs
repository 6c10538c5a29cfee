//! How connections end: hang-ups, losses, KILL, reads that may run once more.

mod kill;
pub(crate) mod kill_again;
mod leaving;
pub(crate) mod orphans;
pub(crate) mod panics;
mod retry;

use carry::outbound::put_command;
use events::{Close, Io};
use membership::Key;
use wire::{Command, Piece, Told};

use crate::record::backend::{Backend, Exchange, PreparedXa, Purpose};
use crate::record::client::State;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// The table of connection ids keeps room for about so many.
const IDS_MIN: usize = 256;

impl Records {
    /// No client has the connection id any more. After a peak the table of ids shrinks.
    pub(crate) fn forget_id(&mut self, id: u32) {
        self.ids.remove(&id);
        let enough = self.ids.len().max(IDS_MIN);
        if self.ids.capacity() > 8 * enough {
            self.ids.shrink_to(2 * enough);
        }
    }

    /// Before a session begins anew that may have prepared an XA transaction: has its backend roll back, whose answer says
    /// whether it has. True if so.
    pub(crate) fn asks_for_prepared<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
    ) -> bool {
        let backend = self.clients.get(key).and_then(|client| client.backend);
        let backend = backend.and_then(|backend| self.pool.get_mut(backend));
        let possible = |backend: &&mut Backend| backend.prepared_xa == PreparedXa::Possible;
        let Some(backend) = backend.filter(possible) else {
            return false;
        };
        backend.prepared_xa = PreparedXa::No;
        backend.roll_back(turn.io.outbox(backend.handle));
        self.clients.move_to(key, State::Active, turn.now);
        true
    }

    /// Closes a backend connection that nobody uses.
    pub(crate) fn drop_backend<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(backend) = self.pool.remove(key) else {
            return;
        };
        if backend.is_cut_off() {
            turn.io.close(backend.handle, Close::Abort);
            return self.slot_returned(turn);
        }
        if !backend.is_working() && backend.login.is_none() {
            put_command(turn.io.outbox(backend.handle), Command::Quit, b"");
        }
        turn.io.close(backend.handle, Close::Flush);
        self.slot_returned(turn);
    }

    /// The lists of the clients whose command waits to be sent.
    pub(crate) fn waiting_states(&self) -> Vec<State> {
        let of_key = |id| [State::Waiting(id), State::ForLane(id)];
        let of_all = [State::ForLock, State::Queued];
        of_all
            .into_iter()
            .chain(self.pool.key_ids().flat_map(of_key))
            .collect()
    }
}

/// The sequence id of an ERR packet that ends an answer early for the client; `None` in the middle of a packet. `first`:
/// the sequence id of the answer's first packet.
pub(crate) fn next_sequence_id(exchange: &mut Exchange, first: u8) -> Option<u8> {
    let Purpose::Command(command) = &mut exchange.purpose else {
        return Some(first);
    };
    if !command.answered {
        return Some(first);
    }
    let header = [0, 0, 0, exchange.walk.boundary()?];
    let mut told = Vec::new();
    let translation = &mut command.translation;
    let done = translation.piece(&Piece::Err(&header), &Told::default(), &mut told);
    done.ok()?;
    told.last().copied()
}
