//! From what the backend says to what the client negotiated: sequence ids, both ways of ending
//! result sets, session-track blocks.
//!
//! Rows and column definitions are copied as they are; only the sequence id in their header
//! changes, and only for clients to which an EOF packet more is told than the backend sent.

use std::num::NonZeroUsize;

use crate::ok::encode_eof;
use crate::packet::{HEADER_LEN, Header};
use crate::response::Piece;
use crate::status::ServerStatus;
use crate::{Definitions, Fingerprint, Malformed, OkPacket};

/// Stands behind the number of columns.
const DEFINITIONS_FOLLOW: u8 = 1;

/// What decides how a client is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientDialect {
    /// CLIENT_DEPRECATE_EOF.
    pub deprecate_eof: bool,
    /// CLIENT_SESSION_TRACK.
    pub session_track: bool,
    /// MARIADB_CLIENT_CACHE_METADATA: the number of columns is followed by a byte that says whether their
    /// definitions follow. Backends never negotiate it: they always send them.
    pub cache_metadata: bool,
}

/// The translation of one answer of a backend that negotiated CLIENT_DEPRECATE_EOF and
/// CLIENT_SESSION_TRACK.
#[derive(Clone, Debug)]
pub struct Translation {
    dialect: ClientDialect,
    /// The client's sequence ids minus the backend's.
    offset: u8,
    /// Where in the output the status flags stand of the EOF packet that follows the column
    /// definitions, as long as that output is at hand.
    eof_status_at: Option<usize>,
    /// The server tells columns before it opens any table: a transaction may begin only behind them.
    columns_first: bool,
    /// A cursor was asked for: whether the rows follow at once is known with the next piece only.
    cursor: bool,
    /// The EOF packet after the column definitions is held back for that reason.
    held_back: bool,
    /// What the client has of the column definitions that it keeps, if it keeps any.
    kept: Option<Kept>,
}

/// The column definitions of an execution, which are taken back if the client has them.
#[derive(Clone, Debug)]
struct Kept {
    /// Those that the client has.
    known: Option<Fingerprint>,
    definitions: Definitions,
    /// Where in the output the number of columns ends, as long as that output is at hand.
    count_end: Option<NonZeroUsize>,
    columns: u8,
}

impl Translation {
    /// The translation of an answer whose first packet the client expects with the sequence id
    /// that the backend gives it plus `offset`.
    pub fn new(dialect: ClientDialect, offset: u8) -> Self {
        Self {
            dialect,
            offset,
            eof_status_at: None,
            columns_first: false,
            cursor: false,
            held_back: false,
            kept: None,
        }
    }

    /// The same for a COM_STMT_EXECUTE that asks for a cursor, of a statement that may open one: if it does, a client
    /// that is told EOF packets gets one in all, with SERVER_STATUS_CURSOR_EXISTS. If it fails instead, the servers
    /// tell the ERR packet behind the columns, and none.
    pub fn with_cursor(mut self) -> Self {
        self.cursor = true;
        self
    }

    /// The same for a statement that opens its tables only when the columns have been told: the flags behind those
    /// are as before it.
    pub fn with_columns_first(mut self) -> Self {
        self.columns_first = true;
        self
    }

    /// The same for an execution of a statement whose column definitions the client keeps: `known` are those
    /// that it has.
    pub fn with_kept(mut self, known: Option<Fingerprint>) -> Self {
        self.kept = Some(Kept {
            known,
            definitions: Definitions::default(),
            count_end: None,
            columns: 0,
        });
        self
    }

    /// The column definitions that the client has after an answer with some; nothing if it keeps none of them.
    pub fn kept(&self) -> Option<Fingerprint> {
        self.kept.as_ref()?.known
    }

    /// Appends what the client is told for `piece`. `state_changes` replaces the session-track
    /// block of an OK packet (empty: none); `status` is where the status flags come from that
    /// stand in an EOF packet behind column definitions, which the backend did not send.
    pub fn piece(
        &mut self,
        piece: &Piece<'_>,
        told: &Told<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        // With rows there is no cursor.
        if self.held_back && matches!(piece, Piece::Row(packet) if !packet.is_empty()) {
            let sequence_id = piece.bytes().get(3).copied().unwrap_or_default();
            self.columns_end(sequence_id, (told.status, told.warnings), out);
        }
        self.take_back(piece, out);
        match piece {
            Piece::ColumnCount(packet) if self.dialect.cache_metadata => self.count(packet, out),
            Piece::Rest(bytes) => out.extend_from_slice(bytes),
            Piece::ColumnsEnd(_) if self.dialect.deprecate_eof => {}
            Piece::ColumnsEnd(_) if self.cursor => self.held_back = true,
            Piece::ColumnsEnd(_) => {
                self.columns_end(told.next_sequence_id, (told.status, told.warnings), out);
            }
            Piece::Ok(packet) => self.ok(packet, 0x00, told, out)?,
            Piece::RowsEnd(packet) if self.dialect.deprecate_eof => {
                self.ok(packet, 0xfe, told, out)?;
            }
            Piece::RowsEnd(packet) => {
                let ok = OkPacket::parse(&packet[HEADER_LEN..])?;
                let status = ok.status - ServerStatus::SESSION_STATE_CHANGED;
                if self.held_back && !status.contains(ServerStatus::CURSOR_EXISTS) {
                    self.columns_end(packet[3], (status, 0), out);
                }
                self.mend_eof(out, status);
                encode_eof(
                    out,
                    packet[3].wrapping_add(self.offset),
                    told.counted.unwrap_or(ok.warnings),
                    status,
                );
            }
            Piece::ColumnCount(packet)
            | Piece::Column(packet)
            | Piece::Row(packet)
            | Piece::Continuation(packet)
            | Piece::Err(packet)
            | Piece::Progress(packet)
            | Piece::PrepareOk(packet)
            | Piece::Text(packet)
            | Piece::LocalInfile(packet) => self.copy(packet, out),
        }
        Ok(())
    }

