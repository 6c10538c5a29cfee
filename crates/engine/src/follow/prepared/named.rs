//! Executions as a backend gets them: under its own id, with types and long data.

use carry::packet::Packet;
use carry::prepared::backend_statements::{Instance, Need};
use carry::prepared::client_statements::ClientStatement;
use carry::prepared::named::executes;
use session::statement::{Flavor, Kind, Traits};
use wire::{
    Command, ParameterList, ParameterTypes, TypeList, asks_for_cursor, number_packets,
    parameter_types, with_parameter_types, write_packet,
};

use crate::record::backend::Backend;
use crate::record::client::Client;
use crate::record::pieces::{LARGE, Put, Rest, put_as_sent};

/// Where the id stands in a command, behind the header and the command byte.
const ID: std::ops::Range<usize> = wire::HEADER_LEN + 1..wire::HEADER_LEN + 5;

/// No backend has a statement with this id.
const NOBODY: u32 = 0;

impl Client {
    /// The text that a command runs, unless that was prepared by name.
    pub(crate) fn text_that_runs<'a>(&'a self, packet: Packet<'a>) -> Option<&'a [u8]> {
        match executes(packet.payload) {
            true => Some(&self.statement(packet.payload)?.template.text),
            false => Some(packet.text()),
        }
    }
}

/// What an execution needs to find on a backend.
pub(crate) fn need<'a>(
    (client, statement): (&Client, &'a ClientStatement),
    payload: &'a [u8],
) -> Need<'a> {
    let types = match parameter_types(payload, statement.list(client.has_attributes())) {
        ParameterTypes::Given(types) => Some(types),
        ParameterTypes::Omitted => statement.types.as_deref().map(TypeList::of),
        ParameterTypes::Nothing => None,
    };
    Need {
        id: statement.id,
        number: statement.template.number,
        cursor: asks_for_cursor(payload),
        types,
    }
}

/// Appends a command that names a prepared statement, which the backend has.
pub(crate) fn put_named(
    outbox: &mut Vec<u8>,
    client: &mut Client,
    backend: &mut Backend,
    packet: Packet<'_>,
    flavor: Flavor,
) -> Put {
    let (runs, alone) = (executes(packet.payload), asks_for_cursor(packet.payload));
    let begin = outbox.len();
    let attributes = client.has_attributes();
    let statement = client.statement_mut(packet.payload);
    let found = statement.and_then(|statement| {
        let name = (statement.id, statement.template.number);
        if runs {
            backend
                .statements
                .give_up_cursor(statement.id, alone, flavor);
        }
        let instance = backend.statements.use_for(name, alone)?;
        Some((statement, instance))
    });
    let Some((statement, instance)) = found else {
        // It would run another one.
        debug_assert!(
            false,
            "a statement is executed that its backend does not have"
        );
        let put = put_as_sent(outbox, packet);
        rename(&mut outbox[begin..], NOBODY);
        return put;
    };
    let mut long = statement.long.take_if(|_| runs);
    if !runs || is_refused(packet.payload, statement) {
        let put = put_as_sent(outbox, packet);
        rename(&mut outbox[begin..], instance.id);
        return put;
    }
    let list = statement.list(attributes);
    let number = statement.template.number;
    let has_long = long.is_some();
    if let Some(long) = &mut long {
        name_long_data(long.packets_mut(), instance.id);
    }
    let put = match long {
        // The execution follows it, when the backend has taken all of it.
        Some(long) if long.packets().len() > LARGE => {
            let mut execution = Vec::new();
            let put = put_execution(&mut execution, statement, instance, packet, list, flavor);
            Put {
                last: put.last,
                rest: Some(Rest::behind(long, (execution, put.rest), outbox)),
            }
        }
        long => {
            if let Some(long) = &long {
                outbox.extend_from_slice(long.packets());
            }
            put_execution(outbox, statement, instance, packet, list, flavor)
        }
    };
    backend.statements.long_data_of = has_long.then_some(number);
    put
}

/// True of an execution whose parameters the server does not look at: for several rows (COM_STMT_BULK_EXECUTE) MariaDB
/// executes none of these statements (ERR 1295). In doubt it is not one.
fn is_refused(payload: &[u8], statement: &ClientStatement) -> bool {
    if payload.first() != Some(&(Command::StmtBulkExecute as u8)) {
        return false;
    }
    let meaning = &statement.template.meaning.statement;
    match meaning.kind {
        Kind::Insert | Kind::Replace => meaning.traits.contains(Traits::COUNTS_UNSENT_ROWS),
        Kind::Select | Kind::Set | Kind::Do | Kind::Ddl | Kind::Call => true,
        _ => false,
    }
}

fn put_execution(
    outbox: &mut Vec<u8>,
    statement: &mut ClientStatement,
    instance: &mut Instance,
    packet: Packet<'_>,
    list: ParameterList,
    flavor: Flavor,
) -> Put {
    let begin = outbox.len();
    let mut left_out = None;
    let told = parameter_types(packet.payload, list);
    match &told {
        ParameterTypes::Given(types) => remember(statement, instance, *types),
        ParameterTypes::Omitted if instance.types != statement.types => {
            left_out.clone_from(&statement.types);
        }
        ParameterTypes::Omitted | ParameterTypes::Nothing => {}
    }
    let put = match left_out {
        Some(types) => {
            let with = with_parameter_types(packet.payload, list, &types);
            instance.executed_with(&types, flavor);
            Put::whole(write_packet(outbox, 0, &with).wrapping_sub(1))
        }
        None => {
            // A packet that ends before its types tells none.
            let tells = !matches!(told, ParameterTypes::Nothing);
            if let Some(types) = statement.types.as_ref().filter(|_| tells) {
                instance.executed_with(types, flavor);
            }
            put_as_sent(outbox, packet)
        }
    };
    rename(&mut outbox[begin..], instance.id);
    put
}

/// Remembers the types, in one copy where the sessions agree.
fn remember(statement: &mut ClientStatement, instance: &Instance, types: TypeList<'_>) {
    let known = statement.types.as_deref();
    if known.is_some_and(|known| types.are(known)) {
        return;
    }
    statement.types = match &instance.types {
        Some(known) if types.are(known) => Some(known.clone()),
        _ => Some(types.pairs().flatten().copied().collect()),
    };
}

/// Puts the id of a statement into the commands that bring it long data.
fn name_long_data(mut commands: &mut [u8], id: u32) {
    while let Ok(len) = wire::whole_len(commands) {
        let (command, rest) = commands.split_at_mut(len);
        number_packets(command);
        rename(command, id);
        commands = rest;
    }
}

/// Puts another id into a command.
fn rename(command: &mut [u8], id: u32) {
    if let Some(place) = command.get_mut(ID) {
        place.copy_from_slice(&id.to_le_bytes());
    }
}
