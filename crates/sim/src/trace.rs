//! What happened, for whoever reads a failure. Off in ordinary runs: a failing seed is run again
//! with it.

use std::collections::VecDeque;

use events::Timestamp;

const KEPT: usize = 100;

/// How much is written down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Nothing.
    #[default]
    Off,
    /// The last lines.
    Tail,
    /// Everything.
    All,
}

/// The lines so far.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    detail: Detail,
    lines: VecDeque<String>,
}

impl Trace {
    pub(crate) fn new(detail: Detail) -> Self {
        Self {
            detail,
            lines: VecDeque::new(),
        }
    }

    /// Writes one line down; `text` is called only if anybody will read it.
    pub(crate) fn line(&mut self, now: Timestamp, text: impl FnOnce() -> String) {
        if self.detail == Detail::Off {
            return;
        }
        if self.detail == Detail::Tail && self.lines.len() >= KEPT {
            self.lines.pop_front();
        }
        self.lines
            .push_back(format!("{:>10} µs  {}", now.as_us(), text()));
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.lines.into()
    }
}

/// Bytes as somebody can read them: text where it is text.
pub(crate) fn readable(bytes: &[u8]) -> String {
    const SHOWN: usize = 120;
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let more = if bytes.len() > SHOWN { "…" } else { "" };
    format!("{} bytes \"{}\"{more}", bytes.len(), shown.escape_ascii())
}
