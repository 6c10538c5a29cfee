//! COM_SET_OPTION allows or forbids several statements in one text. That is part of the key of backend connections (rule 1), so
//! the session goes over to another key.

use carry::errors::ClientError;
use events::Io;
use membership::Key;
use wire::{Capabilities, OkPacket, encode_eof};

use crate::record::backend::PoolKey;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// MYSQL_OPTION_MULTI_STATEMENTS_ON and its opposite. Source: "COM_SET_OPTION" in the MySQL manual.
const ON: &[u8] = &[0, 0];

const OFF: &[u8] = &[1, 0];

impl Records {
    /// Sets the option for the session. False if the server is to answer: the session holds a
    /// backend, for which the option is set, too; or the option is not known.
    pub(crate) fn set_option<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        payload: &[u8],
    ) -> bool {
        let id = self.clients.get(key).map(|client| client.key);
        if id.is_some_and(|id| self.is_relayed(id)) {
            self.refuse_command(turn, key, &ClientError::option_of_relayed());
            return true;
        }
        let Some(client) = self.clients.get_mut(key) else {
            return true;
        };
        match payload.get(1..) {
            Some(ON) => client.capabilities.insert(Capabilities::MULTI_STATEMENTS),
            Some(OFF) => client.capabilities.remove(Capabilities::MULTI_STATEMENTS),
            _ => return false,
        }
        client.rekeyed = true;
        if let Some(backend) = client.backend.and_then(|key| self.pool.get_mut(key)) {
            // It is no longer what its key says.
            backend.retired = true;
            return false;
        }
        // As an EOF packet says.
        self.counts_rows(key, -1);
        let Some(client) = self.clients.get(key) else {
            return true;
        };
        let (status, begins) = (client.status, client.answer_begins);
        let outbox = turn.io.outbox(client.handle);
        if client.dialect().deprecate_eof {
            let ok = OkPacket {
                status,
                ..OkPacket::default()
            };
            ok.encode(outbox, begins, 0xfe);
        } else {
            encode_eof(outbox, begins, 0, status);
        }
        self.rekey(key);
        self.counters.local_answers += 1;
        true
    }

    /// The session, which holds no backend, goes over to the key that its capabilities ask for.
    pub(crate) fn rekey(&mut self, key: Key) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        if !std::mem::take(&mut client.rekeyed) {
            return;
        }
        let wanted = PoolKey::new(client.account, client.capabilities, client.extended);
        let id = self.key_id(&wanted);
        if let Some(client) = self.clients.get_mut(key) {
            let before = std::mem::replace(&mut client.key, id);
            if client.seat.is_some() {
                self.keys[before.0 as usize].sessions -= 1;
                self.keys[id.0 as usize].sessions += 1;
            }
        }
    }
}
