//! The walk over answers, cut at every byte.

use super::*;
use crate::ok::encode_eof;
use crate::packet::{PacketWriter, write_packet};

#[derive(Default)]
struct Answer(Vec<u8>, u8);

impl Answer {
    fn new() -> Self {
        Self(Vec::new(), 1)
    }
    fn packet(mut self, payload: &[u8]) -> Self {
        self.1 = write_packet(&mut self.0, self.1, payload);
        self
    }
    fn ok(mut self, header: u8, more: bool) -> Self {
        let mut status = ServerStatus::AUTOCOMMIT;
        status.set(ServerStatus::MORE_RESULTS_EXISTS, more);
        self.1 = OkPacket {
            status,
            ..OkPacket::default()
        }
        .encode(&mut self.0, self.1, header);
        self
    }
    fn eof(mut self, status: ServerStatus) -> Self {
        self.1 = encode_eof(&mut self.0, self.1, 0, status);
        self
    }
}

/// Names of the pieces, `Rest` left out, with the input handed over in parts of `step` bytes. They are the same
/// whether rows are taken one by one or as many as there are.
fn walk(answer: &[u8], deprecate_eof: bool, step: usize) -> Result<Vec<&'static str>, WalkError> {
    let one_by_one = walk_by(answer, deprecate_eof, (step, false));
    let in_runs = walk_by(answer, deprecate_eof, (step, true));
    assert_eq!(one_by_one, in_runs);
    in_runs
}

fn walk_by(
    answer: &[u8],
    deprecate_eof: bool,
    (step, in_runs): (usize, bool),
) -> Result<Vec<&'static str>, WalkError> {
    let mut walk = ResponseWalk::new(deprecate_eof, 0);
    let (mut pending, mut names) = (Vec::new(), Vec::new());
    let mut relayed = 0;
    for part in answer.chunks(step) {
        pending.extend_from_slice(part);
        let mut at = 0;
        while let Some(piece) = walk.next(&pending[at..])? {
            at += piece.bytes().len();
            names.push(name(&piece));
            if in_runs && matches!(piece, Piece::Row(_)) {
                let (rows, count) = walk.rows(&pending[at..]);
                at += rows.len();
                names.extend((0..count).map(|_| "row"));
            }
        }
        relayed += at;
        pending.drain(..at);
    }
    assert!(walk.is_done() && pending.is_empty() && relayed == answer.len());
    names.retain(|&name| name != "rest");
    Ok(names)
}

fn name(piece: &Piece<'_>) -> &'static str {
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
        Piece::PrepareOk(_) => "prepare ok",
        Piece::Text(_) => "text",
    }
}

fn assert_walk(answer: &[u8], deprecate_eof: bool, expected: &[&str]) {
    for step in 1..=answer.len() {
        assert_eq!(
            walk(answer, deprecate_eof, step).as_deref(),
            Ok(expected),
            "step {step}"
        );
    }
}

#[test]
fn each_shape_of_answer_cut_at_every_byte() {
    let ok = Answer::new().ok(0x00, false);
    assert_walk(&ok.0, true, &["ok"]);
    let err = Answer::new().packet(b"\xff\x48\x04#HY000no");
    assert_walk(&err.0, true, &["err"]);
    let reported = Answer::new()
        .packet(b"\xff\xff\xff\x01\x02\x02\0\0\0\x05stage")
        .ok(0x00, false);
    assert_walk(&reported.0, true, &["progress", "ok"]);
    let rows = Answer::new()
        .packet(b"\x02")
        .packet(b"def")
        .packet(b"def")
        .packet(b"\x01a\xfb");
    let rows = rows.packet(b"\x00\x00").ok(0xfe, false);
    assert_walk(
        &rows.0,
        true,
        &[
            "count",
            "column",
            "column",
            "columns end",
            "row",
            "row",
            "rows end",
        ],
    );
    let broken = Answer::new()
        .packet(b"\x01")
        .packet(b"def")
        .packet(b"\x01a")
        .packet(b"\xff\x25\x05x");
    assert_walk(
        &broken.0,
        true,
        &["count", "column", "columns end", "row", "err"],
    );
}

#[test]
fn an_error_with_the_number_of_a_progress_report_is_one() {
    let error = Answer::new().packet(b"\xff\xff\xff#45000told");
    assert_walk(&error.0, true, &["err"]);
}

#[test]
fn eof_style_and_several_results() {
    let plain = ServerStatus::AUTOCOMMIT;
    let more = plain | ServerStatus::MORE_RESULTS_EXISTS;
    let answer = Answer::new()
        .packet(b"\x01")
        .packet(b"def")
        .eof(plain)
        .packet(b"\x011");
    let answer = answer
        .eof(more)
        .ok(0x00, true)
        .packet(b"\x01")
        .packet(b"def")
        .eof(plain)
        .eof(plain);
    assert_walk(
        &answer.0,
        false,
        &[
            "count",
            "column",
            "columns end",
            "row",
            "rows end",
            "ok",
            "count",
            "column",
            "columns end",
            "rows end",
        ],
    );
}

