//! Answers: walked over however they are cut, translated, and their OK and ERR packets written again.

use wire::{
    Capabilities, ClientDialect, ErrPacket, HEADER_LEN, OkPacket, Piece, ResponseWalk,
    ServerStatus, StateChange, TextResultSet, Told, Translation,
};

use crate::{Kept, all, each};

/// Whether the backend left EOF packets out, by the name of the file.
pub(crate) fn deprecate_eof(kept: &Kept) -> bool {
    !kept.name.ends_with("_old")
}

/// The pieces of an answer that comes in these parts: what each is, and its bytes.
fn walk(parts: &[&[u8]], deprecate_eof: bool) -> Vec<(&'static str, Vec<u8>)> {
    let mut walk = ResponseWalk::new(deprecate_eof, 0);
    let mut pieces: Vec<(&'static str, Vec<u8>)> = Vec::new();
    let mut pending: Vec<u8> = Vec::new();
    for part in parts {
        pending.extend_from_slice(part);
        let mut at = 0;
        while let Some(piece) = walk.next(&pending[at..]).unwrap() {
            at += piece.bytes().len();
            match (piece, pieces.last_mut()) {
                (Piece::Rest(bytes), Some((_, begun))) => begun.extend_from_slice(bytes),
                _ => pieces.push((name(&piece), piece.bytes().to_vec())),
            }
        }
        pending.drain(..at);
    }
    assert!(walk.is_done() && pending.is_empty());
    pieces
}

/// In a word.
pub(crate) fn name(piece: &Piece<'_>) -> &'static str {
    match piece {
        Piece::ColumnCount(_) => "count",
        Piece::Column(_) => "column",
        Piece::ColumnsEnd(_) => "columns end",
        Piece::Row(_) => "row",
        Piece::Continuation(_) => "continuation",
        Piece::Rest(_) => "rest",
        Piece::Ok(_) => "ok",
        Piece::RowsEnd(_) => "rows end",
        Piece::Err(_) => "err",
        Piece::Progress(_) => "progress",
        Piece::LocalInfile(_) => "local infile",
        Piece::PrepareOk(_) => "prepared",
        Piece::Text(_) => "text",
    }
}

#[test]
fn the_walk_finds_the_same_however_an_answer_is_cut() {
    for kept in all("answer_") {
        let (bytes, modern) = (&kept.golden.bytes[..], deprecate_eof(&kept));
        let whole = walk(&[bytes], modern);
        let single: Vec<&[u8]> = bytes.chunks(1).take(2_000).collect();
        let rest = &bytes[single.len()..];
        assert_eq!(walk(&[&single[..], &[rest]].concat(), modern), whole);
        // Long values are the same over and over.
        let step = bytes.len() / 3_000 + 1;
        for cut in (0..bytes.len()).step_by(step) {
            let (a, b) = bytes.split_at(cut);
            assert_eq!(walk(&[a, b], modern), whole, "{} at {cut}", kept.name);
        }
    }
}

#[test]
fn the_shapes_of_answers() {
    let expected = [
        ("ok", "ok"),
        ("err", "err"),
        ("no_rows", "count column columns end rows end"),
        ("warnings", "count column columns end row rows end"),
        ("err_amid_rows", "count column column columns end row err"),
        (
            "several",
            "count column columns end row rows end ok count column column columns end row rows end",
        ),
        ("several_err", "count column columns end row rows end err"),
        (
            "execute",
            "count column column column column columns end row row row row rows end",
        ),
    ];
    for (name, expected) in expected {
        for suffix in ["", "_old"] {
            for kept in each(&format!("answer_{name}{suffix}")) {
                let pieces = walk(&[&kept.golden.bytes], deprecate_eof(&kept));
                let names: Vec<_> = pieces.iter().map(|(name, _)| *name).collect();
                assert_eq!(names.join(" "), expected, "{} {}", kept.server, kept.name);
            }
        }
    }
}

#[test]
fn ok_and_err_packets_survive_a_round_trip() {
    for kept in all("answer_") {
        let modern = deprecate_eof(&kept);
        for (name, packet) in walk(&[&kept.golden.bytes], modern) {
            let (payload, sequence_id) = (packet.get(HEADER_LEN..), packet.get(3).copied());
            let (payload, sequence_id) = (payload.unwrap_or(b""), sequence_id.unwrap_or(0));
            let mut again = Vec::new();
            match name {
                "ok" => OkPacket::parse(payload)
                    .unwrap()
                    .encode(&mut again, sequence_id, 0x00),
                "rows end" if modern => {
                    OkPacket::parse(payload)
                        .unwrap()
                        .encode(&mut again, sequence_id, 0xfe)
                }
                "err" => {
                    let err = ErrPacket::parse(payload).unwrap();
                    err.encode(&mut again, sequence_id, Capabilities::PROTOCOL_41)
                }
                _ => continue,
            };
            assert_eq!(again, packet, "{} {}", kept.server, kept.name);
        }
    }
}

/// The same statement was asked by a client of old and one of today.
#[test]
fn what_an_old_client_is_told_is_what_the_server_tells_it() {
    for kept in all("answer_").into_iter().filter(deprecate_eof) {
        let name = format!("{}_old", kept.name);
        let mut old = each(&name);
        old.retain(|old| old.server == kept.server);
        let told = translate(&kept.golden.bytes, ClientDialect::default());
        let expected = comparable(&old[0].golden.bytes);
        let server = kept.server;
        assert_eq!(comparable(&told), expected, "{server} {name}: ours left");
        let all = ClientDialect {
            deprecate_eof: true,
            session_track: true,
            cache_metadata: false,
        };
        assert_eq!(translate(&kept.golden.bytes, all), kept.golden.bytes);
    }
}

/// An answer in the old form without the flags that may differ, as `docs/DIFFERENCES.md` says. The index
/// flags in the EOF packet before rows are not known where an ERR packet ends them. MariaDB says in EOF
/// packets that the state changed, to clients that cannot be told how; nobody makes use of that.
fn comparable(answer: &[u8]) -> Vec<u8> {
    let mut pieces = walk(&[answer], false);
    for (name, packet) in &mut pieces {
        let differs = match *name {
            "columns end" => ServerStatus::SESSION_STATE_CHANGED | ServerStatus::NO_INDEX_USED,
            "rows end" => ServerStatus::SESSION_STATE_CHANGED,
            _ => continue,
        };
        let flags = packet.last_chunk_mut().unwrap();
        let status = ServerStatus::from_bits_retain(u16::from_le_bytes(*flags));
        *flags = (status - differs).bits().to_le_bytes();
    }
    pieces.into_iter().flat_map(|(_, bytes)| bytes).collect()
}

fn translate(answer: &[u8], client: ClientDialect) -> Vec<u8> {
    let (mut walk, mut translation) = (ResponseWalk::new(true, 0), Translation::new(client, 0));
    let (mut at, mut out) = (0, Vec::new());
    while let Some(piece) = walk.next(&answer[at..]).unwrap() {
        at += piece.bytes().len();
        let state_changes = match piece {
            Piece::Ok(_) | Piece::RowsEnd(_) => {
                OkPacket::parse(piece.payload()).unwrap().state_changes
            }
            _ => b"",
        };
        let told = Told {
            state_changes,
            next_sequence_id: walk.next_sequence_id(),
            status: ServerStatus::AUTOCOMMIT,
            ..Told::default()
        };
        translation.piece(&piece, &told, &mut out).unwrap();
    }
    out
}

#[test]
fn session_track_blocks() {
    for kept in each("answer_use") {
        assert!(changes(&kept).contains(&"schema golden".to_owned()));
    }
    for kept in each("answer_variables") {
        let changes = changes(&kept);
        for expected in ["time_zone=+01:00", "autocommit=OFF"] {
            assert!(changes.contains(&expected.to_owned()), "{changes:?}");
        }
    }
    for (name, expected) in [
        ("begin", "transaction T_______"),
        ("in_transaction", "transaction T_R___S_"),
        ("commit", "transaction ________"),
    ] {
        for kept in each(&format!("answer_{name}")) {
            let changes = changes(&kept);
            assert!(changes.contains(&expected.to_owned()), "{name} {changes:?}");
        }
    }
}

/// What the last packet of an answer tells, in words.
fn changes(kept: &Kept) -> Vec<String> {
    let packets = kept.golden.packets();
    let ok = OkPacket::parse(&packets[packets.len() - 1][HEADER_LEN..]).unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let told = ok.changes().map(|change| match change {
        StateChange::SystemVariable { name, value } => format!("{}={}", text(name), text(value)),
        StateChange::Schema(name) => format!("schema {}", text(name)),
        StateChange::State => "state".to_owned(),
        StateChange::Other => "other".to_owned(),
        StateChange::TransactionCharacteristics(begin) => format!("begin {}", text(begin)),
        StateChange::TransactionState(state) => format!("transaction {}", text(state)),
    });
    told.collect()
}

#[test]
fn values_of_rows() {
    for suffix in ["", "_old"] {
        for kept in each(&format!("answer_rows{suffix}")) {
            let rows = rows(&kept);
            let null = None;
            let first = [
                Some("1"),
                Some("one"),
                Some("5"),
                Some("2025-01-02 03:04:05.678"),
            ];
            assert_eq!(rows[0], first.map(|value| value.map(str::to_owned)));
            assert_eq!((&rows[1][1], &rows[2][1]), (&Some(String::new()), &null));
        }
        for kept in each(&format!("answer_long_values{suffix}")) {
            let values = &rows(&kept)[0];
            let lengths: Vec<_> = values.iter().flatten().map(String::len).collect();
            assert_eq!(lengths, [250, 251, 70_000]);
        }
    }
}

fn rows(kept: &Kept) -> Vec<Vec<Option<String>>> {
    let mut walk = ResponseWalk::new(deprecate_eof(kept), 0);
    let (mut at, mut rows) = (0, TextResultSet::default());
    while let Some(piece) = walk.next(&kept.golden.bytes[at..]).unwrap() {
        at += piece.bytes().len();
        rows.piece(&piece).unwrap();
    }
    let text =
        |value: &Option<Vec<u8>>| value.clone().map(|value| String::from_utf8(value).unwrap());
    rows.rows()
        .map(|row| row.iter().map(text).collect())
        .collect()
}

#[test]
fn a_request_for_a_file_leaves_the_answer_open() {
    for suffix in ["", "_old"] {
        let requests = each(&format!("local_infile{suffix}"));
        let ends = each(&format!("local_infile_end{suffix}"));
        for (request, end) in requests.iter().zip(&ends) {
            let mut walk = ResponseWalk::new(deprecate_eof(request), 0);
            let piece = walk.next(&request.golden.bytes).unwrap();
            assert!(matches!(piece, Some(Piece::LocalInfile(_))) && !walk.is_done());
            assert_eq!(request.golden.payload(), b"\xfbgolden.txt");
            // The file was empty: its one packet had this id.
            walk.file_sent(2);
            let piece = walk.next(&end.golden.bytes).unwrap();
            assert!(matches!(piece, Some(Piece::Ok(_))) && walk.is_done());
        }
    }
}

/// It reads as an ERR packet with a number that no error has, and ends nothing.
#[test]
fn a_progress_report_is_no_end_of_an_answer() {
    for kept in each("progress") {
        let err = ErrPacket::parse(kept.golden.payload()).unwrap();
        assert_eq!(err.code, 0xffff);
        let mut walk = ResponseWalk::new(true, 0);
        let piece = walk.next(&kept.golden.bytes).unwrap();
        assert!(matches!(piece, Some(Piece::Progress(_))) && !walk.is_done());
    }
}
