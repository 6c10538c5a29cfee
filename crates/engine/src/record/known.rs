//! What a worker knows of its server and of the statements that pass: learned from the answers of backends, and the same
//! for all sessions.

use carry::digests::Digests;
use carry::prepared::templates::Templates;
use carry::routines::Routines;
use carry::schemas::KnownSchemas;
use carry::track_lists::TrackLists;
use session::statement::{Dialect, Flavor};
use session::{Interner, SessionState};

use crate::record::facts::{Charsets, Facts};
use crate::record::told_at_login::ToldAtLogin;

/// What is known.
pub(crate) struct Known {
    /// What the server is; `None` until a backend was reached or could not be.
    pub facts: Option<Facts>,
    /// What handshake collations stand for.
    pub charsets: Charsets,
    /// What the server tells with the OK of a login.
    pub told_at_login: ToldAtLogin,
    /// Schemas that accounts were seen to have.
    pub schemas: KnownSchemas,
    /// Procedures and functions.
    pub routines: Routines,
    /// What was learned of plain reads.
    pub digests: Digests,
    /// What sessions have prepared.
    pub templates: Templates,
    /// What sessions have said is to be told of their changes.
    pub track_lists: TrackLists,
    /// States of sessions, kept once where they are equal.
    pub interner: Interner,
}

impl Known {
    /// Nothing yet.
    pub(crate) fn nothing() -> Self {
        Self {
            facts: None,
            charsets: Charsets::new(),
            told_at_login: ToldAtLogin::default(),
            schemas: KnownSchemas::default(),
            routines: Routines::default(),
            digests: Digests::default(),
            templates: Templates::default(),
            track_lists: TrackLists::default(),
            interner: Interner::default(),
        }
    }

    /// The server's family, as far as it is known.
    pub(crate) fn flavor(&self) -> Flavor {
        let facts = self.facts.as_ref();
        facts.map_or(Flavor::MySql, |facts| facts.flavor)
    }

    /// How the server reads the texts of a session; `None` if that is not known.
    pub(crate) fn dialect(&self, session: &SessionState) -> Option<Dialect> {
        self.facts.as_ref()?.dialect(session)
    }
}
