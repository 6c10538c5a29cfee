//! Sessions whose password has expired: they may set it, and nothing else. A key of their own keeps their backend connections
//! apart. If the server accepts the statement that sets the password, it takes the connection for an ordinary one from then
//! on, and so does Myriad, which may know nothing else that opens one.

use carry::errors::ClientError;
use carry::packet::Packet;
use events::Io;
use membership::Key;
use pool::State as BackendState;
use session::SessionState;
use session::statement::{Flavor, Kind, Traits};
use wire::Command;

use crate::record::backend::ClientCommand;
use crate::record::client::Client;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// Answers what a session may not run because its password has expired. False if it may.
    pub(crate) fn refuses_expired<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        command: Command,
        packet: Packet<'_>,
    ) -> bool {
        let Some(client) = self.clients.get(key) else {
            return false;
        };
        if !self.is_confined(client) {
            return false;
        }
        let may_run = match command {
            Command::Quit | Command::Ping | Command::StmtClose | Command::StmtSendLongData => true,
            Command::Query => {
                let statement = self.judge_text(key, packet.text());
                statement.kind == Kind::Account && statement.traits.contains(Traits::SETS_PASSWORD)
            }
            _ => false,
        };
        if !may_run {
            let error = ClientError::must_set_password(self.known.flavor());
            self.answer_err(turn, key, &error);
            self.touch(key, turn.now);
        }
        !may_run
    }

    /// True of a session whose password has expired, until it has set it.
    fn is_confined(&self, client: &Client) -> bool {
        !client.rekeyed && self.pool.key(client.key).is_sandbox()
    }

    /// A backend was attached: if it is of a sandbox, nothing is restored there, and nobody gets it afterwards.
    pub(crate) fn enter_sandbox(&mut self, client: Key, key: Key) {
        if !self.is_in_sandbox(key) {
            return;
        }
        if let (Some(client), Some(backend)) = (self.clients.get(client), self.pool.get_mut(key)) {
            backend.session = client.session.clone();
            backend.retired = true;
        }
    }

    /// True of a backend whose session may do nothing but set its password: the server answers no question of ours there.
    pub(crate) fn is_in_sandbox(&self, key: Key) -> bool {
        let id = self.pool.key_of(key);
        id.is_some_and(|id| self.pool.key(id).is_sandbox())
    }

    /// A statement about accounts has succeeded. In a sandbox both servers run none that sets another account's password,
    /// or leaves one's own as it is: it is set.
    pub(crate) fn account_changed(&mut self, key: Key, command: &ClientCommand) {
        if !self.is_in_sandbox(key) {
            // It may have let the session's own password expire: then MySQL runs nothing else there. After a new
            // password it may be the only connection that the account has.
            let may_expire = self.known.flavor() == Flavor::MySql
                && !command.traits.contains(Traits::SETS_PASSWORD);
            if may_expire && let Some(backend) = self.pool.get_mut(key) {
                backend.retired = true;
            }
            return;
        }
        let client = command
            .client
            .and_then(|client| self.clients.get_mut(client));
        if let Some(client) = client {
            client.rekeyed = true;
        }
        if let Some(backend) = self.pool.get_mut(key) {
            // Whatever the client named at its login.
            backend.session.schema = None;
        }
    }

    /// The session has parted from a backend. If it has left the sandbox, so has that: it is made ready as if it were
    /// new. False if it is nothing of that kind.
    pub(crate) fn leave_sandbox<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        key: Key,
    ) -> bool {
        let Some(id) = self.clients.get(client).map(|client| client.key) else {
            return false;
        };
        if !self.is_in_sandbox(key) || self.pool.key(id).is_sandbox() {
            return false;
        }
        self.pool.rekey(key, id);
        self.pool.move_to(key, BackendState::Resetting, turn.now);
        if let Some(backend) = self.pool.get_mut(key) {
            let collation = backend.session.collation;
            backend.session = SessionState::new(collation, &self.known.interner);
            backend.retired = false;
        }
        self.wake(id);
        self.set_up(turn, key);
        true
    }
}