#[test]
fn a_row_over_16_mib_is_one_row() {
    let mut long = vec![0xfe; MAX_PAYLOAD + 10];
    long[1..9].copy_from_slice(&(MAX_PAYLOAD as u64 + 1).to_le_bytes());
    let answer = Answer::new()
        .packet(b"\x01")
        .packet(b"def")
        .packet(&long)
        .ok(0xfe, false);
    let expected = [
        "count",
        "column",
        "columns end",
        "row",
        "continuation",
        "rows end",
    ];
    assert_eq!(walk(&answer.0, true, 1 << 16).as_deref(), Ok(&expected[..]));
    let exact = Answer::new()
        .packet(b"\x01")
        .packet(b"def")
        .packet(&long[..MAX_PAYLOAD]);
    let exact = exact.ok(0xfe, false);
    assert_eq!(walk(&exact.0, true, 1 << 20).as_deref(), Ok(&expected[..]));
}

#[test]
fn packets_out_of_order_or_after_the_end_are_errors() {
    let mut answer = Answer::new().ok(0x00, false).0;
    assert_eq!(
        ResponseWalk::new(true, 3).next(&answer),
        Err(WalkError::OutOfOrder { due: 4, found: 1 })
    );
    let mut walk = ResponseWalk::new(true, 0);
    assert!(matches!(walk.next(&answer), Ok(Some(Piece::Ok(_)))));
    assert_eq!(walk.next(&[]), Ok(None));
    answer[3] = 2;
    assert_eq!(walk.next(&answer), Err(WalkError::AfterEnd));
}

#[test]
fn an_empty_packet_is_no_response() {
    let mut out = Vec::new();
    PacketWriter::begin(&mut out, 1).finish();
    assert!(ResponseWalk::new(true, 0).next(&out).is_err());
}

#[test]
fn an_empty_packet_is_no_row_whatever_follows_it() {
    let answer = Answer::new().packet(b"\x01").packet(b"def").packet(b"");
    let answer = answer.ok(0xfe, false).0;
    for step in 1..=answer.len() {
        let mut walk = ResponseWalk::new(true, 0);
        let (mut at, mut end) = (0, 0);
        let error = loop {
            match walk.next(&answer[at..end]) {
                Ok(Some(piece)) => at += piece.bytes().len(),
                Ok(None) => end = (end + step).min(answer.len()),
                Err(error) => break error,
            }
        };
        assert_eq!(error, Malformed::Truncated("row").into(), "step {step}");
    }
}

#[test]
fn definitions_that_are_left_out_are_not_waited_for() {
    let plain = ServerStatus::AUTOCOMMIT;
    for (marker, definitions) in [(1, &["column", "column"][..]), (0, &[])] {
        let begin = || {
            let answer = Answer::new().packet(&[2, marker]);
            definitions
                .iter()
                .fold(answer, |answer, _| answer.packet(b"def"))
        };
        let expected = [&["count"], definitions, &["columns end", "row", "rows end"]].concat();
        let rows = begin().packet(b"\x00\x01a").ok(0xfe, false);
        assert_walk(&rows.0, true, &expected);
        let rows = begin().eof(plain).packet(b"\x00\x01a").eof(plain);
        assert_walk(&rows.0, false, &expected);
    }
}

#[test]
fn a_preparation_without_definitions_ends_without_them() {
    let plain = ServerStatus::AUTOCOMMIT;
    let told = |columns, parameters, marker| {
        Answer::new().packet(&[0, 7, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0, marker])
    };
    for (columns, parameters) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let ends = usize::from(columns + parameters);
        let mut expected = vec!["prepare ok"];
        expected.resize(1 + ends, "columns end");
        let short = told(columns, parameters, 0);
        let long = (0..ends).fold(told(columns, parameters, 0), |answer, _| answer.eof(plain));
        for (answer, deprecate_eof) in [(short, true), (long, false)] {
            let mut walk = ResponseWalk::shaped(Shape::Prepare, deprecate_eof, 0);
            let (mut at, mut names) = (0, Vec::new());
            while let Some(piece) = walk.next(&answer.0[at..]).unwrap() {
                at += piece.bytes().len();
                names.push(name(&piece));
            }
            assert_eq!(names, expected, "{columns} {parameters} {deprecate_eof}");
            assert!(walk.is_done() && at == answer.0.len());
        }
    }
    let full = told(1, 0, 1).packet(b"def");
    let mut walk = ResponseWalk::shaped(Shape::Prepare, true, 0);
    let first = walk.next(&full.0).unwrap().unwrap();
    let second = walk.next(&full.0[first.bytes().len()..]).unwrap().unwrap();
    assert_eq!((name(&first), name(&second)), ("prepare ok", "column"));
}

/// A server that has read enough of a long command says so before it has read all of it.
#[test]
fn an_error_may_come_before_the_last_packet_of_a_command_was_read() {
    let refused = b"\x03\x00\x00\x02\xff\x81\x04";
    let mut walk = ResponseWalk::new(true, 3);
    assert_eq!(walk.next(refused), Ok(Some(Piece::Err(refused))));
    assert!(walk.is_done());
    // Nothing else may, nor behind something.
    let ok = b"\x07\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00";
    let mut walk = ResponseWalk::new(true, 3);
    assert_eq!(
        walk.next(ok),
        Err(WalkError::OutOfOrder { due: 4, found: 2 })
    );
    let mut walk = ResponseWalk::new(true, 0);
    assert_eq!(
        walk.next(b"\x01\x00\x00\x01\x01")
            .map(|piece| piece.is_some()),
        Ok(true)
    );
    let late = b"\x03\x00\x00\x01\xff\x81\x04";
    assert_eq!(
        walk.next(late),
        Err(WalkError::OutOfOrder { due: 2, found: 1 })
    );
}
