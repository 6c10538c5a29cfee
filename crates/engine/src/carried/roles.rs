//! The role of a session: read back after a SET ROLE, since no tracker names it, and taken on again on the
//! next backend. A role can have been revoked meanwhile, so that is awaited.

use membership::Key;
use session::Role;
use session::statement::{Flavor, PinReason};
use wire::{OkPacket, StateChange, TextResultSet};

use crate::Engine;
use crate::backend::{Backend, Purpose, RestorePart};

/// What the session's role is. With a limit of its own, for a session may want to see no rows.
pub(crate) const READ_ROLE: &[u8] = b"SELECT CURRENT_ROLE() LIMIT 1";

/// What stands behind SET ROLE to have the role that CURRENT_ROLE() tells. `None` if that cannot be written
/// so that it is read the same whatever the character set.
pub(crate) fn role(told: Option<&[u8]>, flavor: Flavor) -> Option<Box<[u8]>> {
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

/// Appends the SET ROLE of a restore.
pub(crate) fn put_role(outbox: &mut Vec<u8>, backend: &mut Backend, role: &Role) {
    let name = match role {
        Role::Named(name) => name,
        Role::OfLogin => backend.login_role.as_deref().unwrap_or(b"NONE"),
    };
    backend.put_query(outbox, &[b"SET ROLE ", name].concat());
    let previous = backend.session.role().map(Into::into);
    backend.expect(Purpose::Restore(RestorePart::Role(previous)));
}

impl Engine {
    /// The backend told the role of the attached session.
    pub(crate) fn learn_role(&mut self, key: Key, rows: &TextResultSet) {
        let flavor = self.flavor();
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let way_back = backend.login_role.as_ref();
        let way_back = way_back.is_some_and(|role| !role.is_empty());
        let role = role(rows.first(0), flavor).filter(|_| way_back);
        backend.session.set_role(role.as_deref());
        let Some(client) = backend.client else {
            backend.dirty = true;
            return;
        };
        match role {
            Some(role) => {
                if let Some(client) = self.clients.get_mut(client) {
                    client.session.set_role(Some(&role));
                }
            }
            None => self.pin_late(client, PinReason::Role),
        }
    }

    /// What the answer to a command of ours says of the next transaction: MariaDB tells only with rows that
    /// an ERR before them has used up what was set for it, and our own reads of tables may use it up, too.
    pub(crate) fn next_transaction_told(&mut self, key: Key, purpose: &Purpose, ok: &OkPacket<'_>) {
        let of_session = match purpose {
            Purpose::Restore(_) | Purpose::Setup(_) | Purpose::Reset => return,
            Purpose::ReadViews(_)
            | Purpose::ReadRight(_)
            | Purpose::ReadTables(_)
            | Purpose::ReadRoutine(_) => false,
            _ => true,
        };
        if ok.state_changes.is_empty() {
            return;
        }
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let client = backend.client.filter(|_| of_session);
        let mut client = client.and_then(|client| self.clients.get_mut(client));
        for change in ok.changes() {
            if let StateChange::TransactionCharacteristics(text) = change {
                backend.session.set_next_transaction(text);
                if let Some(client) = &mut client {
                    client.session.set_next_transaction(text);
                }
            }
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
