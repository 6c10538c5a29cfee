//! What a client does next, by chance. Owns no state: what the session is in makes some things
//! more likely than others.

use fastrand::Rng;

use super::Request;
use super::profile::Profile;
use crate::catalog::{NULL, OWN_KEYS, RESULTS_COLLATION, SCHEMAS, SHARED_KEYS};
use crate::database::sql::{Asked, Assignment, Sql};

/// The next command of the client with this number and profile.
pub(crate) fn next(rng: &mut Rng, profile: &Profile, in_transaction: bool, tag: &str) -> Request {
    if in_transaction && rng.u8(0..4) == 0 {
        return Request::Query(pick(rng, [Sql::Commit, Sql::Commit, Sql::Rollback]));
    }
    if profile.pins && rng.u8(0..4) == 0 {
        return Request::Query(pinning(rng));
    }
    if profile.reads && rng.u8(0..12) > 0 {
        return Request::Query(reading(rng, profile.client, tag));
    }
    if profile.asks && rng.u8(0..12) > 0 {
        return asking(rng, profile.client);
    }
    match rng.u8(0..100) {
        0..4 => Request::Query(pick(rng, [Sql::ShowWarnings, Sql::Warn])),
        4..20 => Request::Query(Sql::Literal(format!("token {tag}"))),
        20..36 => Request::Query(read(rng, profile.client)),
        36..50 => Request::Query(write(rng, profile.client)),
        50 | 51 => Request::Load(rows(rng, profile.client)),
        52..55 => Request::Query(state(rng)),
        55 => Request::Query(assigning(rng)),
        56 => Request::Query(Sql::ReadUser(user_names(rng))),
        57..60 => Request::Query(several(rng, profile.client)),
        60..70 => Request::Query(variables(rng)),
        70..77 => schema(rng),
        77 | 78 => Request::Reset,
        79..83 => Request::Query(insert(rng)),
        83 => Request::Query(Sql::SetGlobal(global(rng))),
        84..89 => Request::Query(Sql::Begin),
        89..91 => Request::Query(Sql::Sleep(rng.u64(1..30))),
        91..93 => Request::Query(Sql::Repeat(large(rng))),
        93..97 => Request::Query(match rng.u8(0..7) {
            0..3 => pick(rng, [Sql::BrokenRows, Sql::NoTable, Sql::Nonsense]),
            _ => question(rng),
        }),
        97 => Request::Query(question(rng)),
        98 if rng.bool() => Request::SetOption(rng.bool()),
        98 => Request::Ping,
        _ => Request::Unsupported,
    }
}

/// What somebody sends who reads: some of it with warnings and errors, and some of a view.
fn reading(rng: &mut Rng, client: usize, tag: &str) -> Sql {
    let first = SHARED_KEYS + client as u32 * OWN_KEYS;
    match rng.u8(0..40) {
        0..4 => Sql::Literal(format!("token {tag}")),
        4..8 => Sql::ReadRange(first, first + OWN_KEYS - 1),
        8..11 => write_own(rng, client),
        11 if rng.bool() => Sql::Warn,
        11..15 => Sql::Harmless,
        15 => Sql::NoTable,
        16..20 => question(rng),
        20 => Sql::Repeat(rng.usize(1..20_000)),
        _ => Sql::ReadKey(first + rng.u32(..OWN_KEYS)),
    }
}

/// What leaves counts, ids, conditions and variables behind, and questions about them.
fn asking(rng: &mut Rng, client: usize) -> Request {
    let first = SHARED_KEYS + client as u32 * OWN_KEYS;
    Request::Query(match rng.u8(0..40) {
        0..6 => Sql::Count(first, first + rng.u32(..OWN_KEYS)),
        6..10 => Sql::ReadRange(first, first + rng.u32(..OWN_KEYS)),
        10..12 => Sql::BrokenRows,
        12..14 => Sql::Warn,
        14 => Sql::Sleep(rng.u64(1..40)),
        15 => several(rng, client),
        16 => assigning(rng),
        17 => Sql::ReadUser(user_names(rng)),
        18..20 => write_own(rng, client),
        20..23 => Sql::Insert,
        23 => return Request::Load(rows(rng, client)),
        24 => Sql::Repeat(large(rng)),
        25..27 => Sql::LastInsertId,
        27..32 => Sql::FoundRows,
        32..34 => Sql::RowCount,
        34 => Sql::Begin,
        35 => pick(rng, [Sql::Commit, Sql::Rollback]),
        _ => question(rng),
    })
}

/// What a client may prepare.
pub(super) fn preparable(rng: &mut Rng, client: usize) -> Sql {
    match rng.u8(0..20) {
        0..6 => Sql::Echo,
        6..10 => read(rng, client),
        10..13 => write(rng, client),
        13 => insert(rng),
        14 => pick(rng, [Sql::NoTable, Sql::Nonsense]),
        15 => pick(rng, [Sql::Begin, Sql::Commit, Sql::Rollback]),
        16 => Sql::Repeat(large(rng)),
        17 => Sql::Warn,
        18 => Sql::Schema,
        _ => Sql::Sleep(rng.u64(1..10)),
    }
}

