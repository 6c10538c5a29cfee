//! Whatever stands in a statement, the lexer comes to an end with it, and what its parts say of the
//! same text agrees.

use session::statement::{
    Dialect, Flavor, Holding, Kind, Known, PinReasons, Statement, Trail, Traits, classify,
    digest_text, holding, kill_target, lone, names, show_diagnostics, substitute, use_schema,
};

use crate::input::Input;

const DIGEST_BYTES: usize = 1 << 10;

const TRAILS: [Trail; 7] = [
    Trail::Plain,
    Trail::Space(0xA0),
    Trail::Sjis,
    Trail::Cp932,
    Trail::Big5,
    Trail::Gbk,
    Trail::Gb18030,
];

/// The first byte chooses the modes and the server, the second the character set; the rest is the
/// text.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let dialect = dialect(&mut input);
    let text = input.rest();
    let statement = classify(text, &dialect);
    consistent(&statement);
    spaces_behind_change_nothing(text, &dialect, &statement);
    targets(text, &dialect, &statement);
    holdings(text, &dialect, &statement);
    substitutes(text, &dialect);
    let digest = digest_text(text, &dialect, DIGEST_BYTES);
    assert!(digest.len() <= DIGEST_BYTES + 3 * text.len());
}

fn dialect(input: &mut Input<'_>) -> Dialect {
    let modes = input.byte();
    let (flavor, version) = match modes & 1 {
        0 => (Flavor::MariaDb, 101_119),
        _ => (Flavor::MySql, 90_700),
    };
    Dialect {
        charset: TRAILS[usize::from(input.byte()) % TRAILS.len()],
        no_backslash_escapes: modes & 2 != 0,
        ansi_quotes: modes & 4 != 0,
        ignore_space: modes & 8 != 0,
        ..Dialect::new(flavor, version)
    }
}

fn consistent(statement: &Statement) {
    if statement.traits.contains(Traits::PURE_READ) {
        assert!(!statement.traits.contains(Traits::MAY_WRITE));
        assert_eq!(statement.pins, PinReasons::default());
    }
    if statement.kind == Kind::Multiple {
        assert!(statement.traits.contains(Traits::MULTIPLE));
    }
}

/// Not where a character or a comment is cut, which the blank would complete.
fn spaces_behind_change_nothing(text: &[u8], dialect: &Dialect, statement: &Statement) {
    let spaced = [text, b"  "].concat();
    let whole = dialect.charset == Trail::Plain || text.is_ascii();
    if whole && statement.kind != Kind::Unknown {
        assert_eq!(&classify(&spaced, dialect), statement);
        assert_eq!(holding(&spaced, dialect), holding(text, dialect));
        assert_eq!(names(&spaced, dialect), names(text, dialect));
    }
}

fn targets(text: &[u8], dialect: &Dialect, statement: &Statement) {
    if kill_target(text, dialect).is_some() {
        assert_eq!(statement.kind, Kind::Kill);
    }
    if use_schema(text, dialect).is_some() {
        assert_eq!(statement.kind, Kind::Use);
    }
    if show_diagnostics(text, dialect).is_some() {
        assert_eq!(statement.kind, Kind::Show);
        assert!(statement.traits.contains(Traits::READS_DIAGNOSTICS));
    }
    if let Some(found) = names(text, dialect) {
        assert!(found.len() <= text.len());
        let mut sorted = found.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), found.len(), "a name is told once");
    }
}

fn holdings(text: &[u8], dialect: &Dialect, statement: &Statement) {
    let Some(holding) = holding(text, dialect) else {
        return;
    };
    let kinds: &[Kind] = match holding {
        Holding::CreatesTable(_) | Holding::DropsTables(_) => &[Kind::Ddl],
        Holding::OpensHandler(_) | Holding::ClosesHandler(_) | Holding::ReadsHandler => {
            &[Kind::Handler]
        }
        Holding::Lock(_) => &[Kind::Select, Kind::Do],
    };
    assert!(kinds.contains(&statement.kind), "{holding:?}");
    assert!(!statement.traits.contains(Traits::MULTIPLE));
}

fn substitutes(text: &[u8], dialect: &Dialect) {
    assert_eq!(substitute(text, dialect, |_| None), None);
    let all = substitute(text, dialect, |_| Some("7".to_owned()));
    if let Some((known, _)) = lone(text, dialect)
        && classify(text, dialect).kind == Kind::Select
    {
        let one = |asked: Known| (asked == known).then(|| "7".to_owned());
        assert!(substitute(text, dialect, one).is_some());
        assert!(all.is_some());
    }
    let Some(replaced) = all else {
        return;
    };
    // What was written instead can be read with the same certainty, and holds nothing to replace.
    let shown = replaced.escape_ascii();
    assert!(!is_in_doubt(&replaced, dialect), "{shown}");
    let again = substitute(&replaced, dialect, |_| Some("7".to_owned()));
    assert_eq!(again, None, "{shown}");
}

/// Nothing is replaced in a doubtful text. In front, for behind what the server keeps, such as a
/// procedure's body, nothing is replaced either.
fn is_in_doubt(text: &[u8], dialect: &Dialect) -> bool {
    let probe = [b"SELECT @@port;\n", text].concat();
    let port = |asked| (asked == Known::Port).then(|| "7".to_owned());
    substitute(&probe, dialect, port).is_none()
}
