//! Long commands: classifying a text takes milliseconds per megabyte, so another thread does it. Owns what is known of such a
//! command while it stands at the front of the inbox, and the classification of every command that waits there. The other
//! thread is named to [`Shared::prepare_commands_with`](crate::Shared::prepare_commands_with).

use std::collections::{HashMap, HashSet};

use membership::Key;
use session::statement::{Dialect, Statement};

/// Longer texts are classified elsewhere: it would take about a millisecond here.
pub(crate) const LONG: usize = 32 << 10;

/// A long command, and what is to be known of it.
#[derive(Debug)]
pub struct LongCommand {
    /// The worker, and its client.
    pub(crate) asker: (usize, Key),
    /// The command, and what came behind it.
    pub(crate) buffer: Vec<u8>,
    /// Bytes of the command in it.
    pub(crate) len: usize,
    /// How its text is read, if it is one that can be.
    pub(crate) dialect: Option<Dialect>,
    /// Query attributes may stand before the text.
    pub(crate) has_attributes: bool,
}

/// Somebody who prepares long commands.
pub trait Preparer: Send + Sync {
    /// Takes one. It comes back if there are too many.
    fn prepare(&self, command: LongCommand) -> Result<(), LongCommand>;
}

/// A long command that was prepared.
#[derive(Debug)]
pub struct PreparedCommand {
    pub(crate) client: Key,
    pub(crate) buffer: Vec<u8>,
    pub(crate) known: Known,
}

/// The dialect in which a text was classified, and its classification.
pub(crate) type Read = (Dialect, Statement);

/// What is known of the command at the front of a client's inbox: its payload is in one piece, behind one header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Its bytes, header included.
    pub len: usize,
    /// The number of its last packet: the answer begins with the next one.
    pub sequence_id: u8,
    /// Bytes of the text, how it was read, and what that says.
    pub text: Option<(usize, Dialect, Statement)>,
}

/// The long commands of a worker.
#[derive(Default)]
pub(crate) struct LongCommands {
    pub known: HashMap<Key, Known>,
    /// The classification of commands that wait: at most one for each client, and none in a lane.
    waiting: HashMap<Key, Read>,
    /// Clients whose commands are being prepared.
    pub away: HashSet<Key>,
    /// The client whose command is to be prepared as soon as it is back in the inbox.
    pub next: Option<(Key, Option<Dialect>)>,
}

impl PreparedCommand {
    /// Whose it is.
    pub(crate) fn client(&self) -> Key {
        self.client
    }
}

impl LongCommands {
    /// What a text of a client was found to be, if it is that of the command at the front of its inbox and was read so.
    pub(crate) fn statement(
        &self,
        client: Key,
        text: &[u8],
        dialect: &Dialect,
    ) -> Option<Statement> {
        if text.len() <= LONG / 2 || self.known.is_empty() {
            return None;
        }
        let (len, read_as, statement) = self.known.get(&client)?.text?;
        (len == text.len() && read_as == *dialect).then_some(statement)
    }

    /// The command at the front of a client's inbox waits there.
    pub(crate) fn waits(&mut self, client: Key, read: Read) {
        self.waiting.insert(client, read);
    }

    /// The classification of the command that has waited at the front of a client's inbox.
    pub(crate) fn waited(&mut self, client: Key) -> Option<Read> {
        match self.waiting.is_empty() {
            true => None,
            false => self.waiting.remove(&client),
        }
    }

    /// The command that has waited at the front of a client's inbox stands behind another one.
    pub(crate) fn stands_back(&mut self, client: Key) {
        self.waiting.remove(&client);
    }

    /// The command of a client is gone.
    pub(crate) fn forget(&mut self, client: Key) {
        self.waited(client);
        if !self.known.is_empty() {
            self.known.remove(&client);
        }
        if !self.away.is_empty() {
            self.away.remove(&client);
        }
    }

    /// True while the command of a client is being prepared: it is not in the inbox, and its memory is still used.
    pub(crate) fn is_away(&self, client: Key) -> bool {
        !self.away.is_empty() && self.away.contains(&client)
    }

    pub(crate) fn known(&self, client: Key) -> Option<&Known> {
        match self.known.is_empty() {
            true => None,
            false => self.known.get(&client),
        }
    }
}

#[cfg(test)]
mod tests {
    use session::statement::Flavor;

    use super::*;
    use session::statement::classify;

    #[test]
    fn a_classification_is_kept_for_as_long_as_its_command_waits() {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        let [read, other] =
            ["SELECT 1", "BEGIN"].map(|text| (dialect, classify(text.as_bytes(), &dialect)));
        let [a, b] = [1, 2].map(Key::from_bits);
        let mut commands = LongCommands::default();
        commands.waits(a, read);
        commands.waits(b, other);
        assert_eq!(
            [a, b].map(|key| commands.waited(key)),
            [Some(read), Some(other)]
        );
        assert_eq!(commands.waited(a), None);
        commands.waits(a, read);
        commands.forget(a);
        assert_eq!(commands.waited(a), None);
    }
}
