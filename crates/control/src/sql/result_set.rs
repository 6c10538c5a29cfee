//! Tables as packets of the text protocol.
//!
//! Source: MySQL manual, "Protocol::ColumnDefinition41" and "Text Resultset".

use wire::{
    Capabilities, OkPacket, ServerStatus, encode_eof, put_lenenc_bytes, put_lenenc_int,
    write_packet,
};

use super::stream::Stream;
use crate::tables::{Kind, Row, Value};

/// What a client is told of the session here: no transaction is ever open.
pub(super) const STATUS: ServerStatus = ServerStatus::AUTOCOMMIT;

/// `utf8mb4_general_ci`, and what stands for numbers.
pub(super) const UTF8MB4: u16 = 45;
const BINARY: u16 = 63;

/// A column's type: `MYSQL_TYPE_LONGLONG`, `MYSQL_TYPE_VAR_STRING`.
const LONGLONG: u8 = 8;
const VAR_STRING: u8 = 253;

/// `UNSIGNED_FLAG | BINARY_FLAG | NUM_FLAG`
const NUMBER_FLAGS: u16 = 32 | 128 | 32_768;

/// Begins a result set with columns of these names and kinds.
pub(super) fn begin<'a>(
    stream: &mut Stream,
    client: Capabilities,
    columns: impl ExactSizeIterator<Item = (&'a str, Kind)>,
) {
    let mut payload = Vec::new();
    put_lenenc_int(&mut payload, columns.len() as u64);
    put(stream, &payload);
    for (name, kind) in columns {
        payload.clear();
        column(&mut payload, name, kind);
        put(stream, &payload);
    }
    if !client.contains(Capabilities::DEPRECATE_EOF) {
        stream.sequence_id = encode_eof(&mut stream.out, stream.sequence_id, 0, STATUS);
    }
}

/// One row.
pub(super) fn row(stream: &mut Stream, row: &Row) {
    let mut payload = Vec::new();
    for value in row {
        match value {
            Value::None => payload.push(0xfb),
            Value::Number(number) => {
                put_lenenc_bytes(&mut payload, number.to_string().as_bytes());
            }
            Value::Text(text) => put_lenenc_bytes(&mut payload, text.as_bytes()),
        }
    }
    put(stream, &payload);
}

/// Ends a result set.
pub(super) fn end(stream: &mut Stream, client: Capabilities, warnings: u16) {
    let sequence_id = stream.sequence_id;
    stream.sequence_id = if client.contains(Capabilities::DEPRECATE_EOF) {
        let ok = OkPacket {
            status: STATUS,
            warnings,
            ..OkPacket::default()
        };
        ok.encode(&mut stream.out, sequence_id, 0xfe)
    } else {
        encode_eof(&mut stream.out, sequence_id, warnings, STATUS)
    };
}

fn put(stream: &mut Stream, payload: &[u8]) {
    stream.sequence_id = write_packet(&mut stream.out, stream.sequence_id, payload);
}

fn column(payload: &mut Vec<u8>, name: &str, kind: Kind) {
    for text in ["def", "", "", "", name, ""] {
        put_lenenc_bytes(payload, text.as_bytes());
    }
    let (charset, length, code, flags) = match kind {
        Kind::Number => (BINARY, 20_u32, LONGLONG, NUMBER_FLAGS),
        Kind::Text => (UTF8MB4, 1_024, VAR_STRING, 0),
    };
    // What follows has a fixed length.
    payload.push(12);
    payload.extend_from_slice(&charset.to_le_bytes());
    payload.extend_from_slice(&length.to_le_bytes());
    payload.push(code);
    payload.extend_from_slice(&flags.to_le_bytes());
    payload.extend_from_slice(&[0; 3]);
}
