//! `[log]`: what is logged, and how.

use crate::section::Section;
use crate::value;

/// The log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// How much is logged.
    pub level: Level,
    /// How a line looks.
    pub format: Format,
}

/// How much is logged: this and all above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// What needs somebody to act.
    Error,
    /// What may need somebody to act.
    Warn,
    /// What happens to the process as a whole.
    #[default]
    Info,
    /// What happens to single sessions.
    Debug,
    /// Everything.
    Trace,
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object for machines.
    Json,
}

const LEVELS: [(&str, Level); 5] = [
    (Level::Error.as_str(), Level::Error),
    (Level::Warn.as_str(), Level::Warn),
    (Level::Info.as_str(), Level::Info),
    (Level::Debug.as_str(), Level::Debug),
    (Level::Trace.as_str(), Level::Trace),
];

const FORMATS: [(&str, Format); 2] = [
    (Format::Text.as_str(), Format::Text),
    (Format::Json.as_str(), Format::Json),
];

impl Format {
    /// The format as it is written in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

impl Level {
    /// The level as it is written in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

impl Log {
    pub(crate) fn read(section: &mut Section<'_, '_>) -> Self {
        let default = Self::default();
        Self {
            level: section.read("level", default.level, |v| value::choice(v, &LEVELS)),
            format: section.read("format", default.format, |v| value::choice(v, &FORMATS)),
        }
    }
}
