//! The variables that MariaDB, since 11.3, tells with the OK of a login: those that `session_track_system_variables` lists.
//! Taken from the OK of the backend that logged in last; what differs between sessions is put in place.

use carry::track_filter::put_variable;
use session::{Charset, SessionState};
use wire::{OkPacket, StateChange};

/// A variable's name and its value.
type Variable = (Box<[u8]>, Box<[u8]>);

/// The variables of the last login, in the order of the server.
#[derive(Debug, Default)]
pub(crate) struct ToldAtLogin {
    variables: Vec<Variable>,
}

/// A value that is another one for each session.
pub(crate) enum Own<'a> {
    /// This.
    Value(&'a [u8]),
    /// It is not known yet.
    Unknown,
    /// That of all sessions.
    Common,
}

impl ToldAtLogin {
    /// A backend has logged in.
    pub(crate) fn learn(&mut self, ok: &OkPacket<'_>) {
        let variable = |change| match change {
            StateChange::SystemVariable { name, value } => Some((name.into(), value.into())),
            _ => None,
        };
        self.variables.clear();
        self.variables.extend(ok.changes().filter_map(variable));
    }

    /// A global variable was changed: nothing is told until a backend logs in.
    pub(crate) fn forget(&mut self) {
        self.variables.clear();
    }

    /// Appends what a client is told, by what is its own.
    pub(crate) fn put<'a>(&'a self, own: impl Fn(&[u8]) -> Own<'a>, block: &mut Vec<u8>) {
        for (name, common) in &self.variables {
            match own(name) {
                Own::Value(value) => put_variable(name, value, block),
                Own::Common => put_variable(name, common, block),
                Own::Unknown => {}
            }
        }
    }
}

pub(crate) fn own<'a>(
    name: &[u8],
    autocommit: bool,
    (session, charset): (&'a SessionState, Option<&'a Charset>),
) -> Own<'a> {
    let of_charset = |value: fn(&'a Charset) -> &'a [u8]| match charset {
        Some(charset) => Own::Value(value(charset)),
        None => Own::Unknown,
    };
    match name {
        b"autocommit" if autocommit => Own::Value(b"ON"),
        b"autocommit" => Own::Value(b"OFF"),
        b"character_set_client" => of_charset(|charset| &charset.client),
        b"character_set_results" => {
            of_charset(|charset| charset.results.as_deref().unwrap_or_default())
        }
        b"character_set_connection" => of_charset(Charset::of_connection),
        b"collation_connection" => of_charset(|charset| &charset.collation),
        // It would lead past the front door (rule 14a).
        b"redirect_url" => Own::Value(b""),
        name => session.variables.get(name).map_or(Own::Common, Own::Value),
    }
}

#[cfg(test)]
mod tests {
    use session::Interner;

    use super::*;
    use carry::track_filter::put_schema;

    fn told(autocommit: bool, charset: Option<&Charset>, learned: &ToldAtLogin) -> Vec<String> {
        let mut session = SessionState::new(45, &Interner::default());
        session.set_variable(b"wait_timeout", b"7", &mut Interner::default());
        let mut block = Vec::new();
        let own = |name: &[u8]| own(name, autocommit, (&session, charset));
        learned.put(own, &mut block);
        let ok = OkPacket {
            state_changes: &block,
            ..OkPacket::default()
        };
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let line = |change| match change {
            StateChange::SystemVariable { name, value } => text(name) + "=" + &text(value),
            other => format!("{other:?}"),
        };
        ok.changes().map(line).collect()
    }

    fn learned() -> ToldAtLogin {
        let mut block = Vec::new();
        for (name, value) in [
            ("autocommit", "ON"),
            ("time_zone", "SYSTEM"),
            ("wait_timeout", "28800"),
            ("character_set_client", "utf8mb4"),
            ("character_set_connection", "utf8mb4"),
            ("character_set_results", "utf8mb4"),
            ("sql_auto_is_null", "OFF"),
            ("redirect_url", "mysql://elsewhere"),
        ] {
            put_variable(name.as_bytes(), value.as_bytes(), &mut block);
        }
        put_schema(b"shop", &mut block);
        let mut learned = ToldAtLogin::default();
        learned.learn(&OkPacket {
            state_changes: &block,
            ..OkPacket::default()
        });
        learned
    }

    #[test]
    fn a_client_is_told_what_its_own_session_begins_with() {
        let charset = Charset {
            client: b"latin1"[..].into(),
            results: None,
            results_collation: None,
            collation: b"utf8mb3_bin"[..].into(),
        };
        assert_eq!(
            told(false, Some(&charset), &learned()),
            [
                "autocommit=OFF",
                "time_zone=SYSTEM",
                "wait_timeout=7",
                "character_set_client=latin1",
                "character_set_connection=utf8mb3",
                "character_set_results=",
                "sql_auto_is_null=OFF",
                "redirect_url=",
            ]
        );
    }

    #[test]
    fn nothing_is_told_of_character_sets_that_are_not_known() {
        let others = told(true, None, &learned());
        assert_eq!(others.len(), 5, "{others:?}");
        assert!(told(true, None, &ToldAtLogin::default()).is_empty());
    }
}
