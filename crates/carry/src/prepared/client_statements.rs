//! The prepared statements of one session, under ids of its own, which mean nothing to any backend.
//!
//! Owns what the session must remember of each: the types of its parameters, and the long data that no
//! execution has used yet. No packets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use wire::{Fingerprint, ParameterList};

use crate::prepared::templates::Template;
use crate::session_memory::Kept;

/// Stands for the statement that was prepared last (MariaDB), so that clients need not wait for its id.
pub const LAST: u32 = u32::MAX;

/// So many statements a session may have: as many as a server has by default over all of them.
pub const STATEMENTS_MAX: usize = 16_382;

/// The prepared statements of a session.
#[derive(Debug, Default)]
pub struct ClientStatements {
    /// By id, which is the order in which they were prepared.
    open: Vec<ClientStatement>,
    /// The one that was prepared last, unless preparing another has failed since.
    last: Option<u32>,
    /// Ids count up, over resets, too.
    highest: u32,
    /// The memory that they take.
    pub kept: Kept,
}

/// One of them.
#[derive(Debug)]
pub struct ClientStatement {
    /// The client's name for it.
    pub id: u32,
    /// How many parameters it has.
    pub parameters: u16,
    /// Their types, as the client told them last.
    pub types: Option<Arc<[u8]>>,
    /// What it is.
    pub template: Arc<Template>,
    /// The column definitions that the client has of it, if it keeps them.
    pub definitions: Option<Fingerprint>,
    /// Long data that came and was not used; boxed, because few have any.
    pub long: Option<Box<LongData>>,
}

impl ClientStatement {
    /// Its parameters; `attributes`: the client negotiated CLIENT_QUERY_ATTRIBUTES.
    pub fn list(&self, attributes: bool) -> ParameterList {
        ParameterList {
            parameters: self.parameters,
            attributes,
        }
    }
}

/// What COM_STMT_SEND_LONG_DATA brought.
#[derive(Debug)]
pub struct LongData {
    /// The commands as they came.
    packets: Vec<u8>,
    /// Why every execution is refused, until COM_STMT_RESET.
    pub refused: Option<Refused>,
    /// Bytes of all of it, over all sessions.
    total: Arc<AtomicUsize>,
}

/// Why long data cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There was more than there may be.
    TooMuch,
    /// It was for a parameter that the statement does not have.
    NoParameter,
}

impl ClientStatements {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.open.len()
    }

    /// The memory that they take, but for what they share.
    pub fn bytes(&self) -> usize {
        self.open.capacity() * size_of::<ClientStatement>()
    }

    /// The id that the next statement will have.
    pub fn next_id(&self) -> u32 {
        match self.highest.wrapping_add(1) {
            0 | LAST => 1,
            next => next,
        }
    }

    /// A statement was prepared. Returns its id.
    pub fn add(&mut self, template: Arc<Template>, parameters: u16) -> u32 {
        let id = self.next_id();
        self.highest = id;
        // After four billion of them the first ids come again.
        if self.place(id).is_ok() {
            self.close(id);
        }
        let place = self.place(id).unwrap_or_else(|place| place);
        let statement = ClientStatement {
            id,
            parameters,
            types: None,
            template,
            definitions: None,
            long: None,
        };
        self.open.insert(place, statement);
        self.last = Some(id);
        id
    }

    /// Preparing another one failed.
    pub fn forget_last(&mut self) {
        self.last = None;
    }

    /// The statement that a command names.
    pub fn get(&self, id: u32) -> Option<&ClientStatement> {
        self.open.get(self.place(self.resolve(id)?).ok()?)
    }

    /// The statement with this id, to be changed.
    pub fn get_mut(&mut self, id: u32) -> Option<&mut ClientStatement> {
        let place = self.place(self.resolve(id)?).ok()?;
        self.open.get_mut(place)
    }

    /// Takes a statement away.
    pub fn close(&mut self, id: u32) -> Option<ClientStatement> {
        let id = self.resolve(id)?;
        let place = self.place(id).ok()?;
        self.last = self.last.filter(|&last| last != id);
        let closed = self.open.remove(place);
        if self.open.len() * 4 <= self.open.capacity() {
            self.open.shrink_to(self.open.len() * 2);
            self.kept.recount(self.bytes());
        }
        Some(closed)
    }

    /// COM_RESET_CONNECTION: none is left.
    pub fn close_all(&mut self) {
        (self.open, self.last) = (Vec::new(), None);
        self.kept.recount(0);
    }

    fn resolve(&self, id: u32) -> Option<u32> {
        if id == LAST { self.last } else { Some(id) }
    }

    fn place(&self, id: u32) -> Result<usize, usize> {
        self.open
            .binary_search_by_key(&id, |statement| statement.id)
    }
}

