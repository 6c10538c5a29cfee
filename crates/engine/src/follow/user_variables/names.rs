//! Which user variables there are: asked of the backend where something may have assigned them that no
//! statement's text shows, such as a trigger.

use carry::roles::role;
use carry::tracking::Tracked;
use session::statement::{Flavor, Kind, PinReason, Traits, carried_name};
use wire::{ErrPacket, TextResultSet, code};

use crate::follow::roles::ROLE;
use crate::follow::user_variables::UNREAD_MAX;
use crate::record::backend::ClientCommand;
use crate::record::carried::{Carried, Kept};
use crate::record::pair::Pair;

/// Which user variables there are.
pub(crate) static NAMES: Carried = Carried {
    // Not everybody may list them.
    must_be_answered: false,
    ask: |pair, outbox, _| {
        let question = question(pair.known.flavor());
        pair.backend
            .ask_about(outbox, &NAMES, Kept::Nothing, question);
        true
    },
    told: |pair, _, reply| pair.learn_names(reply.rows),
    ..Carried::NOTHING
};

/// Which variables there are, and whether they are NULL. More than can be carried need not be told. MariaDB also tells in a
/// row without a name what else the same statement may have changed: whether the session is tracked, and its role.
fn question(flavor: Flavor) -> &'static [u8] {
    match flavor {
        Flavor::MariaDb => {
            b"SELECT VARIABLE_NAME, VARIABLE_VALUE IS NULL \
            FROM information_schema.USER_VARIABLES \
            UNION ALL SELECT NULL, CONCAT_WS('/', @@session_track_system_variables='*' \
            AND @@session_track_schema AND @@session_track_state_change \
            AND @@session_track_transaction_info<>'OFF', CURRENT_ROLE()) LIMIT 257"
        }
        // Not everybody may. A thread that the performance schema does not know has no variables there: then it is
        // said by a row that no variable has.
        Flavor::MySql => {
            b"SELECT VARIABLE_NAME, VARIABLE_VALUE IS NULL \
            FROM performance_schema.user_variables_by_thread \
            WHERE THREAD_ID=PS_CURRENT_THREAD_ID() \
            UNION ALL SELECT NULL, NULL FROM DUAL WHERE PS_CURRENT_THREAD_ID() IS NULL LIMIT 257"
        }
    }
}

/// True if the account is never told which variables there are: by the next connection's server neither. Other
/// errors, such as that of a KILL, concern this question alone.
fn hides_list(error: &[u8]) -> bool {
    const HIDES: [u16; 5] = [
        code::SCHEMA_ACCESS_DENIED,
        code::UNKNOWN_TABLE,
        code::TABLE_ACCESS_DENIED,
        code::COLUMN_ACCESS_DENIED,
        code::NO_SUCH_TABLE,
    ];
    ErrPacket::parse(error).is_ok_and(|error| HIDES.contains(&error.code))
}

/// What MariaDB tells besides, in a row without a name: whether the session is tracked as it was, and its role.
fn status(row: &[Option<Vec<u8>>]) -> Option<(bool, Option<&[u8]>)> {
    let [None, Some(told)] = row else {
        return None;
    };
    let (tracked, role) = told.split_first()?;
    Some((*tracked == b'1', role.strip_prefix(b"/")))
}

/// A variable that the server lists, and whether it is NULL. `None` if it cannot be carried.
fn listed(row: &[Option<Vec<u8>>]) -> Option<(Box<[u8]>, bool)> {
    let [Some(name), Some(null)] = row else {
        return None;
    };
    let name = carried_name(name)?.to_ascii_lowercase();
    Some((name.into(), null == b"1"))
}

/// True of a statement by which a trigger, or a function behind a view, may do what its text does not show.
pub(crate) fn may_do_unseen(command: &ClientCommand) -> bool {
    matches!(
        command.kind,
        Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete | Kind::Load | Kind::Select
    ) || command.traits.contains(Traits::RUNS_KNOWN_BODY)
}

/// True if the bodies that a statement has run say what may have changed: variables with names that are read back in any
/// case, or those that the server tells of. MySQL does not tell everybody which there are.
fn shown_by_bodies(command: &ClientCommand) -> bool {
    let shown = Traits::ASSIGNS_USER_VARIABLES | Traits::SETS_VARIABLE;
    let others = Traits::SETS_BEHIND | Traits::UNKNOWN_CALL;
    command.traits.intersects(shown) && !command.traits.intersects(others)
}

