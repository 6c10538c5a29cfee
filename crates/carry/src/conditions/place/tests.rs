//! What becomes of a session's list, as a table: the place before, what is done and what is answered, the place after.

use wire::ResponseWalk;

use super::*;

/// The answer to a SHOW WARNINGS with so many errors.
fn shown(errors: usize) -> Vec<u8> {
    let mut payloads: Vec<&[u8]> = vec![&[3], b"\x03def", b"\x03def", b"\x03def"];
    payloads.extend(std::iter::repeat_n(&b"\x05Error\x041649\x02no"[..], errors));
    payloads.push(b"\xfe\x00\x00\x02\x00\x00\x00");
    let packets = (1..).zip(payloads);
    packets
        .flat_map(|(id, payload)| [&[payload.len() as u8, 0, 0, id], payload].concat())
        .collect()
}

/// What a backend told when it was asked for its list.
fn read(adds: bool, errors: usize) -> ReadWarnings {
    let mut read = ReadWarnings::new(adds);
    let (answer, mut at) = (shown(errors), 0);
    let mut walk = ResponseWalk::new(true, 0);
    while let Ok(Some(piece)) = walk.next(&answer[at..]) {
        at += piece.bytes().len();
        read.keep(&piece);
    }
    assert_eq!(at, answer.len());
    read
}

fn err(code: u16, message: &'static [u8]) -> ErrPacket<'static> {
    ErrPacket {
        code,
        sql_state: b"42000",
        message,
    }
}

fn own() -> ClientError {
    ClientError::told(&err(1047, b"Unknown command"))
}

const PLACES: [&str; 7] = ["nowhere", "empty", "known", "more", "there", "again", "own"];

/// Conditions in a place, reached as a session reaches it.
fn at(place: &str) -> Conditions {
    let mut conditions = Conditions::default();
    match place {
        "nowhere" => {}
        "empty" => conditions.answered(Does::Replaces, &OK),
        "there" => conditions.failed(),
        "known" | "more" => {
            conditions.failed();
            assert_eq!(reads(&mut conditions), Some(false));
            conditions.learn(read(false, 1));
            if place == "more" {
                conditions.answered(Does::Adds, &Answer::default());
            }
        }
        "again" => conditions.repeatable(b"SELECT 1/0 FROM t", 1),
        "own" => conditions.refused(own(), false),
        other => panic!("{other}"),
    }
    assert_eq!(name(&conditions), place);
    conditions
}

/// Whether the backend is asked for what came on top of what is known.
fn reads(conditions: &mut Conditions) -> Option<bool> {
    conditions.read().map(|read| read.adds())
}

fn name(conditions: &Conditions) -> &'static str {
    match conditions.place {
        Place::Nowhere => "nowhere",
        Place::Empty => "empty",
        Place::Known(_) => "known",
        Place::More(_) => "more",
        Place::There => "there",
        Place::Again(_) => "again",
        Place::Own(_) => "own",
    }
}

const OK: Answer<'_> = Answer {
    warnings: 0,
    warned: false,
    error: None,
};
const WARNED: Answer<'_> = Answer {
    warnings: 2,
    warned: true,
    error: None,
};

fn failed(code: u16) -> Answer<'static> {
    Answer {
        error: Some(err(code, b"no")),
        ..OK
    }
}

