//! The user-level locks that a session holds, as far as answers have told.

use std::sync::Arc;

use crate::locks::registry::{LockName, LockRegistry, LockTicket};

/// So many locks of a session are known by name; of more only how many they are.
const NAMED_MAX: usize = 64;

/// What a session holds.
#[derive(Debug, Default)]
pub struct HeldLocks {
    named: Vec<Held>,
    /// Locks whose names are not known, each as often as it was got.
    nameless: u32,
}

/// A lock whose name is known. Others wait for it, for as long as this is here.
#[derive(Debug)]
pub struct Held {
    ticket: LockTicket,
    /// How often it was got.
    times: u32,
}

impl HeldLocks {
    /// True if no lock is held.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.nameless == 0
    }

    /// The server says that the session has got a lock; `ticket`: what it had of it while it tried.
    pub fn got(
        &mut self,
        name: Option<&LockName>,
        ticket: Option<LockTicket>,
        registry: &Arc<LockRegistry>,
    ) {
        if let Some(held) = name.and_then(|name| self.find(name)) {
            held.times += 1;
            return;
        }
        match name {
            Some(name) if self.named.len() < NAMED_MAX => {
                let ticket = match ticket {
                    Some(ticket) => {
                        ticket.got();
                        ticket
                    }
                    None => registry.took(name),
                };
                self.named.push(Held { ticket, times: 1 });
            }
            _ => {
                ticket.into_iter().for_each(LockTicket::leave_to_server);
                self.nameless += 1;
            }
        }
    }

    /// The session has released a lock, or, if `is_told` is false, may have. False if what it holds is uncertain from
    /// then on.
    pub fn released(&mut self, name: Option<&LockName>, is_told: bool) -> bool {
        if let Some(place) = name.and_then(|name| self.place(name)) {
            self.named[place].times -= 1;
            if self.named[place].times == 0 {
                self.named.swap_remove(place);
            }
            return true;
        }
        match name {
            // It is one whose name is not known, or none.
            Some(_) => {}
            // It may be any.
            None => self.lose_names(),
        }
        let is_certain = is_told || self.nameless == 0;
        self.nameless = self.nameless.saturating_sub(u32::from(is_told));
        is_certain
    }

    /// Which of them are still held is not known any more, only that they may be: whoever waits for one asks the server.
    pub fn lose_names(&mut self) {
        for Held { ticket, times } in self.named.drain(..) {
            self.nameless = self.nameless.saturating_add(times);
            ticket.leave_to_server();
        }
    }

    fn place(&self, name: &LockName) -> Option<usize> {
        self.named
            .iter()
            .position(|held| held.ticket.name() == name)
    }

    fn find(&mut self, name: &LockName) -> Option<&mut Held> {
        self.named
            .iter_mut()
            .find(|held| held.ticket.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use membership::Key;

    use super::*;
    use crate::locks::registry::Asked;

    /// What becomes of somebody else who wants the lock now.
    fn asked(registry: &Arc<LockRegistry>, name: &LockName) -> Asked {
        registry.ask(name, (0, Key::from_bits(7))).1
    }

    #[test]
    fn locks_are_held_as_often_as_they_were_got() {
        let registry = Arc::<LockRegistry>::default();
        let [a, b] = [b"a", b"b"].map(|name| LockName::from(&name[..]));
        let mut held = HeldLocks::default();
        held.got(Some(&a), None, &registry);
        held.got(Some(&a), None, &registry);
        held.got(Some(&b), None, &registry);
        assert!(held.released(Some(&a), true));
        assert_eq!(asked(&registry, &a), Asked::Held);
        assert!(held.released(Some(&a), false), "DO RELEASE_LOCK");
        assert_eq!(asked(&registry, &a), Asked::Try);
        assert!(held.released(Some(&a), false), "it was not held any more");
        assert!(!held.is_empty());
        assert_eq!(asked(&registry, &b), Asked::Held);
        drop(held);
        assert_eq!(asked(&registry, &b), Asked::Try);
    }

    #[test]
    fn what_has_no_name_makes_the_others_uncertain() {
        let registry = Arc::<LockRegistry>::default();
        let a = LockName::from(&b"a"[..]);
        let mut held = HeldLocks::default();
        held.got(None, None, &registry);
        held.got(Some(&a), None, &registry);
        assert!(held.released(Some(&LockName::from(&b"z"[..])), true));
        assert_eq!(asked(&registry, &a), Asked::Held);
        held.got(None, None, &registry);
        assert!(held.released(None, true), "one of the two");
        assert_eq!(asked(&registry, &a), Asked::Try);
        assert!(!held.is_empty());
        assert!(!held.released(None, false), "the other one, or none");
        assert!(held.released(None, true) && held.is_empty());
    }
}
