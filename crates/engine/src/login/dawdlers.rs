//! Places in the connection phase when all are taken: who gives its own to whoever comes. That is the oldest of the
//! address that has most of them, unless it is the newcomer's own or has hardly more; else whoever has taken longer than an
//! honest client would. Decides nothing about those who have proved who they are.

use events::{Io, Span};
use membership::Key;

use crate::record::client::{Client, State};
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// Who has been here for less may be about to answer. As many as there are places can come in that time, so that
/// a storm of honest clients is turned away at the door and those within get on.
pub(crate) const GRACE: Span = Span::from_secs(1);

impl Records {
    /// Whoever has taken its time for longest, of those whose turn it is to say something.
    pub(crate) fn dawdler<I: Io<Mail>>(&self, turn: &Turn<'_, I>) -> Option<Key> {
        let lists = [State::Login, State::Challenged].into_iter();
        let since = |&list: &State| self.clients.oldest(list);
        let list = lists
            .filter(|list| since(list).is_some())
            .min_by_key(since)?;
        let members = self.clients.iter(list);
        let mut late = members.take_while(|(_, client)| turn.now >= client.since + GRACE);
        // COM_CHANGE_USER needs no place.
        let has_place = |client: &Client| {
            let login = client.login.as_ref();
            login.is_some_and(|login| login.place.is_some())
        };
        let found = late.find(|(_, client)| has_place(client))?;
        Some(found.0)
    }
}