#[test]
fn an_answer_moves_the_list_as_the_server_does() {
    const SAME: [&str; 7] = PLACES;
    const THERE: [&str; 7] = ["there"; 7];
    const EMPTY: [&str; 7] = ["empty"; 7];
    const ADDED: [&str; 7] = ["there", "there", "more", "more", "there", "there", "there"];
    const UNKNOWN_TABLE: u16 = 1146;
    let several = Does::Several { empties: true };
    let several_keep = Does::Several { empties: false };
    for (does, answer, after) in [
        (Does::Replaces, OK, EMPTY),
        (Does::Replaces, WARNED, THERE),
        (Does::Replaces, failed(UNKNOWN_TABLE), THERE),
        (
            Does::Replaces,
            failed(code::TOO_MANY_STATEMENTS),
            ["own"; 7],
        ),
        (Does::Keeps, OK, SAME),
        (Does::Keeps, WARNED, THERE),
        (Does::Keeps, failed(UNKNOWN_TABLE), THERE),
        (
            several,
            OK,
            [
                "nowhere", "empty", "nowhere", "nowhere", "there", "nowhere", "nowhere",
            ],
        ),
        (several, WARNED, THERE),
        (several_keep, OK, SAME),
        (several_keep, failed(UNKNOWN_TABLE), THERE),
        (Does::Asks, OK, SAME),
        (Does::Asks, failed(UNKNOWN_TABLE), THERE),
        (Does::Gets, OK, SAME),
        (Does::Gets, WARNED, ADDED),
        (Does::Gets, failed(code::NOT_STACKED), SAME),
        (Does::Gets, failed(code::NOT_RESIGNALLED), ADDED),
        (Does::Gets, failed(UNKNOWN_TABLE), THERE),
        (Does::Adds, OK, ADDED),
        (Does::Adds, failed(UNKNOWN_TABLE), ADDED),
        (Does::Adds, failed(code::NO_SCHEMA_SELECTED), ADDED),
        (Does::Defines, failed(UNKNOWN_TABLE), ADDED),
        (Does::Defines, failed(code::PARSE_ERROR), THERE),
        (Does::AddsError, OK, SAME),
        (Does::AddsError, WARNED, SAME),
        (
            Does::AddsError,
            failed(UNKNOWN_TABLE),
            ["own", "there", "more", "more", "there", "there", "there"],
        ),
        (Does::Tells, OK, SAME),
        (Does::Tells, WARNED, SAME),
        (
            Does::Tells,
            failed(UNKNOWN_TABLE),
            ["own", "there", "known", "more", "there", "again", "own"],
        ),
    ] {
        for (before, expected) in PLACES.into_iter().zip(after) {
            let mut conditions = at(before);
            conditions.answered(does, &answer);
            assert_eq!(
                name(&conditions),
                expected,
                "{before}, {does:?}, {answer:?}"
            );
        }
    }
}

#[test]
fn the_number_is_that_of_the_last_answer_that_says_something_of_the_list() {
    let mut conditions = Conditions::default();
    conditions.answered(Does::Replaces, &WARNED);
    assert_eq!(conditions.count(false), 2);
    conditions.answered(Does::Keeps, &OK);
    assert_eq!(conditions.count(false), 2);
    conditions.answered(
        Does::Tells,
        &Answer {
            warnings: 9,
            ..WARNED
        },
    );
    assert_eq!(conditions.count(false), 2);
    conditions.answered(Does::Replaces, &failed(1146));
    assert_eq!((conditions.count(false), conditions.count(true)), (1, 1));
    assert_eq!(reads(&mut conditions), Some(false));
    conditions.learn(read(false, 1));
    assert_eq!((conditions.count(false), conditions.count(true)), (1, 1));
    conditions.answered(Does::Replaces, &OK);
    assert_eq!((conditions.count(false), conditions.count(true)), (0, 0));
}

#[test]
fn an_error_is_counted_though_the_list_has_no_room_for_it() {
    let mut conditions = at("there");
    assert_eq!(reads(&mut conditions), Some(false));
    conditions.learn(read(false, 0));
    assert_eq!((conditions.count(false), conditions.count(true)), (1, 1));
    conditions.answered(Does::Keeps, &OK);
    assert_eq!((conditions.count(false), conditions.count(true)), (1, 1));
    conditions.answered(Does::Replaces, &WARNED);
    assert_eq!((conditions.count(false), conditions.count(true)), (2, 0));
}

#[test]
fn what_comes_on_top_is_told_behind_what_is_known() {
    let mut conditions = at("more");
    assert!(conditions.has_more());
    assert_eq!(reads(&mut conditions), Some(true));
    assert_eq!(name(&conditions), "known");
    conditions.learn(read(true, 2));
    assert_eq!(conditions.count(true), 3);
}