/// What is done with texts prepared by name; everybody uses the same names. `own`: those that the session has prepared.
pub(super) fn by_name(
    rng: &mut Rng,
    (client, tag): (usize, &str),
    own: &[String],
    in_schema: bool,
) -> Sql {
    let name = match own.is_empty() || rng.u8(0..16) == 0 {
        true => pick(rng, ["p", "q", "r"]).to_owned(),
        false => own[rng.usize(..own.len())].clone(),
    };
    let prepares = if own.is_empty() { 18 } else { 3 };
    match rng.u8(0..20) {
        which if which < prepares => {
            Sql::PrepareText(name, Box::new(harmless(rng, (client, tag), in_schema)))
        }
        3..12 => Sql::ExecuteText(name),
        _ => Sql::DeallocateText(name),
    }
}

/// A text that pins for no longer than it is prepared, but for what sets variables and what is nonsense.
fn harmless(rng: &mut Rng, (client, tag): (usize, &str), in_schema: bool) -> Sql {
    match rng.u8(0..20) {
        0..3 if in_schema => Sql::Schema,
        0..9 => Sql::Literal(format!("token {tag}")),
        9..12 => read(rng, client),
        12..15 => write(rng, client),
        15 => insert(rng),
        16 => pick(rng, [Sql::NoTable, Sql::Nonsense]),
        17 => pick(rng, [Sql::Commit, Sql::Rollback]),
        18 => variables(rng),
        _ => pick(rng, [Sql::Warn, Sql::BrokenRows, Sql::Harmless]),
    }
}

/// A question about the last statement.
fn question(rng: &mut Rng) -> Sql {
    match rng.u8(0..7) {
        0 => Sql::ShowWarnings,
        1 => Sql::RowCount,
        2 => Sql::FoundRows,
        3 => Sql::ShowErrors,
        4 => Sql::ShowLimited(rng.usize(0..2)),
        5 => Sql::CountConditions(pick(rng, Asked::ALL)),
        _ => Sql::Warn,
    }
}

/// What is in a file.
fn rows(rng: &mut Rng, client: usize) -> Vec<(u32, i64)> {
    let first = SHARED_KEYS + client as u32 * OWN_KEYS;
    let count = rng.usize(0..12);
    let row = |_| (first + rng.u32(..OWN_KEYS), rng.i64(-3..3));
    (0..count).map(row).collect()
}

fn read(rng: &mut Rng, client: usize) -> Sql {
    let first = SHARED_KEYS + client as u32 * OWN_KEYS;
    match rng.u8(0..3) {
        0 if rng.bool() => Sql::Count(first, first + rng.u32(..OWN_KEYS)),
        0 => Sql::ReadRange(first, first + OWN_KEYS - 1),
        _ => Sql::ReadKey(first + rng.u32(..OWN_KEYS)),
    }
}

fn write(rng: &mut Rng, client: usize) -> Sql {
    if rng.u8(0..3) == 0 {
        return Sql::Bump(rng.u32(..SHARED_KEYS));
    }
    write_own(rng, client)
}

fn write_own(rng: &mut Rng, client: usize) -> Sql {
    let first = SHARED_KEYS + client as u32 * OWN_KEYS;
    Sql::WriteKey(first + rng.u32(..OWN_KEYS), rng.i64(-3..3))
}

/// Several statements in one text. None of them can wait for a row: they use the client's own.
fn several(rng: &mut Rng, client: usize) -> Sql {
    let one = |rng: &mut Rng| match rng.u8(0..16) {
        0..3 => Sql::Literal(format!("part {}", rng.u8(..))),
        3..6 => read(rng, client),
        6..10 => write_own(rng, client),
        10 => Sql::Insert,
        11 => pick(rng, [Sql::Begin, Sql::Commit, Sql::Rollback]),
        12 => Sql::Warn,
        13 => pick(rng, [Sql::NoTable, Sql::BrokenRows, Sql::Nonsense]),
        14 => match rng.u8(0..3) {
            0 => assigning(rng),
            1 => Sql::ReadUser(user_names(rng)),
            _ => Sql::Schema,
        },
        _ => pick(rng, [Sql::LastInsertId, Sql::RowCount]),
    };
    let mut parts: Vec<_> = (0..rng.usize(2..5)).map(|_| one(rng)).collect();
    if parts[0] == Sql::RowCount {
        // Of the statement before, which ran somewhere else.
        parts[0] = Sql::Schema;
    }
    Sql::Multiple(parts)
}

/// A value that nobody else chooses, as good as surely.
fn global(rng: &mut Rng) -> u64 {
    rng.u64(1_000_000..1 << 40)
}

fn insert(rng: &mut Rng) -> Sql {
    pick(rng, [Sql::Insert, Sql::LastInsertId])
}

