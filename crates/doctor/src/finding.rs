//! What a check says: found, needed, why, how bad, from which number of connections on.

use serde::Serialize;

use crate::remedy::Remedy;

/// How bad it is. The order is that of being bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Nothing to do.
    Fine,
    /// It could not be found out.
    Unknown,
    /// It works, but badly, or only as long as nothing unusual happens.
    Warning,
    /// So many connections will not come about.
    Fatal,
}

/// What a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Open files.
    Files,
    /// Threads and their memory maps.
    Threads,
    /// Ports and addresses.
    Ports,
    /// Queues and tables of the network stack.
    Network,
    /// Memory.
    Memory,
    /// What else the kernel and the processors offer.
    Kernel,
    /// The database behind.
    Database,
}

/// What one check has found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The check; its page is `docs/doctor/<check>.md`.
    pub check: &'static str,
    /// What it is about.
    pub group: Group,
    /// What was observed.
    #[serde(flatten)]
    pub observation: Observation,
}

/// What a check has observed, and makes of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Observation {
    /// How bad it is.
    pub severity: Severity,
    /// What was found, in a few words.
    pub short: String,
    /// What was found.
    pub found: String,
    /// What the connections need, with the arithmetic; empty if there is nothing to compare.
    pub needs: String,
    /// Why that matters.
    pub why: String,
    /// How many connections this lets be; `None` if it is no limit of their number.
    pub limit: Option<u64>,
    /// What to do, the best first.
    pub remedies: Vec<Remedy>,
}

impl Observation {
    /// Something that is as it should be, until judged otherwise.
    pub(crate) fn new(short: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            severity: Severity::Fine,
            short: short.into(),
            found: found.into(),
            needs: String::new(),
            why: String::new(),
            limit: None,
            remedies: Vec::new(),
        }
    }

    /// Says what is needed.
    pub(crate) fn needs(mut self, needs: impl Into<String>) -> Self {
        self.needs = needs.into();
        self
    }

    /// Says why it matters.
    pub(crate) fn why(mut self, why: impl Into<String>) -> Self {
        self.why = why.into();
        self
    }

    /// It is so bad if `bad`; then these are the remedies.
    pub(crate) fn judged(
        mut self,
        bad: bool,
        severity: Severity,
        remedies: impl IntoIterator<Item = Remedy>,
    ) -> Self {
        if bad {
            self.severity = severity;
            self.remedies = remedies.into_iter().collect();
        }
        self
    }

    /// No more than so many connections come about; too few is fatal.
    pub(crate) fn limited(
        mut self,
        limit: u64,
        wanted: u64,
        remedies: impl IntoIterator<Item = Remedy>,
    ) -> Self {
        self.limit = Some(limit);
        self.judged(limit < wanted, Severity::Fatal, remedies)
    }
}

impl Finding {
    /// Where to read more.
    pub fn page(&self) -> String {
        format!("docs/doctor/{}.md", self.check)
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.observation.severity
    }
}

impl Group {
    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Files => "open files",
            Self::Threads => "threads",
            Self::Ports => "ports",
            Self::Network => "network",
            Self::Memory => "memory",
            Self::Kernel => "kernel",
            Self::Database => "database",
        }
    }
}
