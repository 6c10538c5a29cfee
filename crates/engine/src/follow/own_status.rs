//! What a client's own connection is like: a backend would tell of its own.

use carry::rewrite::Rewrite;
use session::statement::{Kind, Statement};

use crate::record::client::Client;

/// The status variables about a connection that are asked for by clients to see whether they have what they wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    Cipher,
    Version,
    Compression,
}

impl Own {
    /// All, as the servers write their names.
    const ALL: [(&str, Self); 3] = [
        ("Ssl_cipher", Self::Cipher),
        ("Ssl_version", Self::Version),
        ("Compression", Self::Compression),
    ];

    fn value(self, client: &Client) -> &str {
        let tls = client.origin.tls.as_deref();
        match self {
            Self::Cipher => tls.map(|facts| facts.cipher).unwrap_or_default(),
            Self::Version => tls.map(|facts| facts.version).unwrap_or_default(),
            Self::Compression if client.compresses() => "ON",
            Self::Compression => "OFF",
        }
    }
}

/// What is sent in place of a text that asks for a status variable of its own connection.
pub(crate) fn own_status(statement: &Statement, text: &[u8], client: &Client) -> Option<Rewrite> {
    if statement.kind != Kind::Show {
        return None;
    }
    let (name, own) = asked_for(text)?;
    let value = own.value(client);
    let text = format!("SELECT '{name}' AS Variable_name,'{value}' AS Value");
    Some(Rewrite::of_text(text.into_bytes()))
}

/// The status variable that a `SHOW STATUS LIKE` names.
fn asked_for(text: &[u8]) -> Option<(&'static str, Own)> {
    let text = str::from_utf8(text).ok()?.trim_end_matches([';', ' ']);
    let mut words = text.split_ascii_whitespace();
    let mut next = || words.next().unwrap_or_default();
    let is = |expected: &str, word: &str| word.eq_ignore_ascii_case(expected);
    let first = next();
    let mut second = next();
    if is("SESSION", second) || is("LOCAL", second) {
        second = next();
    }
    let known = is("SHOW", first) && is("STATUS", second) && is("LIKE", next());
    let name = next().strip_prefix('\'')?.strip_suffix('\'')?;
    let found = Own::ALL
        .into_iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.filter(|_| known && words.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_clients_own_connection_is_asked_for() {
        for (text, expected) in [
            ("SHOW STATUS LIKE 'Ssl_cipher'", Some(Own::Cipher)),
            (
                " show  session status\nlike 'ssl_VERSION' ; ",
                Some(Own::Version),
            ),
            ("SHOW LOCAL STATUS LIKE 'ssl_cipher';", Some(Own::Cipher)),
            ("SHOW STATUS LIKE 'compression'", Some(Own::Compression)),
            ("SHOW GLOBAL STATUS LIKE 'ssl_cipher'", None),
            ("SHOW STATUS LIKE 'Ssl_%'", None),
            ("SHOW STATUS LIKE 'Ssl_cipher' OR 1", None),
            ("SHOW VARIABLES LIKE 'Ssl_cipher'", None),
            ("SHOW STATUS LIKE 'Ssl_cipher", None),
            ("SHOW STATUS", None),
            ("", None),
        ] {
            let found = asked_for(text.as_bytes()).map(|(_, own)| own);
            assert_eq!(found, expected, "{text}");
        }
    }
}
