//! Sessions that begin anew on their connection: COM_CHANGE_USER and COM_RESET_CONNECTION.

use events::Io;
use membership::Key;
use session::SessionState;
use wire::{Capabilities, ChangeUser};

use crate::backend::facts::Anew;
use crate::carried::last_gtid::Gtid;
use crate::client::{Login, LoginStep, State};
use crate::diagnostics::capture::Capture;
use crate::errors::ClientError;
use crate::login::identity::Claim;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

impl Engine {
    /// COM_CHANGE_USER: a new session, as another account or the same one. The old session holds no backend any more.
    /// A client that is refused is closed, as by MySQL.
    pub(crate) fn change_user<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        payload: &[u8],
    ) {
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let change = ChangeUser::parse(payload, client.capabilities);
        let asked = change.as_ref().ok().and_then(|change| change.collation);
        let unreadable = asked.and_then(|asked| self.unreadable(asked));
        let asked = asked.filter(|_| unreadable.is_none());
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let collation = asked.unwrap_or(client.session.collation);
        let origin = &mut client.origin;
        origin.asked_collation = asked.unwrap_or(origin.asked_collation);
        client.login = Some(Login::new(LoginStep::Response, client.answer_begins));
        self.reset_session(key, collation, Anew::ChangeUser);
        if let Some(client) = self.clients.get_mut(key) {
            client.session.schema = None;
        }
        self.clients.move_to(key, State::Login, turn.now);
        let Ok(change) = change else {
            let error = ClientError::unknown_command();
            return self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
        };
        if let Some(error) = unreadable {
            return self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
        }
        let claim = Claim {
            user: change.user,
            schema: change.schema,
            response: change.auth_response,
        };
        self.identify(turn, key, change.auth_plugin, &claim);
    }

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
