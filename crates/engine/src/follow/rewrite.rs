//! Statements that ask for what a backend would answer with its own: they are sent with the session's value in place.

use carry::conditions::uses_tables;
use carry::packet::mentions;
use carry::prepared::counting::counting_text;
use carry::rewrite::{Live, Rewrite, concerns, in_place_of, select_of_one, unsigned};
use session::statement::{
    Dialect, Flavor, Kind, Known, PinReason, Statement, Traits, lone, quoted_name, scoped,
    substitute,
};

use crate::record::client::Client;
use crate::record::settings::Settings;

/// Longer texts are sent as they are.
const TEXT_MAX: usize = 64 << 10;

/// What the session is told in place of what its text would say on the backend.
pub(crate) fn rewrite(
    statement: &Statement,
    text: &[u8],
    dialect: &Dialect,
    client: &Client,
    live: Live,
    settings: &Settings,
) -> Option<Rewrite> {
    if !concerns(statement) {
        return None;
    }
    let unscoped = statement.traits.contains(Traits::SETS_UNSCOPED);
    let scoped = unscoped.then(|| scoped(text, dialect)).flatten();
    let text = scoped.as_deref().unwrap_or(text);
    if text.len() > TEXT_MAX {
        return scoped.map(Rewrite::of_text);
    }
    // MariaDB empties the list before it looks at the count.
    let asks_alone = statement.kind == Kind::Show;
    let empties = dialect.flavor == Flavor::MariaDb && !asks_alone && uses_tables(statement, text);
    let count = |known| match known {
        Known::WarningCount | Known::ErrorCount if live.warnings || empties => None,
        Known::FoundRows if live.found_rows => None,
        known => client.capture.count(known, dialect.flavor),
    };
    let alone = lone(text, dialect);
    if let Some((known, name)) = alone
        && let Some(count) = count(known)
    {
        let name = quoted_name(&name, dialect.charset);
        return Some(of_one_count(known, &name, count));
    }
    // The server ends what has its own id, and lists it.
    let is_kill = statement.kind == Kind::Kill;
    let value = |known| match (known, count(known)) {
        (known, _) if is_kill && is_id(known) || is_backends_own(known, text) => None,
        (Known::RowCount | Known::FoundRows, Some(count)) => {
            Some(in_place_of(known, &count.to_string()))
        }
        (_, Some(count)) => Some(in_place_of(known, &unsigned(count))),
        (Known::LastGtid, _) => client.last_gtid(dialect.flavor),
        (known, None) => constant(known, client, settings),
    };
    let text = match substitute(text, dialect, value) {
        Some(text) => text,
        None => scoped?,
    };
    Some(Rewrite::of_text(text))
}

/// The text that Myriad prepares in place of a client's: with what stays the same for as long as the client is connected,
/// or, for a statement that asks for one count alone, with LAST_INSERT_ID(), which brings it across.
pub(crate) fn prepared_text(
    text: &[u8],
    dialect: &Dialect,
    client: &Client,
    counted: Option<Known>,
    settings: &Settings,
) -> Option<Vec<u8>> {
    if text.len() > TEXT_MAX {
        return None;
    }
    if counted.is_some() {
        return counting_text(text, dialect);
    }
    let value = |known| match known {
        known if is_backends_own(known, text) => None,
        known => constant(known, client, settings),
    };
    substitute(text, dialect, value)
}

/// True if a text may look for its own connection in a list of the server's, among the holders of locks, or among the
/// threads of MySQL's performance schema: there are the ids of backends.
fn lists_connections(text: &[u8]) -> bool {
    const NAMES: [&[u8]; 13] = [
        b"processlist",
        b"sys.session",
        b"x$session",
        b"innodb_session_temp_tablespaces",
        b"general_log",
        b"slow_log",
        b"metadata_lock_info",
        b"trx_mysql_thread_id",
        b"is_used_lock",
        b"ps_thread_",
        b"ps_is_thread_",
        b"ps_setup_",
        b"ps_trace_thread",
    ];
    NAMES.into_iter().any(|name| mentions(text, name))
}