fn state(rng: &mut Rng) -> Sql {
    const NAMES: [&str; 10] = [
        RESULTS_COLLATION,
        "sql_mode",
        "autocommit",
        "sort_buffer_size",
        "time_zone",
        "character_set_client",
        "character_set_results",
        "collation_connection",
        "tx_isolation",
        "wait_timeout",
    ];
    if rng.u8(0..4) == 0 {
        return Sql::Schema;
    }
    let count = rng.usize(1..4);
    Sql::ReadVariables((0..count).map(|_| pick(rng, NAMES).to_owned()).collect())
}

fn variables(rng: &mut Rng) -> Sql {
    const VALUES: [(&str, &str); 13] = [
        ("autocommit", "0"),
        ("autocommit", "1"),
        ("sort_buffer_size", "65536"),
        ("sort_buffer_size", "131072"),
        ("group_concat_max_len", "4096"),
        ("sql_mode", "NO_BACKSLASH_ESCAPES"),
        ("sql_mode", "ANSI_QUOTES,NO_ZERO_DATE"),
        ("time_zone", "+02:00"),
        ("foreign_key_checks", "0"),
        ("max_statement_time", "2.5"),
        ("tx_isolation", "READ-COMMITTED"),
        ("wait_timeout", "300"),
        ("wait_timeout", "1"),
    ];
    match rng.u8(0..12) {
        0 => return names(rng, "utf8mb4"),
        1 => return names(rng, "latin1"),
        2 => return assign("collation_connection", Some("latin1_bin")),
        3 => return assign("character_set_results", Some(NULL)),
        4 => return assign("character_set_results", Some("latin1")),
        5 => return assign("character_set_results", Some("utf8mb4")),
        _ => {}
    }
    let mut assignments = Vec::new();
    for _ in 0..rng.usize(1..3) {
        let (name, value) = pick(rng, VALUES);
        let value = (rng.u8(0..4) > 0).then(|| value.to_owned());
        let name = name.to_owned();
        assignments.push(Assignment { name, value });
    }
    if rng.u8(0..12) == 0 {
        let (name, value) = ("nosuch".to_owned(), Some("1".to_owned()));
        assignments.push(Assignment { name, value });
    }
    Sql::Set(assignments)
}

/// Assigns user variables, some so that the text does not tell the value, or session tracking is
/// silent about it.
fn assigning(rng: &mut Rng) -> Sql {
    if rng.u8(0..3) == 0 {
        return Sql::AssignUser(user_name(rng), rng.i64(..));
    }
    let mut assignments = Vec::new();
    for _ in 0..rng.usize(1..4) {
        let (name, value) = (user_name(rng), rng.i64(..).to_string());
        let value = Some(if rng.u8(0..6) == 0 {
            NULL.to_owned()
        } else {
            value
        });
        assignments.push(Assignment { name, value });
    }
    if let (0, Sql::Set(others)) = (rng.u8(0..4), variables(rng)) {
        assignments.extend(others);
    }
    Sql::Set(assignments)
}

fn user_names(rng: &mut Rng) -> Vec<String> {
    (0..rng.usize(1..4)).map(|_| user_name(rng)).collect()
}

fn user_name(rng: &mut Rng) -> String {
    pick(rng, ["@x", "@y", "@z"]).to_owned()
}

fn assign(name: &str, value: Option<&str>) -> Sql {
    Sql::Set(vec![Assignment {
        name: name.to_owned(),
        value: value.map(str::to_owned),
    }])
}

fn names(rng: &mut Rng, charset: &str) -> Sql {
    let collation = rng.bool().then(|| format!("{charset}_bin"));
    Sql::SetNames(charset.to_owned(), collation)
}

fn schema(rng: &mut Rng) -> Request {
    let schema = match rng.u8(0..8) {
        0 => "nosuch",
        _ => pick(rng, SCHEMAS),
    };
    match rng.bool() {
        true => Request::Query(Sql::Use(schema.to_owned())),
        false => Request::InitDb(schema.to_owned()),
    }
}

fn pinning(rng: &mut Rng) -> Sql {
    let lock = format!("l{}", rng.u8(0..3));
    match rng.u8(0..12) {
        0 => assigning(rng),
        1 => Sql::ReadUser(user_names(rng)),
        2 => Sql::CreateTemporary,
        3 => Sql::InsertTemporary(rng.i64(0..100)),
        4 => Sql::ReadTemporary,
        5 => Sql::DropTemporary,
        6 => Sql::GetLock(lock),
        7 => Sql::ReleaseAllLocks,
        8 => Sql::LockTables,
        9 => Sql::UnlockTables,
        10 => Sql::Leave,
        _ => Sql::ReleaseLock(lock),
    }
}

fn large(rng: &mut Rng) -> usize {
    match rng.u8(0..4) {
        0 => rng.usize(20_000..300_000),
        _ => rng.usize(1..20_000),
    }
}

fn pick<T, const N: usize>(rng: &mut Rng, of: [T; N]) -> T {
    let mut of = Vec::from(of);
    of.swap_remove(rng.usize(..N))
}
