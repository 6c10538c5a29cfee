//! Sessions that begin anew on their connection: COM_CHANGE_USER and COM_RESET_CONNECTION.

use carry::diagnostics::capture::Capture;
use carry::last_gtid::Gtid;
use membership::Key;
use session::SessionState;
use wire::Capabilities;

use crate::record::facts::Anew;
use crate::record::records::Records;

impl Records {
    /// The session begins anew, with the schema that it has.
    pub(crate) fn reset_session(&mut self, key: Key, collation: u8, anew: Anew) {
        let (Some(client), Some(facts)) = (self.clients.get_mut(key), &self.known.facts) else {
            return;
        };
        let before = std::mem::replace(
            &mut client.session,
            SessionState::new(collation, &self.known.interner),
        );
        client.session.take_role_and_schema(&before);
        client.begin_with(facts.begins_with(), &mut self.known.interner);
        let heeds_flags = facts.heeds_flags(anew);
        if heeds_flags {
            client.begin_interactively(facts, &mut self.known.interner);
        }
        client.last_insert_id = 0;
        client.origin.last_gtid = Gtid::default();
        // Neither server forgets that number.
        let found_rows = client.capture.found_rows;
        client.capture = Capture {
            found_rows,
            ..Capture::default()
        };
        if let Some(statements) = &mut client.statements {
            statements.close_all();
        }
        client.unpin();
        client.tracks = self.known.track_lists.first();
        client.untold = None;
        self.ignore_space(key, heeds_flags);
        if let (Some(client), Some(facts)) = (self.clients.get_mut(key), &self.known.facts) {
            client.begin_sql_mode(facts, &mut self.known.interner);
        }
    }

    /// Takes the flag CLIENT_IGNORE_SPACE of the login away, or gives it back, and moves the session to the key of
    /// backends that have the same. A session with a backend of its own leaves this to the server.
    fn ignore_space(&mut self, key: Key, heeds_flags: bool) {
        let Some(client) = self.clients.get(key) else {
            return;
        };
        if self.is_relayed(client.key) {
            return;
        }
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let ignores = heeds_flags && client.origin.ignores_space;
        if client.capabilities.contains(Capabilities::IGNORE_SPACE) != ignores {
            let flag = Capabilities::IGNORE_SPACE;
            client.capabilities.set(flag, ignores);
            client.rekeyed = true;
            self.rekey(key);
        }
    }
}
