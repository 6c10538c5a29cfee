//! Answers as packets.

use wire::{
    Capabilities, ErrPacket, OkPacket, PacketWriter, ServerStatus, put_lenenc_bytes,
    put_lenenc_int, write_packet,
};

use super::session::Session;

/// A row, `None` for NULL.
pub(crate) type Row = Vec<Option<String>>;

/// Parameters that each prepared statement has: what is written down of it, and a value.
pub(crate) const PARAMETERS: usize = 2;

/// What a statement comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// No rows.
    Ok { affected_rows: u64, insert_id: u64 },
    /// Rows of text, `None` for NULL.
    Rows(Vec<Row>),
    /// Rows, and then an error in place of the next.
    Broken(Vec<Row>, u16),
    /// An error.
    Err(u16),
    /// Rows of the binary protocol.
    Binary(Vec<Row>),
    /// So many columns, whose rows stay here.
    Cursor(usize),
    /// Rows of a cursor, and whether they were the last.
    Fetched(Vec<Row>, bool),
    /// A statement was prepared.
    Prepared { id: u32, columns: usize },
    /// A file is asked for.
    File(String),
    /// The one packet that COM_SET_OPTION is answered with.
    End,
}

impl Outcome {
    pub(crate) const DONE: Self = Self::Ok {
        affected_rows: 0,
        insert_id: 0,
    };

    /// One row of one column.
    pub(crate) fn value(value: impl Into<String>) -> Self {
        Self::Rows(vec![vec![Some(value.into())]])
    }

    /// One row that says NULL.
    pub(crate) fn null() -> Self {
        Self::Rows(vec![vec![None]])
    }

    /// The packets of the answer, to a peer with CLIENT_DEPRECATE_EOF.
    pub(crate) fn encode(&self, session: &mut Session) -> Vec<u8> {
        let mut out = Vec::new();
        self.put(&mut out, (1, ServerStatus::empty()), session);
        out
    }

    /// Appends the packets of the answer, the first of which has this sequence id; `more` is added
    /// to the status flags. Returns the next sequence id.
    pub(crate) fn put(
        &self,
        out: &mut Vec<u8>,
        (first, more): (u8, ServerStatus),
        session: &mut Session,
    ) -> u8 {
        let status = |session: &Session| session.status() | more | self.flags();
        match self {
            Self::Ok {
                affected_rows,
                insert_id,
            } => {
                let ok = OkPacket {
                    affected_rows: *affected_rows,
                    last_insert_id: *insert_id,
                    status: status(session),
                    ..OkPacket::default()
                };
                put_ok(out, (first, 0x00), ok, session)
            }
            Self::Rows(_) | Self::Binary(_) | Self::Cursor(_) | Self::Fetched(..) | Self::End => {
                let next = self.put_rows(out, first, session);
                let ok = OkPacket {
                    status: status(session),
                    ..OkPacket::default()
                };
                put_ok(out, (next, 0xfe), ok, session)
            }
            Self::Broken(rows, code) => {
                let next = put_rows(out, first, rows, session.results_collation());
                put_err(out, next, *code)
            }
            Self::Err(code) => put_err(out, first, *code),
            Self::Prepared { id, columns } => put_prepared(out, first, (*id, *columns), session),
            Self::File(name) => {
                let payload = [&[0xfb], name.as_bytes()].concat();
                write_packet(out, first, &payload)
            }
        }
    }

    /// What its last packet says besides what the session is in.
    pub(crate) fn flags(&self) -> ServerStatus {
        match self {
            Self::Cursor(_) | Self::Fetched(_, false) => ServerStatus::CURSOR_EXISTS,
            Self::Fetched(_, true) => ServerStatus::LAST_ROW_SENT,
            _ => ServerStatus::empty(),
        }
    }

