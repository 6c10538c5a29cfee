//! Backends that no session can be served on: they are closed, and it is said why.

use events::Io;
use membership::Key;
use pool::KeyId;
use wire::{ErrPacket, code};

use crate::backend::Backend;
use crate::errors::ClientError;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

/// MariaDB tracks no variables in sessions that begin while its list of them is empty, whatever they set it to
/// themselves.
const TRACKS_NOTHING: &str = "does not tell which variables its sessions set, as session_track_system_variables is \
    empty there; SET GLOBAL session_track_system_variables = DEFAULT on it, and take the line out of its configuration";

impl Engine {
    /// A backend refused a command of ours that cannot fail on a sound connection.
    pub(crate) fn backend_refuses_us<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &[u8],
    ) {
        let is_new = self.pool.get(key).is_some_and(Backend::is_new);
        let parsed = ErrPacket::parse(error);
        if is_new
            && parsed
                .as_ref()
                .is_ok_and(|error| error.code == code::MUST_SET_PASSWORD)
        {
            // An account whose password has expired is let in, and refused all that it may ask for.
            self.relay_expired(turn, key);
            return self.backend_refused(turn, key, error);
        }
        let error = parsed.map_or_else(
            |_| String::from_utf8_lossy(error).into_owned(),
            |error| format!("{} {}", error.code, String::from_utf8_lossy(error.message)),
        );
        let text = format!("it refused a command of the front door: {error}");
        self.backend_unfit(turn, key, text);
    }

    /// No session can be served on a backend, for this reason.
    fn backend_unfit<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, text: String) {
        if self.pool.get(key).is_some_and(Backend::is_new) {
            // The next one would fare alike: that has to wait.
            return self.give_up_connect(turn, key, text);
        }
        tracing::warn!(error = text, "backend closed");
        self.backend_broken(turn, key);
    }

    /// It does not tell what its session sets, so that nobody's could be carried.
    pub(crate) fn backend_tracks_nothing<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let version = self
            .known
            .facts
            .as_ref()
            .map_or(&b""[..], |facts| &facts.version);
        let text = format!("{} {TRACKS_NOTHING}", String::from_utf8_lossy(version));
        match self.pool.get(key).is_some_and(Backend::is_new) {
            true => self.server_unfit(turn, key, text),
            false => self.backend_unfit(turn, key, text),
        }
    }

    /// Nobody can be served on the server behind: whoever waits is told so, and so is who comes before it is tried again.
    pub(crate) fn server_unfit<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        text: String,
    ) {
        if let Some(client) = self.login_decided_by(key) {
            tracing::warn!(error = text, "no login can be handed on");
            let error = ClientError::server_unfit(&text);
            return self.refuse(turn, client, &error, DisconnectReason::LoginRefused);
        }
        let id = self.pool.key_of(key);
        self.give_up_connect(turn, key, text);
        if let Some(id) = id {
            self.keys[id.0 as usize].unfit = true;
            self.locked_out.push(id);
        }
    }

    /// Tells those who wait for a connection to such a server.
    pub(crate) fn tell_unfit<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        // A server that was replaced may still have connections that are in order.
        if !self.is_served(id) {
            let error = ClientError::server_unfit(&self.keys[id.0 as usize].last_error);
            self.refuse_waiters(turn, id, &error.packet());
        }
    }
}
