//! Strings, comments and character sets: what is text and what is hidden in it.

use super::{MARIADB, MYSQL, kind_of, pins_of};
use crate::statement::{Dialect, Kind, PinReason, Trail};

fn sees_lock(text: &[u8], dialect: &Dialect) -> bool {
    pins_of(text, dialect).contains(PinReason::UserLock)
}

/// `true`: the backend would run the call of `get_lock` in the text.
fn check_locks(dialect: &Dialect, rows: &[(&[u8], bool)]) {
    for &(text, locks) in rows {
        let shown = String::from_utf8_lossy(text);
        assert_eq!(sees_lock(text, dialect), locks, "{shown}");
        assert_eq!(kind_of(text, dialect), Kind::Select, "{shown}");
    }
}

#[test]
fn comments() {
    check_locks(
        &MARIADB,
        &[
            (b"select 1 /* get_lock('a',1) */", false),
            (b"select 1 /*+ get_lock('a',1) */", false),
            (b"select 1 -- get_lock('a',1)", false),
            (b"select 1 --\tget_lock('a',1)", false),
            (b"select 1 --get_lock('a',1)", true),
            (b"select 1 --\x01get_lock('a',1)", false),
            (b"select 1 --", false),
            (b"select 1 # get_lock('a',1)", false),
            (b"select 1 -- x\n, get_lock('a',1)", true),
            (b"select 1 # x\r, get_lock('a',1)", false),
            (b"select 1 /* /* */, get_lock('a',1)", true),
            (b"select 1 /*/ get_lock('a',1) */", false),
            (b"select '/*', get_lock('a',1), '*/'", true),
            (b"select get_lock/*x*/ -- y\n ('a',1)", true),
        ],
    );
}

#[test]
fn version_comments_of_mariadb() {
    check_locks(
        &MARIADB,
        &[
            (b"select/*!get_lock('a',1)*/", true),
            (b"select /*!50000 get_lock('a',1)*/", true),
            (b"select /*!50701 get_lock('a',1)*/ 1", false),
            (b"select /*!99999 get_lock('a',1)*/ 1", false),
            (b"select /*!100000get_lock('a',1)*/", true),
            (b"select /*!101119 get_lock('a',1)*/", true),
            (b"select /*!101120 get_lock('a',1)*/ 1", false),
            (b"select /*!999999 get_lock('a',1)*/ 1", false),
            (b"select /*M!50701 get_lock('a',1)*/", true),
            (b"select /*M!999999 get_lock('a',1)*/ 1", false),
            (b"select /*m! get_lock('a',1)*/ 1", false),
            (b"select /* ! get_lock('a',1)*/ 1", false),
            (b"select /*!1234 + get_lock('a',1)*/", true),
            (b"select /*! 1 /* x */ , get_lock('a',1)*/", true),
            (b"select /*!999999 a /* b */ get_lock('a',1)*/ 1", false),
            (b"select /*!999999 a /* b */ */ get_lock('a',1)", true),
            (b"select /*! 1 -- */ get_lock('a',1)\n*/", false),
            (b"select /*! '*/' */, get_lock('a',1)", true),
        ],
    );
}

#[test]
fn version_comments_of_mysql() {
    check_locks(
        &MYSQL,
        &[
            (b"select /*!50701 get_lock('a',1)*/", true),
            (b"select /*!90700 get_lock('a',1)*/", true),
            (b"select /*!90701 get_lock('a',1)*/ 1", false),
            (b"select /*M! get_lock('a',1)*/ 1", false),
            (b"select /*!999999 get_lock('a',1)*/ 1", false),
        ],
    );
    assert_eq!(kind_of(b"select /*!100000 1*/", &MYSQL), Kind::Unknown);
    assert_eq!(kind_of(b"select $$ ' $$", &MYSQL), Kind::Unknown);
}

#[test]
fn strings() {
    check_locks(
        &MARIADB,
        &[
            (
                b"select 'get_lock(1,1)', \"get_lock(1,1)\", `get_lock(1,1)` from t",
                false,
            ),
            (b"select 'a''', get_lock('a',1)", true),
            (b"select 'a\\', get_lock(1,1), \\''", false),
            (b"select \"a\"\"b\", get_lock('a',1)", true),
            (b"select `a\\`, get_lock('a',1)", true),
            (b"select x'41', N'x', _utf8'y', b'1', get_lock('a',1)", true),
            (b"select 'a' 'get_lock(1,1)'", false),
            (b"select 1..5, get_lock('a',1)", true),
            (b"select \\N, get_lock('a',1)", true),
        ],
    );
}