impl LongData {
    /// Nothing came yet. `total` counts bytes over all sessions.
    pub fn new(total: &Arc<AtomicUsize>) -> Self {
        Self {
            packets: Vec::new(),
            refused: None,
            total: total.clone(),
        }
    }

    /// Keeps a command, if it is not more than `most` with those before it, nor than the `room` that is left.
    /// Returns whether it was.
    pub fn keep(&mut self, packet: &[u8], most: usize, room: usize) -> bool {
        let fits = self.packets.len() + packet.len() <= most && packet.len() <= room;
        if !fits {
            self.refuse(Refused::TooMuch);
        }
        if self.refused.is_some() {
            return false;
        }
        self.packets.extend_from_slice(packet);
        self.total.fetch_add(packet.len(), Ordering::Relaxed);
        true
    }

    /// Nothing of it will be used.
    pub fn refuse(&mut self, why: Refused) {
        self.empty();
        self.refused.get_or_insert(why);
    }

    /// The commands as they came.
    pub fn packets(&self) -> &[u8] {
        &self.packets
    }

    /// The commands, for the id of their statement to be put in.
    pub fn packets_mut(&mut self) -> &mut [u8] {
        &mut self.packets
    }

    fn empty(&mut self) {
        self.total.fetch_sub(self.packets.len(), Ordering::Relaxed);
        self.packets = Vec::new();
    }
}

impl Drop for LongData {
    fn drop(&mut self) {
        self.empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepared::templates::Templates;
    use crate::prepared::templates::tests::template;

    #[test]
    fn a_statement_stays_small() {
        assert!(size_of::<ClientStatement>() <= 48);
    }

    #[test]
    fn ids_are_given_once() {
        let mut templates = Templates::default();
        let a = template(&mut templates, "SELECT 1", "a");
        let mut statements = ClientStatements::default();
        let ids = [(); 3].map(|()| statements.add(a.clone(), 2));
        assert_eq!(ids, [1, 2, 3]);
        assert_eq!(statements.get(LAST).map(|last| last.id), Some(3));
        assert!(statements.close(LAST).is_some() && statements.get(3).is_none());
        assert!(statements.get(LAST).is_none() && statements.close(LAST).is_none());
        assert_eq!(statements.add(a.clone(), 0), 4);
        statements.forget_last();
        assert!(statements.get(LAST).is_none() && statements.get(4).is_some());
        statements.close_all();
        assert_eq!((statements.count(), statements.add(a, 0)), (0, 5));
    }

    #[test]
    fn ids_that_come_again_name_the_newer_statement() {
        let mut templates = Templates::default();
        let (a, b) = (
            template(&mut templates, "SELECT 1", "a"),
            template(&mut templates, "SELECT 2", "a"),
        );
        let mut statements = ClientStatements::default();
        assert_eq!(statements.add(a.clone(), 0), 1);
        statements.highest = LAST - 1;
        assert_eq!(statements.add(b.clone(), 0), 1);
        let found = statements.get(1).map(|found| found.template.number);
        assert_eq!((found, statements.count()), (Some(b.number), 1));
    }

    #[test]
    fn long_data_is_bounded() {
        let total = Arc::new(AtomicUsize::new(0));
        let mut long = LongData::new(&total);
        let other = LongData::new(&total);
        assert!(long.keep(b"0123", 10, 4) && long.packets() == b"0123");
        assert_eq!(total.load(Ordering::Relaxed), 4);
        assert!(!long.keep(b"4", 10, 0) && long.refused == Some(Refused::TooMuch));
        assert_eq!(total.load(Ordering::Relaxed), 0);
        assert!(!long.keep(b"5", 10, 10) && long.packets().is_empty());
        let mut long = other;
        assert!(long.keep(b"01234567", 10, 100) && !long.keep(b"890", 10, 100));
        let mut long = LongData::new(&total);
        assert!(long.keep(b"01234567", 10, 100));
        drop(long);
        assert_eq!(total.load(Ordering::Relaxed), 0);
    }
}
