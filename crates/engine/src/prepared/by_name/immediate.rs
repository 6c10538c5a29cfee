//! EXECUTE IMMEDIATE (MariaDB): what its text does, where that is known.

use session::statement::{Dialect, Kind, Source, Statement, Traits};

use super::run;
use super::texts::{BYTES_MAX, Running};
use crate::Engine;
use crate::client::Client;
use crate::conditions::Does;

impl Engine {
    /// What it does, where `found` is the verdict on its words: what its text does, if that could be carried.
    pub(super) fn immediate(
        &self,
        client: &Client,
        (source, dialect): (Source, &Dialect),
        (with_values, mut found): (bool, Statement),
    ) -> Statement {
        let Some((text, inner)) = self.inner(client, source, dialect) else {
            found.traits |= Traits::COUNTS_UNSENT_ROWS;
            return found;
        };
        if !with_values && self.runs_anywhere(client, &text, &inner) {
            return run(&inner, found);
        }
        let does = Does::of_statement(&inner, &text, self.flavor());
        found.traits |= Running::of(&inner, does).counts;
        found
    }

    /// What running it does to the list of conditions; `None` if only the answer tells.
    pub(super) fn immediate_does(
        &self,
        client: &Client,
        source: Source,
        dialect: &Dialect,
    ) -> Option<Does> {
        let (text, inner) = self.inner(client, source, dialect)?;
        let does = Does::of_statement(&inner, &text, self.flavor());
        let hides = matches!(inner.kind, Kind::Call | Kind::Multiple | Kind::Unknown);
        (!hides).then_some(does)
    }

    fn runs_anywhere(&self, client: &Client, text: &[u8], inner: &Statement) -> bool {
        text.len() <= BYTES_MAX && self.can_be_carried(client, text, inner)
    }
}
