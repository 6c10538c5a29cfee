//! Backends that have become of no use: accounts, schemas or global variables have changed.

use events::Io;
use membership::Key;
use pool::KeyId;

use crate::record::records::Records;
use crate::record::shared::{Mail, SchemaChange};
use crate::record::turn::Turn;

impl Records {
    /// Sessions that begin from now on must see a global variable's new value: connections of
    /// before are not given to anybody else.
    pub(crate) fn global_changed<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        self.retire_backends(turn);
        self.post_to_others(turn, || Mail::GlobalChanged);
    }

    /// A schema was dropped, or rights were taken away: logins are checked again, on all workers.
    pub(crate) fn forget_schemas<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        change: SchemaChange,
    ) {
        self.schemas_changed(change);
        self.post_to_others(turn, || Mail::SchemasChanged(change));
    }

    /// A schema was dropped, or rights were taken away: this worker checks logins again.
    pub(crate) fn schemas_changed(&mut self, change: SchemaChange) {
        self.known.schemas.forget_all();
        self.known.digests.forget_tables();
        if change.done {
            self.stored_defined(change.stored);
        }
        if change.stored {
            self.known.routines.defined();
        }
    }

    /// What connections have selected may be another schema by now, with the name of before but not its character set: they
    /// select one anew. The one that it was defined on knows already.
    pub(crate) fn reselect_schemas<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, own: Key) {
        self.schemas_defined(turn, Some(own));
        self.post_to_others(turn, || Mail::SchemasDefined);
    }

    /// A schema was defined: connections of this worker, except `own`, select theirs anew.
    pub(crate) fn schemas_defined<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        own: Option<Key>,
    ) {
        let states = [
            pool::State::Idle,
            pool::State::Resetting,
            pool::State::Active,
            pool::State::Lane,
            pool::State::Draining,
        ];
        for id in self.pool.key_ids() {
            for state in states {
                let members: Vec<Key> = self.pool.iter(id, state).map(|(key, _)| key).collect();
                for key in members.into_iter().filter(|&key| Some(key) != own) {
                    self.schema_may_be_old(turn, key, state);
                }
            }
        }
    }

    fn schema_may_be_old<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        state: pool::State,
    ) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        if backend.session.schema.is_none() {
            return;
        }
        match state {
            pool::State::Idle => backend.session.reselects(&mut self.known.interner),
            // It may have been selected anew just before.
            pool::State::Resetting => self.put_reset(turn, key),
            // Its session keeps what it has.
            _ => backend.dirty = true,
        }
    }

    pub(crate) fn retire_backends<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        self.known.charsets.forget();
        self.known.told_at_login.forget();
        self.known.forget_beginning();
        let ids: Vec<_> = self.pool.key_ids().collect();
        for id in ids {
            match self.is_relayed(id) {
                true => self.clean_backends_of(turn, id),
                false => self.retire_backends_of(turn, id),
            }
        }
    }

    /// The backends of a key are not given to anybody else.
    pub(crate) fn retire_backends_of<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        while let Some((idle, _)) = self.pool.oldest_idle_of(id) {
            self.drop_backend(turn, idle);
        }
        let busy = [
            pool::State::Active,
            pool::State::Lane,
            pool::State::Draining,
            pool::State::Resetting,
            pool::State::Connecting,
        ];
        for state in busy {
            let members: Vec<Key> = self.pool.iter(id, state).map(|(key, _)| key).collect();
            for key in members {
                if let Some(backend) = self.pool.get_mut(key) {
                    backend.retired = true;
                }
            }
        }
    }
}
