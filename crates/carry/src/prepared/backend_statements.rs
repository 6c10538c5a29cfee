//! Which templates are prepared on a backend, and under which ids. Bounded: what was used longest ago is
//! closed, and what no session has any more is closed first.
//!
//! Owns the names of one backend. A cursor belongs to one session's statement, so a statement with an open
//! one is that session's alone until it is closed.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use session::statement::Flavor;
use wire::{Command, TypeList};

use crate::outbound::put_command;
use crate::prepared::templates::Template;

/// MYSQL_TYPE_NULL: a value that is NULL has no type.
const NULL_TYPE: u8 = 6;

/// What is prepared on a backend.
#[derive(Debug, Default)]
pub struct BackendStatements {
    /// By the number of the template: for whoever is attached.
    shared: BTreeMap<u64, Instance>,
    /// With the id that the attached session has for it: for that alone.
    owned: Vec<(u32, Instance)>,
    /// To be closed with the next command.
    unwanted: Vec<u32>,
    /// Counts uses.
    clock: u64,
    /// The template whose execution under way has long data.
    pub long_data_of: Option<u64>,
}

/// A statement of a backend.
#[derive(Debug)]
pub struct Instance {
    /// The backend's name for it.
    pub id: u32,
    /// The types of the parameters of its last execution.
    pub types: Option<Arc<[u8]>>,
    /// It was executed with a cursor.
    had_cursor: bool,
    template: Weak<Template>,
    number: u64,
    used: u64,
}

/// What an execution needs of an instance.
#[derive(Clone, Copy)]
pub struct Need<'a> {
    /// The session's id for the statement.
    pub id: u32,
    /// The number of the template.
    pub number: u64,
    /// A cursor is to be opened.
    pub cursor: bool,
    /// The types of the parameters; `None` if they were never told.
    pub types: Option<TypeList<'a>>,
}

impl BackendStatements {
    /// True if there is an instance for an execution.
    pub fn has(&self, need: &Need<'_>, flavor: Flavor) -> bool {
        let own = self.owned.iter().find(|(id, _)| *id == need.id);
        if own.is_some_and(|(_, instance)| instance.sends_rows(need.cursor, flavor)) {
            return true;
        }
        let shared = self.shared.get(&need.number);
        let shared = shared.filter(|instance| instance.sends_rows(need.cursor, flavor));
        shared.is_some_and(|instance| instance.suits(need.types, flavor))
    }

    /// The instance for a command of a session. `alone`: it opens a cursor, and becomes that session's.
    pub fn use_for(&mut self, (id, number): (u32, u64), alone: bool) -> Option<&mut Instance> {
        self.clock += 1;
        let clock = self.clock;
        let owned = self.owned.iter().position(|(owner, _)| *owner == id);
        let found = match owned {
            Some(place) => self.owned.get_mut(place).map(|(_, instance)| instance),
            None if alone => {
                self.own(id, number);
                self.owned.last_mut().map(|(_, instance)| instance)
            }
            None => self.shared.get_mut(&number),
        };
        let found = found.filter(|instance| instance.number == number)?;
        found.used = clock;
        found.had_cursor |= alone;
        Some(found)
    }

    /// A statement is executed. If the session's own instance would send no rows, another one was prepared: it is closed.
    pub fn give_up_cursor(&mut self, id: u32, cursor: bool, flavor: Flavor) {
        let stays = |owned: &(u32, Instance)| owned.0 != id || owned.1.sends_rows(cursor, flavor);
        let given_up = self.owned.extract_if(.., |owned| !stays(owned));
        self.unwanted
            .extend(given_up.map(|(_, instance)| instance.id));
    }

    /// A template was prepared; at most `max` are kept. Returns how many were closed to make room.
    pub fn add(&mut self, template: &Arc<Template>, id: u32, max: usize) -> usize {
        self.clock += 1;
        let instance = Instance {
            id,
            types: None,
            had_cursor: false,
            template: Arc::downgrade(template),
            number: template.number,
            used: self.clock,
        };
        let replaced = self.shared.insert(template.number, instance);
        self.unwanted.extend(replaced.map(|replaced| replaced.id));
        let unwanted = &mut self.unwanted;
        self.shared.retain(|_, instance| {
            let alive = instance.template.strong_count() > 0 || instance.number == template.number;
            if !alive {
                unwanted.push(instance.id);
            }
            alive
        });
        let mut evicted = 0;
        while self.shared.len() > max.max(1) {
            let oldest = self.shared.values().min_by_key(|instance| instance.used);
            let Some(number) = oldest.map(|instance| instance.number) else {
                break;
            };
            let closed = self.shared.remove(&number);
            self.unwanted.extend(closed.map(|closed| closed.id));
            evicted += 1;
        }
        evicted
    }