    /// Everything up to the packet that ends the rows.
    fn put_rows(&self, out: &mut Vec<u8>, first: u8, session: &Session) -> u8 {
        let collation = session.results_collation();
        match self {
            Self::Rows(rows) => put_rows(out, first, rows, collation),
            Self::Binary(rows) => {
                let next = put_columns(out, first, rows.first().map_or(1, Vec::len), collation);
                put_binary_rows(out, next, rows)
            }
            Self::Cursor(columns) => put_columns(out, first, *columns, collation),
            Self::Fetched(rows, _) => put_binary_rows(out, first, rows),
            _ => first,
        }
    }
}

/// Appends an ERR packet.
pub(crate) fn put_err(out: &mut Vec<u8>, sequence_id: u8, code: u16) -> u8 {
    let err = ErrPacket {
        code,
        sql_state: b"HY000",
        message: b"told by the simulated database",
    };
    err.encode(out, sequence_id, Capabilities::PROTOCOL_41)
}

fn put_ok(
    out: &mut Vec<u8>,
    (sequence_id, header): (u8, u8),
    ok: OkPacket<'_>,
    session: &mut Session,
) -> u8 {
    let changes = session.take_changes();
    let ok = OkPacket {
        warnings: session.warned,
        state_changes: &changes,
        ..ok
    };
    ok.encode(out, sequence_id, header)
}

/// Source: "COM_STMT_PREPARE Response" in the MySQL manual.
fn put_prepared(
    out: &mut Vec<u8>,
    first: u8,
    (id, columns): (u32, usize),
    session: &Session,
) -> u8 {
    let mut payload = vec![0];
    payload.extend_from_slice(&id.to_le_bytes());
    payload.extend_from_slice(&(columns as u16).to_le_bytes());
    payload.extend_from_slice(&(PARAMETERS as u16).to_le_bytes());
    payload.extend_from_slice(&[0, 0, 0]);
    let mut next = write_packet(out, first, &payload);
    for definition in 0..PARAMETERS + columns {
        let name = format!("definition{definition}");
        next = put_column(out, next, &name, session.results_collation());
    }
    next
}

/// Source: "Binary Protocol Resultset Row" in the MySQL manual. All values are strings.
fn put_binary_rows(out: &mut Vec<u8>, first: u8, rows: &[Row]) -> u8 {
    let mut next = first;
    for row in rows {
        let mut payload = vec![0, 0];
        for (column, value) in row.iter().enumerate() {
            match value {
                Some(value) => put_lenenc_bytes(&mut payload, value.as_bytes()),
                None => payload[1] |= 1 << (column + 2),
            }
        }
        next = write_packet(out, next, &payload);
    }
    next
}

fn put_columns(out: &mut Vec<u8>, first: u8, columns: usize, collation: u16) -> u8 {
    let mut count = Vec::new();
    put_lenenc_int(&mut count, columns as u64);
    let mut next = write_packet(out, first, &count);
    for column in 0..columns {
        next = put_column(out, next, &format!("column{column}"), collation);
    }
    next
}

fn put_rows(out: &mut Vec<u8>, first: u8, rows: &[Row], collation: u16) -> u8 {
    let mut next = put_columns(out, first, rows.first().map_or(1, Vec::len), collation);
    for row in rows {
        let mut payload = Vec::new();
        for value in row {
            match value {
                Some(value) => put_lenenc_bytes(&mut payload, value.as_bytes()),
                None => payload.push(0xfb),
            }
        }
        next = write_packet(out, next, &payload);
    }
    next
}

fn put_column(out: &mut Vec<u8>, sequence_id: u8, name: &str, collation: u16) -> u8 {
    const VAR_STRING: u8 = 0xfd;
    let mut packet = PacketWriter::begin(out, sequence_id);
    let payload = packet.payload();
    for part in ["def", "", "", "", name, ""] {
        put_lenenc_bytes(payload, part.as_bytes());
    }
    payload.push(0x0c);
    payload.extend_from_slice(&collation.to_le_bytes());
    payload.extend_from_slice(&1024_u32.to_le_bytes());
    payload.push(VAR_STRING);
    payload.extend_from_slice(&[0; 5]);
    packet.finish()
}
