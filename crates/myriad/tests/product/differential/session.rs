//! Sessions from seeds: which classes of statements each mixes, and its lines.

use super::grammar::Grammar;
use crate::support::Numbers;

/// The rules, all files of them.
const RULES: [&str; 15] = [
    include_str!("grammar/asks.txt"),
    include_str!("grammar/changes.txt"),
    include_str!("grammar/commands.txt"),
    include_str!("grammar/conditions.txt"),
    include_str!("grammar/crowd.txt"),
    include_str!("grammar/holding.txt"),
    include_str!("grammar/login.txt"),
    include_str!("grammar/prepared.txt"),
    include_str!("grammar/queries.txt"),
    include_str!("grammar/routines.txt"),
    include_str!("grammar/schemas.txt"),
    include_str!("grammar/settings.txt"),
    include_str!("grammar/terms.txt"),
    include_str!("grammar/transactions.txt"),
    include_str!("grammar/variables.txt"),
];

/// The lines of a session without its login: so many, and up to so many more.
const LINES: usize = 8;
const MORE_LINES: usize = 28;

/// Every so many lines, a session asks about itself.
const ASKS: usize = 4;

/// The client of every so manieth session compresses, and of every so manieth keeps column definitions.
const COMPRESSED: u64 = 4;
const KEEPING: u64 = 5;

/// The line that asks where a session is, and how often it does at its end.
const WHERE: &str = "\\where";
const LOOKS: usize = 5;

/// The last line: nothing of the session may be left for the next one.
const NEWCOMER: &str = "\\newcomer";

/// What sessions may say: all of it, or with one class of lines, if somebody has named one.
pub(super) fn grammar() -> Grammar {
    let class = std::env::var("MYRIAD_DIFFERENTIAL_CLASS").unwrap_or_default();
    Grammar::new(RULES).only(&class)
}

/// Sessions that differed once, as they were after shortening; or those of a file that somebody has named.
pub(super) fn once() -> Vec<Vec<String>> {
    let named = std::env::var_os("MYRIAD_DIFFERENTIAL_FILE").map(std::fs::read_to_string);
    let sessions = named.map_or_else(|| include_str!("once.txt").to_owned(), Result::unwrap);
    let lines = |session: &str| {
        let lines = session.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let sessions = sessions.split("\n\n").map(lines);
    sessions.filter(|lines| !lines.is_empty()).collect()
}

/// The same login of a client that wants this, too.
pub(super) fn with(flag: &str, login: &str) -> String {
    let mut parts = login.splitn(3, ' ');
    let mut part = || parts.next().unwrap();
    let (login, flags, rest) = (part(), part(), part());
    match flags {
        "usual" => format!("{login} {flag} {rest}"),
        flags => format!("{login} {flags},{flag} {rest}"),
    }
}

/// The lines of the session of a seed: its login, and steps of one to three classes.
pub(super) fn session(grammar: &Grammar, seed: u64) -> Vec<String> {
    // Neighbouring seeds would begin with neighbouring numbers.
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let classes = grammar.classes();
    let count = 1 + numbers.below(3);
    let mixed: Vec<_> = (0..count)
        .map(|_| classes[numbers.below(classes.len())])
        .collect();
    let lines = LINES + numbers.below(MORE_LINES);
    let mut login = grammar.line("login", &mut numbers);
    for (every, flag) in [(COMPRESSED, "+COMPRESS"), (KEEPING, "*CACHE_METADATA")] {
        if seed.is_multiple_of(every) {
            login = with(flag, &login);
        }
    }
    let mut session = vec![login];
    for _ in 0..lines {
        let rule = match numbers.below(ASKS) {
            0 => "asks",
            _ => mixed[numbers.below(mixed.len())],
        };
        session.push(grammar.line(rule, &mut numbers));
    }
    // Where it is by then changes no answer any more, and shows whether it moves.
    session.extend(vec![WHERE.to_owned(); LOOKS]);
    session.push(NEWCOMER.to_owned());
    session
}

#[test]
fn all_rules_can_be_followed_and_a_seed_gives_one_session() {
    let grammar = Grammar::new(RULES);
    assert!(grammar.classes().len() > 15, "{:?}", grammar.classes());
    for seed in 0..2_000 {
        let lines = session(&grammar, seed);
        assert_eq!(lines, session(&grammar, seed));
        assert!(lines[0].starts_with("\\login "), "{}", lines[0]);
        assert!(lines.len() > LINES);
        for line in &lines {
            assert!(line.len() < 4_000, "seed {seed}: {line}");
        }
    }
    assert!(once().iter().all(|lines| lines[0].starts_with("\\login ")));
    let mut numbers = Numbers(1);
    for rule in ["crowd", "pinning"] {
        assert!(!grammar.line(rule, &mut numbers).is_empty());
    }
}