/// True of the two ids of a connection.
fn is_id(known: Known) -> bool {
    matches!(known, Known::ConnectionId | Known::PseudoThreadId)
}

/// True of an id that a text may compare with what the server says of its own.
fn is_backends_own(known: Known, text: &[u8]) -> bool {
    const VARIABLES: [&[u8]; 2] = [b"session_variables", b"variables_by_thread"];
    let lists_variables = || VARIABLES.into_iter().any(|name| mentions(text, name));
    is_id(known) && lists_connections(text) || known == Known::PseudoThreadId && lists_variables()
}

/// The expression for what does not change while the client is connected.
fn constant(known: Known, client: &Client, settings: &Settings) -> Option<String> {
    match known {
        Known::ConnectionId => Some(unsigned(client.id)),
        // The session may have set it.
        Known::PseudoThreadId if client.pins.contains(PinReason::ReplicationVariable) => None,
        Known::PseudoThreadId => Some(in_place_of(known, &unsigned(client.id))),
        known => settings.address.expression(known),
    }
}

/// A statement that has the same answer, type and column name for a captured number, which LAST_INSERT_ID() brings
/// across. `name` is quoted.
fn of_one_count(known: Known, name: &[u8], count: i64) -> Rewrite {
    Rewrite {
        text: select_of_one(known, name),
        insert_id: Some(count as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carry::rewrite::PublicAddress;

    #[test]
    fn a_count_below_zero_is_told_as_one() {
        let rewrite = of_one_count(Known::RowCount, b"`c`", -1);
        assert_eq!(rewrite.insert_id.map(|id| id as i64), Some(-1));
        assert_eq!(
            rewrite.text,
            b"SELECT CAST(LAST_INSERT_ID() AS SIGNED) AS `c`"
        );
    }

    #[test]
    fn a_count_of_found_rows_is_told_with_the_warning_of_the_call() {
        let rewrite = of_one_count(Known::FoundRows, b"`n`", 3);
        let text = b"SELECT CAST(LAST_INSERT_ID() AS SIGNED) AS `n` \
            FROM DUAL WHERE FOUND_ROWS() IS NOT NULL";
        assert_eq!(rewrite.text, text);
    }

    #[test]
    fn whoever_lists_connections_is_told_of_the_backend() {
        assert!(lists_connections(
            b"SELECT 1 FROM information_schema.ProcessList WHERE id=CONNECTION_ID()"
        ));
        assert!(lists_connections(
            b"SELECT IS_USED_LOCK('a') = CONNECTION_ID()"
        ));
        assert!(lists_connections(
            b"CALL sys.ps_setup_disable_thread(CONNECTION_ID())"
        ));
        assert!(!lists_connections(b"SELECT CONNECTION_ID()"));
    }

    #[test]
    fn whoever_lists_variables_is_told_of_the_backends() {
        let text =
            b"SELECT @@pseudo_thread_id, CONNECTION_ID() FROM information_schema.SESSION_VARIABLES";
        assert!(is_backends_own(Known::PseudoThreadId, text));
        assert!(!is_backends_own(Known::ConnectionId, text));
        assert!(!is_backends_own(
            Known::PseudoThreadId,
            b"SELECT @@pseudo_thread_id"
        ));
        assert!(!is_backends_own(
            Known::Port,
            b"SELECT @@port FROM processlist"
        ));
    }

    #[test]
    fn addresses_are_literals() {
        let address = PublicAddress {
            port: Some(6033),
            socket: "/run/o'brien.sock".into(),
            ..PublicAddress::default()
        };
        for (known, expected) in [
            (Known::Port, Some("IF(0,@@port,CAST(6033 AS UNSIGNED))")),
            (Known::Socket, Some("IF(0,@@socket,'/run/obrien.sock')")),
            (Known::Hostname, None),
            (Known::RowCount, None),
        ] {
            assert_eq!(address.expression(known).as_deref(), expected);
        }
    }
}
