//! Character sets of accounts whose login the database has decided.

use membership::Key;

use crate::record::records::Records;

impl Records {
    /// Says in full what the collation of the handshake, and its flags, stand for, as soon as that is known.
    pub(crate) fn resolve_charset(&mut self, client: Key) {
        self.learn_charset_of_relayed(client);
        let Some(client) = self.clients.get_mut(client) else {
            return;
        };
        let session = &mut client.session;
        if session.charset.is_none() {
            session.charset = self.known.charsets.get(session.collation).cloned();
        }
        if let Some(facts) = &self.known.facts {
            client.begin_sql_mode(facts, &mut self.known.interner);
        }
    }

    /// No connection can be opened with the collation of a session for which only logins bring connections: what it stands
    /// for is taken from the server's list.
    fn learn_charset_of_relayed(&mut self, client: Key) {
        let Some(client) = self.clients.get(client) else {
            return;
        };
        let collation = client.session.collation;
        let is_known =
            client.session.charset.is_some() || self.known.charsets.get(collation).is_some();
        if is_known || !self.is_relayed(client.key) {
            return;
        }
        let facts = self.known.facts.as_ref();
        if let Some(charset) = facts.and_then(|facts| facts.charset_of_login(collation)) {
            let charset = self.known.interner.charset(charset);
            self.known.charsets.learn(collation, charset);
        }
    }
}