#[test]
fn only_a_list_that_is_there_is_read_and_only_while_the_backend_is_the_sessions() {
    for (place, asks, lost) in [
        ("nowhere", None, "nowhere"),
        ("empty", None, "nowhere"),
        ("known", None, "known"),
        ("more", Some(true), "known"),
        ("there", Some(false), "nowhere"),
        ("again", None, "again"),
        ("own", None, "own"),
    ] {
        let mut conditions = at(place);
        conditions.lose();
        assert_eq!(name(&conditions), lost);
        assert!(!conditions.needs_backend());
        let mut conditions = at(place);
        assert_eq!(reads(&mut conditions), asks);
        assert_eq!(name(&conditions), lost);
    }
}

#[test]
fn whoever_asks_finds_no_list_of_somebody_else() {
    for place in PLACES {
        let conditions = at(place);
        let by_value = place == "nowhere";
        let elsewhere = !matches!(place, "there" | "empty");
        for (does, asks, expected) in [
            (Does::Asks, true, elsewhere),
            (Does::Gets, true, elsewhere),
            (Does::Adds, true, elsewhere),
            (Does::Replaces, true, elsewhere),
            (Does::AddsError, true, elsewhere && !by_value),
            (Does::Replaces, false, false),
            (Does::Tells, false, false),
        ] {
            let needed = conditions.needs_none_there(asks, does);
            assert_eq!(needed, expected, "{place}, {does:?}");
        }
    }
}

#[test]
fn a_list_that_was_emptied_is_the_sessions_only_where_that_has_none() {
    for place in PLACES {
        let mut conditions = at(place);
        conditions.cleared();
        let expected = if place == "nowhere" { "empty" } else { place };
        assert_eq!(name(&conditions), expected);
    }
}

#[test]
fn an_error_of_the_front_door_takes_the_place_of_what_there_was() {
    for place in PLACES {
        let mut conditions = at(place);
        conditions.refused(own(), false);
        assert_eq!(name(&conditions), "own");
        assert_eq!(conditions.count(false), 1);
        let text: &[u8] =
            b"SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO=1047,MESSAGE_TEXT='Unknown command'";
        assert_eq!(conditions.repeated().as_deref(), Some(text));
        // A command that is no statement leaves what MySQL would add it to.
        let mut conditions = at(place);
        conditions.refused(own(), true);
        let is_none = ["nowhere", "empty"].contains(&place);
        assert_eq!(name(&conditions), if is_none { "own" } else { place });
        // What is known is told with it.
        if place == "known" {
            let added = conditions.list().map(|list| list.count(true));
            assert_eq!(added, Some(2));
        }
    }
}

#[test]
fn an_error_that_no_signal_can_say_leaves_nothing_of_before() {
    let long: &'static [u8] = &[b'x'; MESSAGE_MAX + 1];
    for message in [&b"caf\xc3\xa9"[..], b"a\\b", b"line\nbreak", long] {
        for place in PLACES {
            let mut conditions = at(place);
            conditions.refused(ClientError::told(&err(1105, message)), false);
            assert_eq!(name(&conditions), "nowhere");
            assert_eq!(conditions.count(false), 1);
            assert!(conditions.list().is_none() && conditions.repeated().is_none());
        }
    }
    let longest = ClientError::told(&err(1105, &[b'x'; MESSAGE_MAX]));
    let mut conditions = Conditions::default();
    conditions.refused(longest, false);
    assert!(conditions.repeated().is_some());
}

#[test]
fn a_quote_in_a_message_is_part_of_it() {
    let mut conditions = Conditions::default();
    conditions.refused(ClientError::told(&err(1105, b"it's")), false);
    let text = conditions.repeated().unwrap();
    assert!(text.ends_with(b"MESSAGE_TEXT='it''s'"));
}

#[test]
fn a_list_that_grows_without_end_is_bounded() {
    let mut conditions = at("more");
    let mut cut = 0;
    for _ in 0..100 {
        assert_eq!(reads(&mut conditions), Some(true));
        cut += u32::from(!conditions.learn(read(true, 200)));
        conditions.answered(Does::Adds, &Answer::default());
    }
    // The first 72 are kept whole.
    assert!((27..30).contains(&cut), "{cut}");
    // 256 KiB of rows of 18 bytes.
    let count = conditions.count(true);
    assert!((14_000..14_564).contains(&count), "{count}");
}
