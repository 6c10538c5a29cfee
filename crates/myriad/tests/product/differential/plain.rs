//! Answers without what may differ between a session of the database and one of the front door: ids,
//! times, and what `docs/DIFFERENCES.md` lists.

use wire::{Reader, ServerStatus};

use crate::packets::{self, INDEX};
use crate::support::{Answer, Packet, Part, Server};

/// Flags that say how a statement went, not what it did; the one that tells that a statement was prepared anew,
/// which is told per connection of the database; and one that MariaDB leaves on after a procedure that has set
/// `sql_mode` for itself.
const FLAGS: ServerStatus = ServerStatus::QUERY_WAS_SLOW
    .union(ServerStatus::METADATA_CHANGED)
    .union(ServerStatus::ANSI_QUOTES);

/// The same of EOF packets, which cannot say what has changed.
fn eof_flags() -> ServerStatus {
    flags() | ServerStatus::SESSION_STATE_CHANGED
}

/// The flags that may differ. Which index MySQL uses depends on what it has counted meanwhile.
fn flags() -> ServerStatus {
    match Server::is_mariadb() {
        true => FLAGS,
        false => FLAGS | INDEX,
    }
}

/// An answer, a line per packet. `id` is the connection's, if it may be among the values.
pub(super) fn answer(mut answer: Answer, id: Option<u32>) -> Vec<String> {
    answer.ignore_after_columns(INDEX);
    for (part, packet) in &mut answer.packets {
        without_what_differs(*part, packet, id);
    }
    packets::shown(&answer)
}

/// One packet of an answer.
pub(super) fn packet(part: Part, packet: &Packet) -> String {
    let mut packet = packet.clone();
    without_what_differs(part, &mut packet, None);
    packets::plain(part, &packet)
}

fn without_what_differs(part: Part, packet: &mut Packet, id: Option<u32>) {
    let payload = &mut packet.payload;
    match part {
        Part::PrepareOk => payload[1..5].fill(0),
        Part::Text if payload.starts_with(b"Uptime: ") => payload.truncate(b"Uptime: ".len()),
        Part::Err => {
            without_statement_id(payload);
        }
        Part::Ok => without_flags(payload),
        Part::ColumnsEnd => {
            payload[1..3].fill(0);
            clear(&mut payload[3..5], eof_flags());
        }
        Part::RowsEnd if payload.len() == 5 => clear(&mut payload[3..5], eof_flags()),
        Part::RowsEnd => without_flags(payload),
        Part::Row => {
            without_estimates(payload);
            if let Some((from, longer)) = without_statement_id(payload) {
                // The message of SHOW WARNINGS, behind its length.
                payload[from - 1] = payload[from - 1].wrapping_add_signed(longer);
            }
            let digits = id.map(|id| id.to_string());
            if let Some(digits) = digits {
                let len = u8::try_from(digits.len()).unwrap();
                replace(payload, &[&[len], digits.as_bytes()].concat(), b"\x02id");
            }
        }
        _ => {}
    }
}

/// What MySQL thinks that a plan costs depends on what it has counted meanwhile: only the beginning of the plan is
/// compared.
fn without_estimates(payload: &mut Vec<u8>) {
    let find = |wanted: &[u8]| {
        payload
            .windows(wanted.len())
            .position(|part| part == wanted)
    };
    if let (Some(from), Some(to)) = (find(b"-> "), find(b"  (cost=")) {
        *payload = payload.get(from..to).unwrap_or_default().to_vec();
    }
}

/// Ids of prepared statements are the front door's own, also in the text that says that there is none: where that text
/// begins, and by how much it is longer now.
fn without_statement_id(payload: &mut Vec<u8>) -> Option<(usize, i8)> {
    const ID: &[u8; 2] = b"id";
    const BEFORE: [&[u8]; 2] = [b"Unknown prepared statement handler (", b"The statement ("];
    let (begin, from) = BEFORE.iter().find_map(|before| {
        let mut windows = payload.windows(before.len());
        let begin = windows.position(|part| part == *before)?;
        Some((begin, begin + before.len()))
    })?;
    let digits = payload[from..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    let digits = digits.count();
    payload.splice(from..from + digits, *ID);
    Some((begin, ID.len() as i8 - digits as i8))
}

fn without_flags(payload: &mut [u8]) {
    let mut reader = Reader::new(&payload[1..]);
    for field in ["affected rows", "last insert id"] {
        reader.lenenc_int(field).unwrap();
    }
    let at = payload.len() - reader.rest().len();
    clear(&mut payload[at..at + 2], flags());
}

fn clear(bytes: &mut [u8], flags: ServerStatus) {
    let status = ServerStatus::from_bits_retain(u16::from_le_bytes([bytes[0], bytes[1]]));
    bytes.copy_from_slice(&(status - flags).bits().to_le_bytes());
}

fn replace(payload: &mut Vec<u8>, old: &[u8], new: &[u8]) {
    let found = payload.windows(old.len()).position(|part| part == old);
    if let Some(at) = found {
        payload.splice(at..at + old.len(), new.iter().copied());
    }
}

#[test]
fn ids_and_passing_flags_are_taken_out_and_nothing_else() {
    let told = |part, payload: &[u8], id| {
        let payload = payload.to_vec();
        let mut packet = Packet {
            sequence_id: 1,
            payload,
        };
        without_what_differs(part, &mut packet, id);
        packet.payload
    };
    let same = |part, payload: &[u8]| assert_eq!(told(part, payload, None), payload);
    let error = b"\xff\xdb\x04#HY000Unknown prepared statement handler (1073) given to x";
    assert!(told(Part::Err, error, None).ends_with(b"handler (id) given to x"));
    let error = b"\xff\x8d\x05#HY000The statement (2) has no open cursor.";
    assert!(told(Part::Err, error, None).ends_with(b"(id) has no open cursor."));
    same(Part::Err, b"\xff\xdb\x04#HY000something (1073)");
    let row = b"\x05Error\x041421&The statement (872) has no open cursor";
    let plain = b"\x05Error\x041421%The statement (id) has no open cursor";
    assert_eq!(told(Part::Row, row, None), plain);
    assert_eq!(
        told(Part::PrepareOk, &[0, 7, 7, 7, 7, 1, 0, 2, 0, 0, 0, 0], None),
        [0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0]
    );
    assert_eq!(told(Part::Row, b"\x0273\x0173", Some(73)), b"\x02id\x0173");
    same(Part::Row, b"\x0273");
    same(Part::Row, b"\x07(cost=1");
    let plan = b"\x29-> Table scan on t  (cost=0.55 rows=3)";
    assert_eq!(told(Part::Row, plan, None), b"-> Table scan on t");
    assert_eq!(
        told(Part::Ok, &[0, 252, 9, 9, 0, 3, 0x0c, 1, 0], None),
        [0, 252, 9, 9, 0, 3, 0, 1, 0]
    );
    assert_eq!(
        told(Part::RowsEnd, &[0xfe, 1, 0, 3, 8], None),
        [0xfe, 1, 0, 3, 0]
    );
}
