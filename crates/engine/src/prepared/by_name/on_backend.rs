//! The texts that are prepared by name on a backend, whoever prepared them.

use session::statement::{Dialect, prepare_statement};
use session::{as_bound, plan};

use super::texts::Text;
use crate::backend::{Backend, Purpose, RestorePart};
use crate::client::Client;
use crate::commands::dispatch::put_restore;

/// So many may be left on a backend before it is cleaned.
const LEFT_MAX: usize = 64;

/// What is prepared by name on a backend, and whose it is.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    list: Vec<Named>,
}

/// A name that is a text's on a backend.
#[derive(Debug)]
pub(super) struct Named {
    name: Box<[u8]>,
    /// The text's.
    pub(super) id: u64,
    /// It could not be prepared: what it reads may be gone by now.
    pub(super) was_refused: bool,
}

impl Prepared {
    pub(super) fn get(&self, name: &[u8]) -> Option<&Named> {
        self.list.iter().find(|named| *named.name == *name)
    }

    /// The name is nobody's any more.
    pub(crate) fn remove(&mut self, name: &[u8]) {
        self.list.retain(|named| *named.name != *name);
    }

    /// The name is this text's from now on. True if there are so many now that the backend is to be cleaned.
    pub(super) fn put(&mut self, name: &[u8], id: u64) -> bool {
        self.remove(name);
        self.list.push(Named {
            name: name.into(),
            id,
            was_refused: false,
        });
        self.list.len() > LEFT_MAX
    }

    /// The text that the name is of could not be prepared.
    pub(crate) fn refused(&mut self, name: &[u8]) {
        let named = self.list.iter_mut().find(|named| *named.name == *name);
        named.into_iter().for_each(|named| named.was_refused = true);
    }

    /// True if there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl Backend {
    /// Takes away other sessions' texts whose names the statement may use.
    pub(super) fn take_away(
        &mut self,
        outbox: &mut Vec<u8>,
        client: &Client,
        named: &impl Fn(&[u8]) -> bool,
    ) -> bool {
        let own = |name: &[u8]| {
            client
                .texts
                .as_ref()
                .is_some_and(|texts| texts.get(name).is_some())
        };
        let foreign = |here: &mut Named| named(&here.name) && !own(&here.name);
        let gone: Vec<_> = self
            .leftovers
            .prepared
            .list
            .extract_if(.., foreign)
            .collect();
        let mut there = gone.iter().filter(|here| !here.was_refused).peekable();
        let takes = there.peek().is_some();
        for Named { name, .. } in there {
            self.put_query(outbox, &[b"DEALLOCATE PREPARE `", &name[..], b"`"].concat());
            self.expect(Purpose::Restore(RestorePart::Set));
        }
        takes
    }

    /// Prepares a text in the schema, with the character sets, the role and the variables of then that it is bound to:
    /// MariaDB compares with the end of time, in the time zone of then, what it reads of tables with system versioning.
    /// To set `autocommit` would end a transaction. What somebody's next transaction is to be must not hold: where that
    /// only reads, a text that writes cannot be prepared.
    /// `can_lack`: what it is brought for may do without it.
    pub(super) fn prepare(
        &mut self,
        outbox: &mut Vec<u8>,
        (text, can_lack): (&Text, bool),
        dialect: &Dialect,
    ) {
        let mut state = self.session.clone();
        state.schema = text.state.schema.clone().or(state.schema);
        state.charset = text.state.charset.clone().or(state.charset);
        state.variables = as_bound(&state.variables, &text.state.variables).into();
        state.set_role(text.state.role());
        state.set_next_transaction(b"");
        let restore = plan(&self.session, &state);
        put_restore(outbox, self, &restore);
        self.session = state;
        self.put_query(outbox, &prepare_statement(&text.name, &text.text, dialect));
        self.expect_text(text, can_lack);
    }

    /// Prepares something that can be deallocated: what the text reads may be gone by now.
    pub(super) fn prepare_to_go(&mut self, outbox: &mut Vec<u8>, text: &Text) {
        self.put_query(
            outbox,
            &[b"PREPARE `", &text.name[..], b"` FROM 'DO 1'"].concat(),
        );
        self.expect_text(text, false);
    }

    fn expect_text(&mut self, text: &Text, can_lack: bool) {
        let name = text.name.clone();
        self.expect(Purpose::Restore(RestorePart::Text { name, can_lack }));
        self.dirty |= self.leftovers.prepared.put(&text.name, text.id);
    }
}