impl Pair<'_> {
    /// A statement was answered by which the server says that something of the session has changed,
    /// and the text does not say what: a trigger, or a function behind a view. The server is asked which
    /// variables there are, if it tells the account.
    pub(crate) fn changed_unseen(&mut self, command: &ClientCommand, tracked: Tracked) {
        let calls = command.traits.contains(Traits::RUNS_KNOWN_BODY);
        if calls && self.known.flavor() == Flavor::MySql && shown_by_bodies(command) {
            return;
        }
        // What was prepared in another schema changes that for as long as it runs, and the server says so.
        let moves = command.kind == Kind::Select && tracked.schema;
        // One of several statements, which may be a SET.
        let others = command.untold.as_ref().is_none_or(|sets| sets.has_others());
        let told = tracked.told && !(others && self.known.is_unsound());
        let one = command.kind == Kind::Multiple && !told;
        let seen = Traits::ASSIGNS_USER_VARIABLES | Traits::UNKNOWN_CALL;
        let unseen = (one || may_do_unseen(command)) && !moves && !command.traits.intersects(seen);
        if !calls && !unseen {
            return;
        }
        self.may_have_set_unseen();
        if !self.client.pins.contains(PinReason::UserVariable) {
            self.ask_for_names();
        }
    }

    /// Which variables there are is asked next; the session is pinned if its account is not told.
    pub(crate) fn ask_for_names(&mut self) {
        match self.may_ask() && !self.key.hides_variables {
            true => self.asks(&NAMES),
            false => self.pin_late(PinReason::UserVariable),
        }
    }

    /// The backend told which variables there are: those that may be the session's are read back.
    fn learn_names(&mut self, answer: Result<&TextResultSet, &[u8]>) {
        self.key.hides_variables |= answer.is_err_and(hides_list);
        if let Some((tracked, role)) = answer.ok().and_then(|rows| rows.rows().find_map(status)) {
            self.learn_status(tracked, role);
        }
        let rows = answer.ok().map(TextResultSet::rows);
        let rows = rows.map(|rows| rows.filter(|row| status(row).is_none()));
        let names: Option<Vec<_>> = rows.and_then(|rows| rows.map(listed).collect());
        let Some(mut names) = names.filter(|names| names.len() <= UNREAD_MAX) else {
            return self.pin_late(PinReason::UserVariable);
        };
        let here = &mut self.backend.leftovers.variables;
        names.retain(|(name, null)| !(*null && here.cleared.contains(name)));
        here.assigns(names.into_iter().map(|(name, _)| name));
    }

    /// What else may have been changed unseen: then the role is read back, and a session that is not tracked any more
    /// keeps its backend.
    fn learn_status(&mut self, tracked: bool, told: Option<&[u8]>) {
        if !tracked {
            self.pin_late(PinReason::SessionTracking);
        }
        let told = role(told, self.known.flavor());
        let backend = &mut *self.backend;
        let known = backend.session.role().or(backend.login_role.as_deref());
        if known.is_some_and(|known| told.as_deref() != Some(known)) {
            self.asks(&ROLE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lasts_hides_the_list_from_an_account() {
        for (code, hides) in [
            (1142, true),
            (1044, true),
            (1146, true),
            (1317, false),
            (1205, false),
        ] {
            let mut packet = Vec::new();
            let error = ErrPacket {
                code,
                sql_state: b"HY000",
                message: b"no",
            };
            error.encode(&mut packet, 1, wire::Capabilities::PROTOCOL_41);
            assert_eq!(hides_list(&packet[wire::HEADER_LEN..]), hides, "{code}");
        }
    }

    #[test]
    fn a_row_without_a_name_tells_of_tracking_and_the_role() {
        let row = |told: Option<&str>| [None, told.map(|told| told.as_bytes().to_vec())];
        assert_eq!(status(&row(Some("1"))), Some((true, None)));
        assert_eq!(status(&row(Some("0/r"))), Some((false, Some(&b"r"[..]))));
        assert_eq!(status(&row(None)), None);
    }

    #[test]
    fn a_row_that_no_variable_has_is_none() {
        let value = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(
            listed(&[value("A"), value("1")]),
            Some((Box::from(*b"a"), true))
        );
        assert_eq!(listed(&[None, None]), None);
    }
}