    /// What is prepared for a template becomes the attached session's alone.
    pub fn own(&mut self, id: u32, number: u64) {
        if let Some(instance) = self.shared.remove(&number) {
            self.owned.push((id, instance));
        }
    }

    /// A session's own instance is for everybody again; `clean`: nothing is left in it of that session.
    pub fn give_back(&mut self, id: u32, clean: bool) {
        let Some(place) = self.owned.iter().position(|(owner, _)| *owner == id) else {
            return;
        };
        let (_, instance) = self.owned.remove(place);
        if clean && !self.shared.contains_key(&instance.number) {
            self.shared.insert(instance.number, instance);
        } else {
            self.unwanted.push(instance.id);
        }
    }

    /// Closes all that is not the attached session's alone. False if there was nothing.
    pub fn close_shared(&mut self) -> bool {
        let closed = std::mem::take(&mut self.shared);
        let any = !closed.is_empty();
        self.unwanted
            .extend(closed.into_values().map(|instance| instance.id));
        any
    }

    /// An execution was answered. One with long data that has `failed` may have been refused for that data, and then the
    /// server refuses all that come after it, too.
    pub fn executed(&mut self, failed: bool) {
        let number = self.long_data_of.take().filter(|_| failed);
        let closed = number.and_then(|number| self.shared.remove(&number));
        self.unwanted.extend(closed.map(|closed| closed.id));
    }

    /// Appends what closes the statements that are not wanted any more. It has no response.
    pub fn put_closes(&mut self, outbox: &mut Vec<u8>) {
        for id in self.unwanted.drain(..) {
            put_command(outbox, Command::StmtClose, &id.to_le_bytes());
        }
    }

    /// COM_RESET_CONNECTION: none is left.
    pub fn forget_all(&mut self) {
        self.shared.clear();
        self.owned.clear();
        self.unwanted.clear();
        self.long_data_of = None;
    }

    /// True if the attached session has some of its own.
    pub fn owns_some(&self) -> bool {
        !self.owned.is_empty()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.shared.len() + self.owned.len()
    }
}

impl Instance {
    /// It was executed with parameters of these types.
    pub fn executed_with(&mut self, types: &Arc<[u8]>, flavor: Flavor) {
        let same = self.types.as_ref() == Some(types);
        // What MySQL remembers of a parameter is not changed by a value that is NULL.
        let forgets = flavor == Flavor::MySql && has_null(types) && self.types.is_some();
        if !same && !forgets {
            self.types = Some(types.clone());
        }
    }

    /// False if an execution would be answered without its rows: MySQL 9.7 sends none of a statement that was executed
    /// with a cursor before.
    fn sends_rows(&self, cursor: bool, flavor: Flavor) -> bool {
        cursor || !self.had_cursor || flavor == Flavor::MariaDb
    }

    /// True if an execution with parameters of these types is answered as by a statement that only ever had
    /// such. MySQL remembers types with which it was executed; and both refuse an execution for which the
    /// types were never told, unless somebody else told some.
    fn suits(&self, types: Option<TypeList<'_>>, flavor: Flavor) -> bool {
        match (types, self.types.as_deref(), flavor) {
            (_, None, _) => true,
            (None, Some(_), _) => false,
            (Some(_), Some(_), Flavor::MariaDb) => true,
            (Some(wanted), Some(seen), Flavor::MySql) => {
                let count = wanted.pairs().count();
                let pairs = wanted.pairs().zip(seen.chunks(2));
                let same = |(a, b): (&[u8], &[u8])| {
                    a == b || a.first() == Some(&NULL_TYPE) || b.first() == Some(&NULL_TYPE)
                };
                2 * count == seen.len() && { pairs }.all(same)
            }
        }
    }
}

/// True if one of the types is that of NULL.
fn has_null(types: &[u8]) -> bool {
    types
        .chunks(2)
        .any(|entry| entry.first() == Some(&NULL_TYPE))
}

#[cfg(test)]
mod tests;
