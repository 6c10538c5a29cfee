//! One line of a session as what a client does: a statement, or a command that begins with `\`.
//! Sends and reads nothing.

use wire::{Capabilities, ExtendedCapabilities, put_lenenc_bytes};

/// What a client does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step<'a> {
    /// Added flags, taken flags, those of MariaDB, the collation, and the schema.
    Login(Flags, u8, &'a str),
    /// COM_QUERY.
    Query(&'a str),
    /// A statement that is sent a file: the file, and the text.
    Load(Vec<u8>, &'a str),
    /// Asks where it is; the answer counts, and is not compared.
    Where,
    /// Ends; the answer is what a session that begins then finds.
    Newcomer,
    /// COM_STMT_PREPARE under a name.
    Prepare(&'a str, &'a str),
    /// COM_STMT_EXECUTE: flags, and values; none are those of the execution before.
    Execute(&'a str, u8, Vec<Value>),
    /// COM_STMT_BULK_EXECUTE: a value for each row.
    Bulk(&'a str, Vec<Value>),
    /// COM_STMT_SEND_LONG_DATA for a parameter.
    Long(&'a str, u16, &'a str),
    /// COM_STMT_FETCH of so many rows.
    Fetch(&'a str, u32),
    /// COM_STMT_RESET.
    Reset(&'a str),
    /// COM_STMT_CLOSE.
    Close(&'a str),
    /// COM_INIT_DB.
    InitDb(&'a str),
    /// COM_FIELD_LIST of a table.
    Fields(&'a str),
    /// COM_SET_OPTION.
    SetOption(u16),
    /// COM_CHANGE_USER: the user and the schema.
    ChangeUser(&'a str, &'a str),
    /// A command without an argument.
    Command(u8),
}

/// What a login says of flags.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Flags {
    /// Besides the usual ones.
    pub(super) with: Capabilities,
    /// Of the usual ones not these.
    pub(super) without: Capabilities,
    /// Those that only MariaDB has.
    pub(super) extended: ExtendedCapabilities,
}

/// A value to bind, with its type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    /// The type and its flag byte.
    pub(super) kind: [u8; 2],
    /// `None` for NULL.
    pub(super) bytes: Option<Vec<u8>>,
}

const COM_STATISTICS: u8 = 0x09;
const COM_PING: u8 = 0x0e;
const COM_RESET_CONNECTION: u8 = 0x1f;
const COM_UNKNOWN: u8 = 0x70;

/// A schema of this name is none.
const NONE: &str = "-";

impl<'a> Step<'a> {
    /// Reads a line.
    pub(super) fn parse(line: &'a str) -> Self {
        let Some(line) = line.strip_prefix('\\') else {
            return Self::Query(line);
        };
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        let values = || second.split(' ').filter(|value| !value.is_empty());
        let values = || values().map(Value::parse).collect();
        match command {
            "login" => login(rest),
            "load" => Self::Load(file(first), second),
            "where" => Self::Where,
            "newcomer" => Self::Newcomer,
            "prepare" => Self::Prepare(first, second),
            "execute" => Self::Execute(first, 0, values()),
            "again" => Self::Execute(first, 0, Vec::new()),
            "cursor" => Self::Execute(first, 1, values()),
            "bulk" => Self::Bulk(first, values()),
            "long" => {
                let (parameter, text) = second.split_once(' ').unwrap();
                Self::Long(first, parameter.parse().unwrap(), text)
            }
            "fetch" => Self::Fetch(first, second.parse().unwrap()),
            "reset" => Self::Reset(first),
            "close" => Self::Close(first),
            "init_db" => Self::InitDb(rest),
            "fields" => Self::Fields(rest),
            "set_option" => Self::SetOption(rest.parse().unwrap()),
            "change_user" => Self::ChangeUser(first, schema(second)),
            "ping" => Self::Command(COM_PING),
            "statistics" => Self::Command(COM_STATISTICS),
            "reset_connection" => Self::Command(COM_RESET_CONNECTION),
            "unknown" => Self::Command(COM_UNKNOWN),
            other => panic!("no step {other}"),
        }
    }
}

fn schema(name: &str) -> &str {
    if name == NONE { "" } else { name }
}

/// The contents of a file, with `\n` and `\t` for what would end the line or the word.
fn file(text: &str) -> Vec<u8> {
    let text = schema(text);
    text.replace("\\n", "\n").replace("\\t", "\t").into_bytes()
}

fn login(rest: &str) -> Step<'_> {
    let mut parts = rest.split(' ');
    let mut part = || parts.next().unwrap();
    let (flags, collation, name) = (part(), part(), part());
    let named = |sign| {
        let flags = flags.split(',');
        flags.filter_map(move |flag| flag.strip_prefix(sign))
    };
    let usual = |sign| -> Capabilities {
        let flags = named(sign);
        flags
            .map(|flag| Capabilities::from_name(flag).unwrap())
            .collect()
    };
    let extended = named('*').map(|flag| ExtendedCapabilities::from_name(flag).unwrap());
    let flags = Flags {
        with: usual('+'),
        without: usual('-'),
        extended: extended.collect(),
    };
    Step::Login(flags, collation.parse().unwrap(), schema(name))
}

impl Value {
    /// Reads a value: its type, a colon, and what it is.
    fn parse(text: &str) -> Self {
        let (kind, text) = text.split_once(':').unwrap_or((text, ""));
        let integer = |len: usize| text.parse::<i128>().unwrap().to_le_bytes()[..len].to_vec();
        let string = |bytes: &[u8]| {
            let mut out = Vec::new();
            put_lenenc_bytes(&mut out, bytes);
            out
        };
        let (kind, bytes) = match kind {
            "i1" => ([1, 0], Some(integer(1))),
            "u1" => ([1, 0x80], Some(integer(1))),
            "i2" => ([2, 0], Some(integer(2))),
            "i4" => ([3, 0], Some(integer(4))),
            "i8" => ([8, 0], Some(integer(8))),
            "u8" => ([8, 0x80], Some(integer(8))),
            "f" => (
                [4, 0],
                Some(text.parse::<f32>().unwrap().to_le_bytes().to_vec()),
            ),
            "d" => (
                [5, 0],
                Some(text.parse::<f64>().unwrap().to_le_bytes().to_vec()),
            ),
            "s" => ([0xfd, 0], Some(string(text.as_bytes()))),
            "b" => ([0xfc, 0], Some(string(text.as_bytes()))),
            "m" => ([0xf6, 0], Some(string(text.as_bytes()))),
            "t" => ([10, 0], Some(date(text, 4))),
            "D" => ([12, 0], Some(date(text, 7))),
            "n" => ([6, 0], None),
            other => panic!("no type {other}"),
        };
        Self { kind, bytes }
    }
}

/// A date and a time as the binary protocol has them: their length, and a number per part.
fn date(text: &str, len: u8) -> Vec<u8> {
    let mut parts = text.split('-').map(|part| part.parse::<u16>().unwrap());
    let year = parts.next().unwrap().to_le_bytes();
    let rest = parts.map(|part| part.to_le_bytes()[0]);
    [len].into_iter().chain(year).chain(rest).collect()
}

#[test]
fn lines_are_read_as_what_a_client_does() {
    assert_eq!(Step::parse("SELECT 1"), Step::Query("SELECT 1"));
    assert_eq!(Step::parse("\\ping"), Step::Command(COM_PING));
    assert_eq!(Step::parse("\\prepare p DO ?"), Step::Prepare("p", "DO ?"));
    let flags = Flags {
        with: Capabilities::FOUND_ROWS,
        without: Capabilities::DEPRECATE_EOF,
        extended: ExtendedCapabilities::EXTENDED_METADATA,
    };
    let login = "\\login +FOUND_ROWS,-DEPRECATE_EOF,*EXTENDED_METADATA 45 -";
    assert_eq!(Step::parse(login), Step::Login(flags, 45, ""));
    let Step::Execute("p", 1, values) =
        Step::parse("\\cursor p i2:-2 s:ä n u8:18446744073709551615")
    else {
        panic!("no execution");
    };
    let bytes: Vec<_> = values.into_iter().map(|value| value.bytes).collect();
    let expected = [
        Some(vec![0xfe, 0xff]),
        Some(vec![2, 0xc3, 0xa4]),
        None,
        Some(vec![0xff; 8]),
    ];
    assert_eq!(bytes, expected);
    assert_eq!(Step::parse("\\fetch p 3"), Step::Fetch("p", 3));
    let load = Step::Load(b"1\t2\n".to_vec(), "LOAD DATA");
    assert_eq!(Step::parse("\\load 1\\t2\\n LOAD DATA"), load);
    assert_eq!(date("2024-02-29", 4), [4, 0xe8, 7, 2, 29]);
}
