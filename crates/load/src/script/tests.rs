//! Scripts and what they send.

use wire::HEADER_LEN;

use super::*;
use crate::answer::Expectation;
use crate::workload::Origin;

fn script(text: &str) -> Script {
    Script::parse(text, Distribution::Uniform).unwrap()
}

fn error(text: &str) -> String {
    Script::parse(text, Distribution::Uniform)
        .unwrap_err()
        .to_string()
}

fn draws(rng: &mut Rng) -> Draws<'_> {
    Draws {
        rng,
        seed: 9,
        origin: Origin {
            connection: 7,
            sequence: 3,
        },
        token: None,
    }
}

fn text_of(template: &Template) -> String {
    let (mut out, mut rng) = (Vec::new(), Rng::with_seed(1));
    template.put_query(&mut out, &mut draws(&mut rng));
    assert_eq!(out[HEADER_LEN], 3);
    String::from_utf8(out[HEADER_LEN + 1..].to_vec()).unwrap()
}

#[test]
fn statements_checks_and_weights() {
    let script = script(
        "-- a comment\n-- weight: 3\n-- rows: 1..2\nSELECT 1,\n  2;\n\n-- weight: 1\nBEGIN;\n\
         -- affected: 1\nUPDATE t SET a=1;\nCOMMIT;\n",
    );
    let [reading, writing] = &script.transactions[..] else {
        panic!("{script:?}");
    };
    assert_eq!(text_of(&reading.statements[0]), "SELECT 1,\n2");
    let due = Expectation::Rows { min: 1, max: 2 };
    assert_eq!(reading.statements[0].expectation, due);
    let kinds: Vec<Kind> = writing.statements.iter().map(|s| s.kind).collect();
    assert_eq!(kinds, [Kind::Other, Kind::Write, Kind::Other]);
    assert_eq!(writing.statements[1].expectation, Expectation::Affected(1));
    let mut rng = Rng::with_seed(1);
    let first = (0..1_000).filter(|_| script.choose(&mut rng) == 0).count();
    assert!((700..800).contains(&first), "{first}");
}

#[test]
fn a_name_stands_for_one_value_in_its_transaction() {
    let script = script("SELECT {id=random:1..100000};\nSELECT {id}, {id+99}, '{id}';");
    let statements = &script.transactions[0].statements;
    let id: u64 = text_of(&statements[0])
        .strip_prefix("SELECT ")
        .unwrap()
        .parse()
        .unwrap();
    let again = format!("SELECT {id}, {}, '{id}'", id + 99);
    assert_eq!(text_of(&statements[1]), again);
}

#[test]
fn tokens_and_forms_are_texts() {
    let token = script("SELECT '{token}', 'a{string:#@}b', 'it\\'s';");
    let text = text_of(&token.transactions[0].statements[0]);
    assert!(text.starts_with("SELECT 'c7-s3-"), "{text}");
    assert!(text.ends_with("b', 'it\\'s'"), "{text}");
}

#[test]
fn a_statement_may_say_when_it_is_sent() {
    let now = script("SELECT '{now}';");
    let us = || -> u64 {
        let text = text_of(&now.transactions[0].statements[0]);
        let digits = text.strip_prefix("SELECT '").unwrap();
        digits.strip_suffix('\'').unwrap().parse().unwrap()
    };
    let (first, second) = (us(), us());
    let year_2020 = 1_577_836_800_000_000;
    assert!(year_2020 < first && first <= second, "{first} {second}");
    assert!(error("SELECT {now};").contains("put it in '…'"));
}

#[test]
fn prepared_statements_have_parameters_and_variants() {
    let mut script = script(
        "SELECT 1;\nSELECT c FROM t{uniform:4..6} WHERE id={random:5..5} AND c='x{string:##}';",
    );
    assert_eq!(script.number_variants(), 4);
    let statement = &script.transactions[0].statements[1];
    let mut rng = Rng::with_seed(1);
    let variant = statement.variant(&mut draws(&mut rng));
    assert!((1..4).contains(&variant));
    let mut out = Vec::new();
    statement.put_prepare(&mut out, 3);
    assert_eq!(
        out[HEADER_LEN..],
        *b"\x16SELECT c FROM t6 WHERE id=? AND c=?"
    );
    out.clear();
    statement.put_execute(&mut out, 2, &mut draws(&mut rng));
    let head = b"\x17\x02\0\0\0\0\x01\0\0\0\0\x01\x08\0\xfd\0\x05\0\0\0\0\0\0\0\x03x";
    assert!(
        out[HEADER_LEN..].starts_with(head),
        "{}",
        out.escape_ascii()
    );
    assert_eq!(out.len(), HEADER_LEN + head.len() + 2);
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    assert!(error("").contains("no statement"));
    assert!(error("SELECT 1;\nSELECT 2").starts_with("line 2 of the script: the statement has no"));
    assert!(error("SELECT {rnd:1..2};").contains("{rnd:1..2} is not known"));
    assert!(error("SELECT {random:5..2};").contains("5..2 is no range"));
    assert!(error("SELECT {x};").contains("{x} is not known"));
    assert!(error("SELECT {random:1..2;").contains("a { has no end"));
    assert!(error("SELECT {string:##};").contains("is no number"));
    assert!(error("-- rows: many\nSELECT 1;").contains("many is no number"));
    assert!(error("-- weight: 2\n").contains("a weight has no statement"));
    assert!(error("SELECT a{uniform:1..2}, b{uniform:1..2};").contains("only one"));
}
