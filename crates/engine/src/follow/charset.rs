//! Character sets of the connection: asked where something may have changed them that answers do not tell in full, and what
//! the collation of a handshake stands for.

use carry::ending::Ending;
use membership::Key;
use session::statement::{Kind, Traits};
use wire::{TextResultSet, code};

use crate::record::carried::{Carried, Kept};
use crate::record::pair::Pair;
use crate::record::records::Records;
use crate::record::setup::charset;

/// The character sets of the connection.
pub(crate) static CHARSET: Carried = Carried {
    answered: |pair, command, ending| {
        if command.traits.contains(Traits::SETS_CHARSET) && !refused_whole(command.kind, ending) {
            pair.asks(&CHARSET);
        }
    },
    ask: |pair, outbox, _| {
        let question =
            b"SELECT @@character_set_client,@@character_set_results,@@collation_connection LIMIT 1";
        pair.backend
            .ask_about(outbox, &CHARSET, Kept::Nothing, question);
        true
    },
    told: |pair, _, reply| {
        if let Ok(rows) = reply.rows {
            pair.learn_charset(rows);
        }
    },
    ..Carried::NOTHING
};

/// True if a SET was refused for the name of a character set or collation: both servers look at all that it sets
/// before they set any of it, so it has changed nothing.
fn refused_whole(kind: Kind, ending: &Ending) -> bool {
    let unknown = matches!(
        ending.code(),
        Some(code::UNKNOWN_CHARSET | code::UNKNOWN_COLLATION)
    );
    unknown && kind == Kind::Set
}

impl Pair<'_> {
    fn learn_charset(&mut self, rows: &TextResultSet) {
        let here = &mut self.backend.session;
        let charset = charset(rows, here.charset.as_deref(), self.known.facts.as_ref());
        here.charset = charset.map(|charset| self.known.interner.charset(charset));
        self.client.session.charset.clone_from(&here.charset);
    }
}

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
