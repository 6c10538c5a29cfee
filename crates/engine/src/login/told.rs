//! What clients that track their session are told with the OK of their login.

use wire::ServerStatus;

use crate::record::client::Client;
use crate::record::records::Records;
use crate::record::told_at_login::{Own, own};

impl Records {
    /// Appends the variables that a client is told of with its login.
    pub(crate) fn put_told_at_login(&self, client: &Client, block: &mut Vec<u8>) {
        let session = &client.session;
        let by_login = self.known.charsets.get(session.collation).cloned();
        let listed = || {
            self.known
                .facts
                .as_ref()?
                .charset_of_login(session.collation)
        };
        let charset = match by_login {
            Some(charset) => Some((*charset).clone()),
            None => listed(),
        };
        let autocommit = client.status.contains(ServerStatus::AUTOCOMMIT);
        let own = |name: &[u8]| match client.tracks.names(name, &self.known.track_lists) {
            true => own(name, autocommit, (session, charset.as_ref())),
            false => Own::Unknown,
        };
        self.known.told_at_login.put(own, block);
    }
}