    /// The same for complete rows that follow a row.
    pub fn rows(&self, rows: &[u8], out: &mut Vec<u8>) {
        let mut at = out.len();
        out.extend_from_slice(rows);
        if self.offset == 0 {
            return;
        }
        while let Some(header) = Header::parse(&out[at..]) {
            out[at + 3] = header.sequence_id.wrapping_add(self.offset);
            at += HEADER_LEN + header.len;
        }
    }

    /// The EOF packet between column definitions and rows; `sequence_id` is the backend's next.
    fn columns_end(
        &mut self,
        sequence_id: u8,
        (status, warnings): (ServerStatus, u16),
        out: &mut Vec<u8>,
    ) {
        encode_eof(out, sequence_id.wrapping_add(self.offset), warnings, status);
        self.offset = self.offset.wrapping_add(1);
        self.eof_status_at = (!self.columns_first).then(|| out.len() - size_of::<u16>());
        self.held_back = false;
    }

    /// The output so far is out of reach: it may have been sent.
    pub fn flushed(&mut self) {
        self.eof_status_at = None;
        if let Some(kept) = &mut self.kept {
            kept.count_end = None;
        }
    }

    /// The packet that the backend will give `backends` as its sequence id is told with `own`.
    pub fn goes_on_at(&mut self, own: u8, backends: u8) {
        self.offset = own.wrapping_sub(backends);
        self.flushed();
    }

    /// The number of columns, and that their definitions follow.
    fn count(&mut self, packet: &[u8], out: &mut Vec<u8>) {
        let begin = out.len();
        self.copy(packet, out);
        out.push(DEFINITIONS_FOLLOW);
        // No number of columns makes that overflow.
        out[begin] = out[begin].wrapping_add(1);
        if let Some(kept) = &mut self.kept {
            (kept.count_end, kept.columns) = (NonZeroUsize::new(out.len()), 0);
        }
    }

    /// Takes definitions back that the client has, once they are complete, if they are still at hand.
    fn take_back(&mut self, piece: &Piece<'_>, out: &mut Vec<u8>) {
        let Some(kept) = &mut self.kept else { return };
        kept.columns = kept
            .columns
            .wrapping_add(u8::from(matches!(piece, Piece::Column(_))));
        let Some(complete) = kept.definitions.piece(piece) else {
            return;
        };
        // Those of a cursor are always told: they are of the table that it reads from.
        let known = kept.known.replace(complete) == Some(complete) && !self.cursor;
        if let Some(end) = kept.count_end.take().filter(|_| known) {
            out.truncate(end.get());
            if let Some(follow) = out.last_mut() {
                *follow = 0;
            }
            self.offset = self.offset.wrapping_sub(kept.columns);
        }
    }

    /// The flags of a statement are known at its end. The EOF packet before its rows has the same
    /// ones; if it is still at hand, it gets them.
    fn mend_eof(&mut self, out: &mut [u8], status: ServerStatus) {
        let at = self.eof_status_at.take();
        if let Some(flags) = at.and_then(|at| out.get_mut(at..at + size_of::<u16>())) {
            flags.copy_from_slice(&status.bits().to_le_bytes());
        }
    }

    fn copy(&self, packet: &[u8], out: &mut Vec<u8>) {
        let header = out.len();
        out.extend_from_slice(packet);
        out[header + 3] = packet[3].wrapping_add(self.offset);
    }

    fn ok(
        &self,
        packet: &[u8],
        header: u8,
        told: &Told<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        let mut ok = OkPacket::parse(&packet[HEADER_LEN..])?;
        let tracked = if self.dialect.session_track {
            told.state_changes
        } else {
            b""
        };
        // A block may be there and be empty: the flag says so.
        let flagged = ok.status.contains(ServerStatus::SESSION_STATE_CHANGED);
        let warnings = told.counted.unwrap_or(ok.warnings);
        let as_it_is = ok.state_changes == tracked && flagged != tracked.is_empty();
        if as_it_is && ok.warnings == warnings {
            self.copy(packet, out);
            return Ok(());
        }
        (ok.state_changes, ok.warnings) = (tracked, warnings);
        ok.encode(out, packet[3].wrapping_add(self.offset), header);
        Ok(())
    }
}

/// What the translation cannot know from the piece alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told<'a> {
    /// The session-track block for a client that asked for one.
    pub state_changes: &'a [u8],
    /// Status flags for an EOF packet that the backend did not send.
    pub status: ServerStatus,
    /// The number of warnings for it.
    pub warnings: u16,
    /// The number that the packet at the end of an answer tells, if that is not its own.
    pub counted: Option<u16>,
    /// The sequence id that the backend's next packet will have.
    pub next_sequence_id: u8,
}

#[cfg(test)]
mod tests;
