//! What holds for every text.

use proptest::prelude::*;

use super::{MARIADB, kind_of, verdict};
use crate::statement::{Dialect, Flavor, Kind, Trail, Traits, classify, kill_target, use_schema};

const PIECES: &[&[u8]] = &[
    b"select ",
    b"insert ",
    b"set ",
    b"statement ",
    b"explain ",
    b"with ",
    b"create ",
    b"procedure ",
    b"begin ",
    b"end ",
    b"if ",
    b"case ",
    b"for ",
    b"as ",
    b"into ",
    b"values ",
    b"get_lock",
    b"f",
    b"'",
    b"\"",
    b"`",
    b"\\",
    b"/*",
    b"*/",
    b"/*!",
    b"/*!50000",
    b"/*!999999",
    b"/*M!",
    b"/*+",
    b"-- ",
    b"--",
    b"#",
    b"\n",
    b" ",
    b";",
    b",",
    b".",
    b"..",
    b"1",
    b"1.",
    b".5",
    b"1e",
    b"0x1",
    b"(",
    b")",
    b"=",
    b":=",
    b"@",
    b"@@",
    b"@@global.",
    b"\0",
    b"\x81",
    b"\x5c",
    b"\xa0",
    b"\xff",
    b"$",
];

fn dialects() -> impl Strategy<Value = Dialect> {
    let trail = prop::sample::select(vec![
        Trail::Plain,
        Trail::Space(0xA0),
        Trail::Sjis,
        Trail::Cp932,
        Trail::Big5,
        Trail::Gbk,
        Trail::Gb18030,
    ]);
    let server = prop::sample::select(vec![(Flavor::MariaDb, 101_119), (Flavor::MySql, 80_400)]);
    let modes = (any::<bool>(), any::<bool>(), any::<bool>());
    (trail, server, modes).prop_map(|(charset, (flavor, version), modes)| Dialect {
        charset,
        no_backslash_escapes: modes.0,
        ansi_quotes: modes.1,
        ignore_space: modes.2,
        flavor,
        version,
    })
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(PIECES), 0..24).prop_map(|pieces| pieces.concat())
}

fn swap_case(text: &[u8]) -> Vec<u8> {
    let swap = |byte: &u8| match byte {
        b'a'..=b'z' => byte.to_ascii_uppercase(),
        _ => byte.to_ascii_lowercase(),
    };
    text.iter().map(swap).collect()
}

fn holds_together(text: &[u8], dialect: &Dialect) {
    let statement = classify(text, dialect);
    let traits = statement.traits;
    assert!(!traits.contains(Traits::PURE_READ | Traits::MAY_WRITE));
    if traits.contains(Traits::PURE_READ) {
        assert_eq!(statement.kind, Kind::Select);
        assert!(statement.pins.is_empty());
    }
    if statement.kind == Kind::Unknown {
        assert!(!statement.pins.is_empty() && traits.contains(Traits::MAY_WRITE));
    }
    let neither = use_schema(text, dialect).is_none() || kill_target(text, dialect).is_none();
    assert!(neither);
}

proptest! {
    #[test]
    fn any_bytes_are_judged(text in prop::collection::vec(any::<u8>(), 0..64), dialect in dialects()) {
        holds_together(&text, &dialect);
    }

    #[test]
    fn any_pieces_are_judged(text in pieces(), dialect in dialects()) {
        holds_together(&text, &dialect);
    }

    /// Letters change nothing but the `M` of a comment and the trail bytes of multi-byte sets.
    #[test]
    fn case_does_not_matter(mut text in pieces(), mut dialect in dialects()) {
        dialect.charset = Trail::Plain;
        text.retain(|&byte| byte != b'M');
        prop_assert_eq!(verdict(&text, &dialect), verdict(&swap_case(&text), &dialect));
    }

    #[test]
    fn a_string_hides_what_is_in_it(inner in "[a-z@(); /*!-]{0,20}") {
        let text = format!("select '{inner}', `{inner}` from t");
        prop_assert_eq!(verdict(text.as_bytes(), &MARIADB), verdict(b"select 1 from t", &MARIADB));
    }

    #[test]
    fn a_string_cut_off_is_unknown(inner in "[a-z@(); /*!-]{0,20}", quote in "['\"`]") {
        let text = format!("select {quote}{inner}");
        prop_assert_eq!(kind_of(text.as_bytes(), &MARIADB), Kind::Unknown);
    }
}

#[test]
fn deep_texts_end() {
    for piece in [
        "explain ",
        "set statement a=1 for ",
        "(",
        "((select ",
        "with x as (",
        "/*!",
        "begin ",
    ] {
        let text = piece.repeat(100_000);
        holds_together(text.as_bytes(), &MARIADB);
    }
}
