//! The texts that are prepared by name on a backend, whoever prepared them.

use session::statement::{Dialect, PinReason, prepare_statement};
use session::{SessionState, as_bound, plan};
use wire::ServerStatus;

use super::Names;
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

/// True of another session's text whose name is used. A session that is pinned for its texts has some here that are not
/// carried.
fn is_foreign(here: &Named, client: &Client, used: &Names) -> bool {
    let texts = client.texts.as_ref();
    let own = texts.is_some_and(|texts| texts.get(&here.name).is_some());
    !own && used.contains(&here.name) && !client.pins.contains(PinReason::TextPrepared)
}

impl Backend {
    /// The session's texts that are used and not here. What is asked for by name is told why it cannot be had; what may
    /// use any goes on without it.
    pub(super) fn lacking<'a>(&self, client: &'a Client, used: &Names) -> Vec<&'a Text> {
        let all = *used == Names::All;
        // A schema that it is prepared in cannot be given up for what runs without one.
        let strands = |text: &Text| {
            let schemas = [&client.session.schema, &text.state.schema].map(Option::is_some);
            schemas == [false, true] && (all || client.holds_backend())
        };
        let is_here = |text: &Text| {
            let here = self.leftovers.prepared.get(&text.name);
            here.is_some_and(|here| here.id == text.id && (all || !here.was_refused))
        };
        let texts = client.texts.iter().flat_map(|texts| &texts.list);
        texts
            .filter(|text| used.contains(&text.name) && !strands(text) && !is_here(text))
            .collect()
    }

    /// True if there are other sessions' texts whose names are used.
    pub(super) fn has_foreign(&self, client: &Client, used: &Names) -> bool {
        let mut here = self.leftovers.prepared.list.iter();
        here.any(|here| is_foreign(here, client, used))
    }

    /// Takes them away. True if there were some that could be prepared.
    pub(super) fn take_away(
        &mut self,
        outbox: &mut Vec<u8>,
        client: &Client,
        used: &Names,
    ) -> bool {
        let here = &mut self.leftovers.prepared.list;
        let gone: Vec<_> = here
            .extract_if(.., |here| is_foreign(here, client, used))
            .collect();
        let mut there = gone.iter().filter(|here| !here.was_refused).peekable();
        let takes = there.peek().is_some();
        for Named { name, .. } in there {
            self.put_query(outbox, &[b"DEALLOCATE PREPARE `", &name[..], b"`"].concat());
            self.expect(Purpose::Restore(RestorePart::Set));
        }
        takes
    }

    /// Prepares a text of the session `own` in the schema, with the character sets, the role and the variables of then
    /// that it is bound to: MariaDB compares with the end of time, in the time zone of then, what it reads of tables with
    /// system versioning. The other variables are the session's by then: where somebody else may only read, what writes
    /// cannot be prepared.
    /// `can_lack`: what it is brought for may do without it.
    pub(super) fn prepare(
        &mut self,
        outbox: &mut Vec<u8>,
        (text, can_lack): (&Text, bool),
        (own, dialect): (&SessionState, &Dialect),
    ) {
        let mut state = self.session.clone();
        state.schema = text.state.schema.clone().or(state.schema);
        state.charset = text.state.charset.clone().or(state.charset);
        state.variables = as_bound(&own.variables, &text.state.variables).into();
        state.set_role(text.state.role());
        // What one that is open was begun with stays that of the next one, too, until it is committed or rolled back.
        if !self.status.contains(ServerStatus::IN_TRANS) {
            state.let_next_write();
        }
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