#[test]
fn quoting_modes() {
    let (mut plain, mut ansi) = (MARIADB, MARIADB);
    plain.no_backslash_escapes = true;
    ansi.ansi_quotes = true;
    check_locks(
        &plain,
        &[
            (b"select 'a\\', get_lock('a',1)", true),
            (b"select 'a''b\\', get_lock('a',1)", true),
        ],
    );
    check_locks(
        &ansi,
        &[
            (b"select \"a\\\", get_lock('a',1)", true),
            (b"select \"get_lock\"('a',1)", true),
            (b"select \"get_lock(1,1)\" from t", false),
            (b"select 'a\\'', get_lock('a',1)", true),
        ],
    );
}

#[test]
fn trail_bytes_that_look_like_ascii() {
    // The escape is the second half of a character, so the quote behind it closes.
    let hidden = b"select '\x95\x5c', get_lock('a',1)";
    // In a set without such characters the same bytes escape the quote.
    let escaped = b"select '\x95\x5c', get_lock(1,1)'";
    for name in ["sjis", "cp932", "gbk", "gb18030"] {
        let mut dialect = MARIADB;
        dialect.charset = Trail::of(name.as_bytes()).unwrap();
        check_locks(
            &dialect,
            &[(hidden, true), (b"select 1 as \x95\x5c", false)],
        );
    }
    let mut dialect = MARIADB;
    dialect.charset = Trail::Big5;
    check_locks(&dialect, &[(b"select '\xa6\x5c', get_lock('a',1)", true)]);
    dialect.charset = Trail::of(b"LATIN1").unwrap();
    check_locks(&dialect, &[(escaped, false)]);
    dialect.charset = Trail::Gbk;
    check_locks(
        &dialect,
        &[
            (b"select '\\\x95\\'', get_lock('a',1)", true),
            (b"select `\x81\x60`, get_lock('a',1)", true),
        ],
    );
    dialect.charset = Trail::Gb18030;
    check_locks(
        &dialect,
        &[(b"select '\x81\x30\x81\x30', get_lock('a',1)", true)],
    );
}

#[test]
fn bytes_that_are_no_character_are_in_doubt() {
    let rows: &[(&str, &[u8])] = &[
        ("gbk", b"select '\x81'"),
        ("gbk", b"select '\x81' 'a'"),
        ("gbk", b"select `\x80`"),
        ("sjis", b"select '\xa0'"),
        ("sjis", b"select '\x81\x20'"),
        ("big5", b"select '\x81\x40'"),
        ("gb18030", b"select '\x81\x30\x81'"),
    ];
    for (name, text) in rows {
        let mut dialect = MARIADB;
        dialect.charset = Trail::of(name.as_bytes()).unwrap();
        assert_eq!(kind_of(text, &dialect), Kind::Unknown, "{name} {text:?}");
    }
}

#[test]
fn white_space_beyond_ascii() {
    let text = b"select\xa01 into\xa0outfile 'x'";
    assert_eq!(kind_of(text, &MARIADB), Kind::Unknown);
    let mut latin1 = MARIADB;
    latin1.charset = Trail::of(b"latin1").unwrap();
    assert_eq!(kind_of(text, &latin1), Kind::Select);
    check_locks(&latin1, &[(b"select\xa0get_lock('a',1)", true)]);
    assert_eq!(Trail::of(b"swe7"), None);
    assert_eq!(Trail::of(b"nosuch"), None);
}

#[test]
fn what_is_cut_off_is_in_doubt() {
    let texts: &[&[u8]] = &[
        b"select 'abc",
        b"select 'abc\\'",
        b"select \"abc",
        b"select `abc",
        b"select @`abc",
        b"select 1 /* abc",
        b"select 1 /*/",
        b"select 1 /*! abc",
        b"select 1 /*!999999 abc",
        b"select 1 /*+ `*/",
        b"select 1\0",
        b"select `\0`",
        b"select 5--\xa0",
        b"select 1.e",
    ];
    for text in texts {
        let shown = String::from_utf8_lossy(text);
        assert_eq!(kind_of(text, &MARIADB), Kind::Unknown, "{shown}");
        assert!(
            pins_of(text, &MARIADB).contains(PinReason::Unknown),
            "{shown}"
        );
    }
}
