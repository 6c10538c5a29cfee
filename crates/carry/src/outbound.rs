//! Commands as they are written to a backend, and those that change the schema or the role of its session.

use session::statement::{Kind, Traits};
use wire::{Command, PacketWriter, write_packet};

/// A schema that everybody may select.
pub const LEFT_FOR: &[u8] = b"information_schema";

/// True of a statement before which the schema of its session is not selected: it selects one, or it may take the role
/// that it sets.
pub fn leaves_schema(kind: Kind, traits: Traits) -> bool {
    kind == Kind::Use || sets_role(kind, traits)
}

/// Appends a command of our own.
pub fn put_command(outbox: &mut Vec<u8>, command: Command, argument: &[u8]) {
    put_command_of(outbox, command, [b"", argument]);
}

/// Appends a command of our own with an argument of two parts. Returns the sequence id of its last packet.
pub fn put_command_of(outbox: &mut Vec<u8>, command: Command, argument: [&[u8]; 2]) -> u8 {
    let [first, second] = argument;
    let next = if first.len() + second.len() < wire::MAX_PAYLOAD - 1 {
        let mut packet = PacketWriter::begin(outbox, 0);
        packet.payload().push(command as u8);
        packet.payload().extend_from_slice(first);
        packet.payload().extend_from_slice(second);
        packet.finish()
    } else {
        write_packet(outbox, 0, &[&[command as u8], first, second].concat())
    };
    next.wrapping_sub(1)
}

/// True if a statement may set the role of its session.
pub fn sets_role(kind: Kind, traits: Traits) -> bool {
    kind == Kind::Set && traits.contains(Traits::SETS_ROLE)
}
