//! The role of a session: read back after a SET ROLE, since no tracker names it, and taken on again on the
//! next backend. A role can have been revoked meanwhile, so that is awaited.

use session::SessionState;
use session::statement::Flavor;
use wire::{OkPacket, StateChange};

/// What the session's role is. With a limit of its own, for a session may want to see no rows.
pub const READ_ROLE: &[u8] = b"SELECT CURRENT_ROLE() LIMIT 1";

/// What stands behind SET ROLE to have the role that CURRENT_ROLE() tells. `None` if that cannot be written
/// so that it is read the same whatever the character set.
pub fn role(told: Option<&[u8]>, flavor: Flavor) -> Option<Box<[u8]>> {
    let Some(told) = told else {
        return Some((*b"NONE").into());
    };
    let plain = |byte: &u8| byte.is_ascii() && *byte != 0;
    if !told.iter().all(plain) {
        return None;
    }
    Some(match flavor {
        Flavor::MySql => told.into(),
        Flavor::MariaDb => {
            let name = told.split(|&byte| byte == b'`').collect::<Vec<_>>();
            [b"`", &name.join(&b"``"[..])[..], b"`"].concat().into()
        }
    })
}

/// What an answer says of the next transaction.
pub fn follow_next_transaction(session: &mut SessionState, ok: &OkPacket<'_>) {
    for change in ok.changes() {
        if let StateChange::TransactionCharacteristics(text) = change {
            session.set_next_transaction(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_as_they_are_written() {
        let (mariadb, mysql) = (Flavor::MariaDb, Flavor::MySql);
        for (told, flavor, expected) in [
            (None, mariadb, Some("NONE")),
            (Some("a`b"), mariadb, Some("`a``b`")),
            (Some("NONE"), mysql, Some("NONE")),
            (Some("`a`@`%`,`b`@`%`"), mysql, Some("`a`@`%`,`b`@`%`")),
            (Some("\u{e4}"), mariadb, None),
        ] {
            let written = role(told.map(str::as_bytes), flavor);
            assert_eq!(written.as_deref(), expected.map(str::as_bytes), "{told:?}");
        }
    }
}
