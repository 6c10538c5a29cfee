//! User variables: brought to another backend, and kept from others' sessions.

pub(crate) mod names;
pub(crate) mod values;

use carry::packet::Packet;
use carry::prepared::named::executes;
use carry::user_variables::VariablesHere;
use events::{Io, Timestamp};
use membership::Key;
use session::statement::{Kind, Mention, PinReason, Statement, Traits, user_variables};
use session::{Restore, put_user_variables, same_user_variables};
use wire::{Command, ServerStatus};

use crate::record::backend::{Backend, Due};
use crate::record::client::Client;
use crate::record::known::Known;
use crate::record::pair::Pair;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// So many different names may wait to be read back.
const UNREAD_MAX: usize = 256;

/// So many variables of earlier sessions may be left as NULL before the backend is cleaned.
const CLEARED_MAX: usize = 64;

/// True of a statement that assigns nothing but where its text shows it. What it only reads stays as it was: a variable that
/// was never set is not one that is NULL.
fn shows_places(statement: &Statement) -> bool {
    let unseen = Traits::UNKNOWN_CALL | Traits::RUNS_KNOWN_BODY;
    matches!(statement.kind, Kind::Select | Kind::Set | Kind::Do)
        && !statement.traits.intersects(unseen)
}

/// True of a statement that may show any variable: it lists them, or its session may keep its backend, and what it
/// reads later on is not known yet.
fn may_see_any(client: &Client, statement: &Statement) -> bool {
    let lists = statement.traits.contains(Traits::LISTS_USER_VARIABLES);
    let begins = matches!(statement.kind, Kind::Begin | Kind::Multiple)
        || !client.status.contains(ServerStatus::AUTOCOMMIT);
    lists || begins || !statement.pins.is_empty()
}

impl Backend {
    /// Adds to a restore what the session's variables need.
    fn restore_user_variables(&mut self, client: &Client, restore: &mut Restore) {
        let (from, to) = (self.session.user.clone(), &client.session.user);
        let here = &mut self.leftovers.variables;
        put_user_variables(&mut restore.set, (from.as_ref(), to.as_ref()), |name| {
            here.clears(name);
        });
        if let Some(own) = to {
            let is_own = |name: &[u8]| own.get(name).is_some();
            here.cleared.retain(|name| !is_own(name));
        }
        self.dirty |= here.cleared.len() > CLEARED_MAX;
        self.session.user.clone_from(to);
    }

    /// The variables that are not as if nobody had set them, although the session never did.
    fn foreign_variables(&self, client: &Client) -> impl Iterator<Item = &[u8]> {
        let own = client.session.user.as_ref();
        let here = self.session.user.as_ref();
        let here = here.filter(|_| !same_user_variables(here, own));
        let cleared = self.leftovers.variables.cleared.iter();
        let names = here.into_iter().flat_map(|here| here.names());
        let names = names.chain(cleared.map(|name| &**name));
        names.filter(move |name| own.is_none_or(|own| own.get(name).is_none()))
    }
}

