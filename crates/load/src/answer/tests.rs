//! Answers and what is made of them.

use wire::{ErrPacket, encode_eof};

use super::*;
use crate::packets::first_packet;
use crate::workload::Origin;

fn token() -> Token {
    let origin = Origin {
        connection: 1,
        sequence: 2,
    };
    Token { origin, random: 3 }
}

/// A text result set of these rows of one column, as a server with or without EOF packets sends it.
pub(crate) fn result_set(rows: &[Option<&[u8]>], deprecate_eof: bool) -> Vec<u8> {
    let status = wire::ServerStatus::AUTOCOMMIT;
    let mut out = Vec::new();
    let mut id = wire::write_packet(&mut out, 1, b"\x01");
    id = wire::write_packet(&mut out, id, b"\x03defa column definition");
    if !deprecate_eof {
        id = encode_eof(&mut out, id, 0, status);
    }
    for row in rows {
        let mut payload = Vec::new();
        match row {
            Some(value) => wire::put_lenenc_bytes(&mut payload, value),
            None => payload.push(0xfb),
        }
        id = wire::write_packet(&mut out, id, &payload);
    }
    if deprecate_eof {
        wire::write_packet(&mut out, id, b"\xfe\0\0\x02\0\0\0");
    } else {
        encode_eof(&mut out, id, 0, status);
    }
    out
}

fn judged(expectation: Expectation, bytes: &[u8], deprecate_eof: bool) -> String {
    let mut answer = Answer::new(expectation, Form::Text, deprecate_eof);
    let mut rest = bytes;
    while let Some(packet) = first_packet(rest) {
        rest = &rest[packet.len()..];
        match answer.packet(packet) {
            Ok(None) => {}
            Ok(Some(Verdict::Right)) => return "right".to_owned(),
            Ok(Some(Verdict::Prepared(id))) => return format!("statement {id}"),
            Ok(Some(Verdict::Wrong(what))) => return format!("wrong: {what}"),
            Ok(Some(Verdict::Err(ErrPacket { code, .. }))) => return format!("error {code}"),
            Err(error) => return format!("broken: {error}"),
        }
    }
    "incomplete".to_owned()
}

#[test]
fn one_value_is_one_row_of_one_column() {
    for eof in [true, false] {
        let judged =
            |rows: &[Option<&[u8]>]| judged(Expectation::OneValue, &result_set(rows, eof), eof);
        assert_eq!(judged(&[Some(b"x")]), "right");
        assert_eq!(judged(&[Some(b"")]), "right");
        assert_eq!(judged(&[None]), "wrong: NULL");
        assert_eq!(judged(&[]), "wrong: 0 rows and 1 columns, 0 rows changed");
        assert_eq!(
            judged(&[Some(b"x"), Some(b"y")]),
            "wrong: 2 rows and 1 columns, 0 rows changed"
        );
    }
}

#[test]
fn a_token_must_be_the_very_one() {
    let judged = |text: &[u8]| {
        let bytes = result_set(&[Some(text)], true);
        judged(Expectation::Token(token()), &bytes, true)
    };
    assert_eq!(judged(token().text().bytes()), "right");
    assert_eq!(
        judged(b"c1-s3-0000000000000003"),
        "wrong: c1-s3-0000000000000003 instead of c1-s2-0000000000000003"
    );
    assert_eq!(
        judged(b"\n"),
        "wrong: \\n instead of c1-s2-0000000000000003"
    );
}

#[test]
fn other_packets_than_rows() {
    let ok = b"\x07\0\0\x01\0\0\0\x02\0\0\0";
    assert_eq!(judged(Expectation::Pong, ok, true), "right");
    assert_eq!(
        judged(Expectation::OneValue, ok, true),
        "wrong: an OK packet instead of rows"
    );
    let err = b"\x0b\0\0\x01\xff\x15\x04#28000no";
    assert_eq!(judged(Expectation::OneValue, err, true), "error 1045");
    let rows = result_set(&[], true);
    assert_eq!(
        judged(Expectation::Pong, &rows, true),
        "wrong: 0 rows and 1 columns, 0 rows changed"
    );
}

#[test]
fn what_breaks_the_protocol_is_no_answer() {
    let late = b"\x07\0\0\x02\0\0\0\x02\0\0\0";
    assert!(judged(Expectation::Pong, late, true).starts_with("broken: packet 2 came"));
    let file = b"\x05\0\0\x01\xfbfile";
    assert!(judged(Expectation::OneValue, file, true).starts_with("broken: request for"));
    let empty = b"\0\0\0\x01";
    assert!(judged(Expectation::OneValue, empty, true).starts_with("broken: "));
}

#[test]
fn changed_rows_and_ranges_of_rows() {
    let ok = b"\x07\0\0\x01\0\x01\0\x02\0\0\0";
    assert_eq!(judged(Expectation::Affected(1), ok, true), "right");
    assert_eq!(
        judged(Expectation::Affected(2), ok, true),
        "wrong: 0 rows and 0 columns, 1 rows changed"
    );
    let rows = |n: usize| result_set(&vec![Some(&b"x"[..]); n], true);
    let due = Expectation::Rows { min: 1, max: 2 };
    assert!(judged(due, &rows(0), true).starts_with("wrong"));
    assert_eq!(judged(due, &rows(2), true), "right");
    assert!(judged(due, &rows(3), true).starts_with("wrong"));
    assert!(judged(due, ok, true).starts_with("wrong: an OK packet"));
    assert_eq!(judged(Expectation::Anything, &rows(3), true), "right");
}

fn judged_in(form: Form, expectation: Expectation, packets: &[&[u8]]) -> String {
    let mut answer = Answer::new(expectation, form, true);
    let mut bytes = Vec::new();
    let mut id = 1;
    for packet in packets {
        id = wire::write_packet(&mut bytes, id, packet);
    }
    let mut rest = &bytes[..];
    while let Some(packet) = first_packet(rest) {
        rest = &rest[packet.len()..];
        if let Some(verdict) = answer.packet(packet).unwrap() {
            return format!("{verdict:?}");
        }
    }
    "incomplete".to_owned()
}

#[test]
fn rows_of_the_binary_protocol() {
    let judged = |row: &[u8]| {
        let end = b"\xfe\0\0\x02\0\0\0";
        let packets: [&[u8]; 4] = [b"\x01", b"\x03defa column", row, end];
        judged_in(Form::Binary, Expectation::Token(token()), &packets)
    };
    let text = token().text();
    let mut row = vec![0, 0];
    wire::put_lenenc_bytes(&mut row, text.bytes());
    assert_eq!(judged(&row), "Right");
    assert_eq!(judged(b"\0\x04"), "Wrong(\"NULL\")");
    assert!(judged(b"\0\0\x01x").contains("x instead of c1-s2-"));
}

#[test]
fn a_prepared_statement_has_an_id() {
    let ok = b"\0\x07\0\0\0\0\0\0\0\0\0\0";
    let judged = judged_in(Form::Prepare, Expectation::Prepared, &[ok]);
    assert_eq!(judged, "Prepared(7)");
}
