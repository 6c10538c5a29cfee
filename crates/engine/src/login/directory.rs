//! Credentials that have changed, and statements that may change accounts.

use accounts::Account;
use carry::packet::{Packet, defines, mentions};
use events::Io;
use membership::Key;
use pool::KeyId;
use session::statement::{Kind, Statement};

use crate::record::limits::Keeping;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// Longer texts are not looked at for what they concern.
const TEXT_MAX: usize = 1_024;

impl Records {
    /// A client has proved to know the account's credential of now: what was opened with an earlier one is
    /// used up.
    pub(crate) fn follow_credential<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        id: KeyId,
        account: &Account,
    ) {
        let state = &mut self.keys[id.0 as usize];
        let outdated = std::mem::take(&mut state.outdated);
        let known = std::mem::replace(&mut state.credential_version, account.credential_version);
        if outdated || known != account.credential_version {
            // What was refused before says nothing about the new one.
            state.retry_at = None;
            self.retire_backends_of(turn, id);
        }
    }

    /// What is to be kept of a statement that may change accounts or privileges: its OK is told when that is
    /// known here.
    pub(crate) fn reads_accounts_after(
        &self,
        client: Key,
        packet: Packet<'_>,
        statement: &Statement,
        keeping: Option<Box<Keeping>>,
    ) -> Option<Box<Keeping>> {
        let names = |word: &[u8]| {
            let client = self.clients.get(client);
            let text = client.and_then(|client| client.text_that_runs(packet));
            text.is_some_and(|text| text.len() < TEXT_MAX && mentions(text, word))
        };
        if !self.accounts.asks_database() || !concerns_accounts(statement, names) {
            return keeping;
        }
        let mut keeping = keeping.unwrap_or_else(|| Box::new(Keeping::of_accounts()));
        keeping.reads_accounts = true;
        Some(keeping)
    }
}

/// Whether a statement that runs alone may change accounts, privileges or roles. `names` tells whether its text has a word
/// that contains another.
fn concerns_accounts(statement: &Statement, names: impl Fn(&[u8]) -> bool) -> bool {
    match statement.kind {
        Kind::Account => defines(statement.kind, statement.traits),
        Kind::Admin => names(b"privileges"),
        _ => false,
    }
}
