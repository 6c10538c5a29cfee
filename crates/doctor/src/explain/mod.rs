//! What an error means, who says it, and what to do: one table for the doctor, the load generator and
//! whoever pastes a message.
//!
//! The entries are in a file per kind of number. Numbers of the three kinds do not overlap.

mod client;
mod os;
mod server;

use serde::Serialize;

/// An error that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// Whose numbers these are.
    pub kind: Kind,
    /// Its number.
    pub number: u16,
    /// Its symbol.
    pub name: &'static str,
    /// What it means and what to do, in one sentence.
    pub brief: &'static str,
    /// Who says it, and when.
    pub who: &'static str,
    /// What to do, at more length.
    pub fix: &'static str,
    /// The check that predicts it, if one does.
    pub check: Option<&'static str>,
}

/// Whose number an error has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The operating system's `errno`.
    Os,
    /// The client library's.
    Client,
    /// The server's.
    Server,
}

/// What is known about an `errno`.
pub fn explain_os(errno: i32) -> Option<&'static Explanation> {
    os::TABLE
        .iter()
        .find(|entry| i32::from(entry.number) == errno)
}

/// What is known about an error number of a server.
pub fn explain_server(number: u16) -> Option<&'static Explanation> {
    server::TABLE.iter().find(|entry| entry.number == number)
}

/// All errors that are named in `text`: a number, a symbol, or a whole message such as
/// `error 2003: Can't connect to MySQL server on '10.0.0.1' (99)`.
pub fn explain(text: &str) -> Vec<&'static Explanation> {
    let mut found: Vec<&'static Explanation> = Vec::new();
    // A dot parts the numbers of addresses and versions, which are no errors.
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.');
    for word in words.map(|word| word.trim_end_matches('.')) {
        let Some(entry) = explanations().find(|entry| entry.is_called(word)) else {
            continue;
        };
        if !found.contains(&entry) {
            found.push(entry);
        }
    }
    found
}

/// All that is known.
pub fn explanations() -> impl Iterator<Item = &'static Explanation> {
    os::TABLE.iter().chain(client::TABLE).chain(server::TABLE)
}

impl Explanation {
    fn is_called(&self, word: &str) -> bool {
        word.parse() == Ok(self.number) || word.eq_ignore_ascii_case(self.name)
    }
}

impl Kind {
    /// What its numbers are called.
    pub fn title(self) -> &'static str {
        match self {
            Self::Os => "errno",
            Self::Client => "client error",
            Self::Server => "server error",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<u16> {
        explain(text).iter().map(|entry| entry.number).collect()
    }

    #[test]
    fn numbers_symbols_and_whole_messages_are_understood() {
        assert_eq!(numbers("99"), [99]);
        assert_eq!(numbers("emfile"), [24]);
        assert_eq!(numbers("ER_CON_COUNT_ERROR"), [1040]);
        let messages = [
            (
                "FATAL: error 2004: Can't create TCP/IP socket (24)",
                vec![2004, 24],
            ),
            (
                "FATAL: error 2003: Can't connect to MySQL server on '139.178.82.47' (99)",
                vec![2003, 99],
            ),
            (
                "Can't create a new thread (errno 11); if you are not out of …",
                vec![11],
            ),
            (
                "pthread_create() for thread #32352 failed. errno = 12 (Cannot allocate memory)",
                vec![12],
            ),
            ("ERROR 1040 (08004): Too many connections.", vec![1040]),
        ];
        for (message, expected) in messages {
            assert_eq!(numbers(message), expected, "{message}");
        }
        assert!(numbers("all is well, 4242").is_empty());
    }

    #[test]
    fn no_number_has_two_meanings_and_every_sentence_is_there() {
        let mut seen = std::collections::BTreeSet::new();
        for entry in explanations() {
            assert!(seen.insert(entry.number), "{}", entry.number);
            assert!(!entry.name.is_empty());
            for text in [entry.brief, entry.who, entry.fix] {
                assert!(
                    text.len() > 10 && !text.ends_with('.'),
                    "{}: {text}",
                    entry.number
                );
            }
        }
        assert!(seen.len() > 50, "{}", seen.len());
    }

    #[test]
    fn checks_that_are_named_exist() {
        let known: Vec<&str> = crate::names().collect();
        for check in explanations().filter_map(|entry| entry.check) {
            assert!(known.contains(&check), "{check}");
        }
    }
}
