//! The first commands on a new backend connection, and the client that it was opened for.

use events::Io;
use membership::Key;
use pool::{KeyId, State as BackendState};
use session::statement::Flavor;
use wire::{Capabilities, ErrPacket};

use crate::follow::setup::put_setup;
use crate::record::ask::Ask;
use crate::record::facts::Facts;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// Whether this account may end what other accounts run, and which it is. Source: "KILL" in the manuals of
/// MySQL and of MariaDB.
const PRIVILEGES: &[u8] =
    b"SELECT COUNT(*),CURRENT_USER() FROM information_schema.USER_PRIVILEGES \
    WHERE GRANTEE=CONCAT('''',REPLACE(CURRENT_USER(),'@','''@'''),'''') \
    AND PRIVILEGE_TYPE IN ('SUPER','CONNECTION ADMIN','CONNECTION_ADMIN')";

impl Records {
    /// Makes a backend ready that nobody has used.
    pub(crate) fn set_up<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let outbox = turn.io.outbox(backend.handle);
        put_setup(outbox, backend, self.known.facts.as_ref());
        self.probe_tracker(turn, key);
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let outbox = turn.io.outbox(backend.handle);
        backend.ask(outbox, Ask::Privileges, PRIVILEGES);
        if backend.dirty {
            // Something has changed for all sessions since it began.
            self.put_reset(turn, key);
        }
    }

    /// The server may have run `init_connect` there: that is gone with a reset. On MySQL so are the character sets that
    /// the login named; on MariaDB those stay, but for a collation that the server does not know, for which a reset brings
    /// those of another session. What a reset does not tell of a login is taken from the server's list.
    pub(crate) fn clean_if_initiated<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(backend) = self.pool.get(key).filter(|backend| backend.dirty) else {
            return;
        };
        let collation = backend.session.collation;
        let facts = self.known.facts.as_ref();
        let stays =
            |facts: &&Facts| facts.flavor == Flavor::MariaDb && facts.has_collation(collation);
        let lost = facts.filter(|facts| !stays(facts));
        let lost = lost.and_then(|facts| facts.charset_of_login(collation));
        if let (Some(charset), None) = (lost, self.known.charsets.get(collation)) {
            let charset = self.known.interner.charset(charset);
            self.known.charsets.learn(collation, charset);
        }
        self.put_reset(turn, key);
    }

    /// True if there are backends of `id` that are logged in: as on the server, sessions go on with them when their
    /// account's password changes. What is refused is tried again later, and told when the last of them is gone.
    pub(crate) fn is_served(&self, id: KeyId) -> bool {
        self.pool.owned(id) > self.pool.count(id, BackendState::Connecting)
    }

    /// Tells a waiting client an ERR of the backend.
    pub(crate) fn tell_waiter<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &ErrPacket<'_>,
    ) {
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let sequence_id = client.login.as_ref().map_or(1, |login| login.sequence_id);
        let outbox = turn.io.outbox(client.handle);
        error.encode(outbox, sequence_id, Capabilities::PROTOCOL_41);
    }
}
