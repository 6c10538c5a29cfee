//! What a statement does to the user-level locks of its session.

use std::cell::Cell;

use carry::conditions::binary_rows::Form;
use carry::locks::answer::LockAnswer;
use carry::locks::effect::LockEffect;
use carry::packet::Packet;
use carry::prepared::named::executes;
use membership::Key;
use session::statement::LockCall;

use crate::matching::Matching;
use crate::record::records::Records;

impl Matching {
    /// A call is about to be sent.
    pub(crate) fn lock_effect(
        &mut self,
        records: &mut Records,
        key: Key,
        packet: Packet<'_>,
        call: LockCall,
    ) -> LockEffect {
        LockEffect {
            does: call.does,
            name: records.lock_name(key, packet, &call),
            ticket: Cell::new(self.take_lock_ticket(key)),
            form: match executes(packet.payload) {
                true => Form::Binary,
                false => Form::Text,
            },
            call,
            answer: LockAnswer::default(),
        }
    }
}