impl Pair<'_> {
    /// True if the statement would see variables that others have left on the backend: it must be cleaned first, after
    /// which the command is looked at again.
    pub(crate) fn sees_foreign_variables(
        &self,
        statement: &Statement,
        mentions: &[Mention],
    ) -> bool {
        let client = &*self.client;
        let may_clean = !client.holds_backend() && client.login.is_none();
        let sees_any = may_see_any(client, statement);
        let reads = |name: &[u8]| mentions.iter().any(|it| it.reads && *it.name == *name);
        let taints = |name: &[u8]| sees_any || reads(name);
        may_clean && self.backend.foreign_variables(client).any(taints)
    }

    /// Adds to a restore what the statement needs of the session's variables. `logs`: what it reads of them is in the
    /// binary log.
    pub(crate) fn bring_user_variables(
        &mut self,
        now: Timestamp,
        (packet, statement): (Packet<'_>, &mut Statement),
        (mentions, logs): (Vec<Mention>, bool),
        restore: &mut Restore,
    ) {
        // What type a variable has is told when a statement is prepared.
        let prepares = packet.payload.first() == Some(&(Command::StmtPrepare as u8));
        let needed =
            prepares && !mentions.is_empty() || self.needs_user_variables(now, packet, statement);
        if needed {
            self.backend.restore_user_variables(self.client, restore);
        }
        let own = self.client.session.user.as_ref();
        let is_set = |name: &[u8]| own.is_some_and(|own| own.get(name).is_some());
        let sets = |mention: &Mention| logs && mention.reads && !is_set(&mention.name);
        let assigns = statement.traits.contains(Traits::ASSIGNS_USER_VARIABLES);
        let in_places = shows_places(statement);
        let may_assign = |mention: &Mention| assigns && (mention.assigns || !in_places);
        let mut assigned = mentions;
        assigned.retain(|mention| may_assign(mention) || sets(mention));
        if !assigned.is_empty() {
            statement.traits |= Traits::ASSIGNS_USER_VARIABLES;
            let names = assigned.into_iter().map(|mention| mention.name);
            self.backend.leftovers.variables.assigns(names);
        }
    }

    /// True if the statement could see user variables.
    pub(crate) fn needs_user_variables(
        &mut self,
        now: Timestamp,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> bool {
        let (own, here) = (&self.client.session, &self.backend.session);
        if same_user_variables(here.user.as_ref(), own.user.as_ref()) {
            return false;
        }
        let sees = Traits::USES_USER_VARIABLES
            | Traits::LISTS_USER_VARIABLES
            | Traits::MAY_WRITE
            | Traits::UNKNOWN_CALL;
        if statement.traits.intersects(sees) {
            return true;
        }
        match statement.kind {
            // A view can call a function. Where others than plain reads say that something has changed, what there is
            // is taken for the session's own.
            Kind::Select => {
                let plain = statement.traits.contains(Traits::PURE_READ);
                !plain || !self.reads_tables_only(now, packet, statement)
            }
            Kind::Show => !statement.traits.contains(Traits::READS_DIAGNOSTICS),
            Kind::Explain | Kind::Set => true,
            _ => false,
        }
    }

    /// A backend and the session attached to it have none any more (`FLUSH USER_VARIABLES`).
    pub(crate) fn user_variables_flushed(&mut self) {
        self.client.session.user = None;
        self.backend.session.user = None;
        self.backend.leftovers.variables = VariablesHere::default();
    }

    /// A session that keeps its backend for long must not gather names without end.
    pub(crate) fn bound_unread(&mut self) {
        let here = &mut self.backend.leftovers.variables;
        if self.client.pins.contains(PinReason::UserVariable) {
            here.forget_unread();
        } else if here.unread.len() > UNREAD_MAX {
            here.forget_unread();
            self.pin_late(PinReason::UserVariable);
        }
    }
}

impl Records {
    /// Cleans the backend of a session that has nothing on it yet; then its command goes on.
    pub(crate) fn clean_attached<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key) {
        let backend = self.clients.get(client).and_then(|client| client.backend);
        let Some(key) = backend else { return };
        self.put_reset(turn, key);
        if let Some(backend) = self.pool.get_mut(key) {
            backend.due |= Due::COMMAND;
        }
    }
}

impl Client {
    /// The variables that a command mentions. Where that cannot be told the statement pins.
    pub(crate) fn mentions(
        &self,
        known: &Known,
        now: Timestamp,
        (packet, statement): (Packet<'_>, &Statement),
    ) -> Vec<Mention> {
        let prepares = packet.payload.first() == Some(&(Command::StmtPrepare as u8));
        let uses = match prepares {
            true => packet.text().contains(&b'@'),
            false => statement.traits.contains(Traits::USES_USER_VARIABLES),
        };
        let mentioned = || {
            if !executes(packet.payload) {
                return self.mentions_of_text(known, packet.text());
            }
            let prepared = self.statement(packet.payload)?;
            Some(prepared.template.meaning.mentions.to_vec())
        };
        let mut mentions = uses.then(mentioned).flatten().unwrap_or_default();
        known.add_mentions_of_bodies(now, self, packet, statement, &mut mentions);
        mentions
    }

    /// The variables that a text mentions; `None` if they cannot be told or carried.
    pub(crate) fn mentions_of_text(&self, known: &Known, text: &[u8]) -> Option<Vec<Mention>> {
        user_variables(text, &known.dialect(&self.session)?)
    }

    /// True if what is carried of a variable is its value: nothing may have assigned it on the backend at hand that was
    /// not read back, or never is.
    pub(crate) fn knows_user_variable(&self, backend: Option<&Backend>, name: &[u8]) -> bool {
        let unread = backend.is_some_and(|backend| backend.leftovers.variables.may_have(name));
        !unread && !self.pins.contains(PinReason::UserVariable)
    }
}
