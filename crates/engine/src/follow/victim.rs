//! The client that a KILL names.

use carry::victim::Victim;
use membership::Key;
use session::statement::{Kill, Named, kill_target};

use crate::record::client::Client;
use crate::record::kill::ours;
use crate::record::records::Records;

impl Records {
    /// The client of ours that a text of `client` wants ended.
    pub(crate) fn victim(&self, client: Key, text: &[u8]) -> Option<Victim> {
        let record = self.clients.get(client)?;
        let dialect = self.known.facts.as_ref()?.dialect(&record.session)?;
        let Kill { named, query, .. } = kill_target(text, &dialect)?;
        match named {
            Named::Id(id) => ours(u32::try_from(id).ok()?, query),
            // A backend can end its own statement.
            Named::Own if query => None,
            Named::Own => ours(record.id, false),
            Named::Variable(name) => {
                let id = self.whole_number(record, &name)?;
                ours(u32::try_from(id).ok()?, query)
            }
        }
    }

    /// The client of ours that a text of `client` wants ended whenever it is executed.
    pub(crate) fn victim_for_ever(&self, client: Key, text: &[u8]) -> Option<Victim> {
        if text.contains(&b'@') {
            return None;
        }
        self.victim(client, text)
    }

    /// The whole number that a variable holds, if that is known here.
    fn whole_number(&self, client: &Client, name: &[u8]) -> Option<u64> {
        let backend = client.backend.and_then(|key| self.pool.get(key));
        if !client.knows_user_variable(backend, name) {
            return None;
        }
        client.session.user.as_ref()?.get(name)?.as_unsigned()
    }
}
