//! The chapters of a report. Each is one file: what it runs, and how it is told.

mod connect_rate;
mod ladder;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use page::Chart;
use serde::{Deserialize, Serialize};

use crate::{Course, Part, Plan, Reference, Report, Row, Way};

/// A chapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Chapter {
    /// More and more connections that all execute point selects.
    Ladder,
    /// Users that connect anew for every statement.
    ConnectRate,
}

/// What a chapter says of itself.
pub(crate) struct Story {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What was done, in a sentence or two.
    pub(crate) lead: &'static str,
    /// What its number of connections is called.
    pub(crate) connections: &'static str,
    /// What its rate is called.
    pub(crate) rate: &'static str,
    /// Whether one database and front door serve all runs of a way; else each run has fresh ones.
    pub(crate) keeps_bench: bool,
}

impl Chapter {
    /// All, in the order in which they are run.
    pub const ALL: [Self; 2] = [Self::Ladder, Self::ConnectRate];

    /// As it is written on a command line.
    pub fn name(self) -> &'static str {
        self.story().name
    }

    pub(crate) fn story(self) -> Story {
        match self {
            Self::Ladder => ladder::STORY,
            Self::ConnectRate => connect_rate::STORY,
        }
    }

    /// Its runs, in order.
    pub(crate) fn courses(self, plan: &Plan) -> Vec<Course> {
        match self {
            Self::Ladder => ladder::courses(plan),
            Self::ConnectRate => connect_rate::courses(plan),
        }
    }

    /// Somebody else's figures to compare with.
    pub(crate) fn reference(self, plan: &Plan) -> Vec<Reference> {
        match self {
            Self::Ladder => ladder::reference(plan),
            Self::ConnectRate => Vec::new(),
        }
    }

    /// Its plots.
    pub(crate) fn charts(self, part: &Part) -> Vec<Chart> {
        match self {
            Self::Ladder => ladder::charts(part),
            Self::ConnectRate => connect_rate::charts(part),
        }
    }

    /// What to tell first if this is the first chapter of a report.
    pub(crate) fn headline(self, report: &Report, part: &Part) -> Option<Headline> {
        match self {
            Self::Ladder => ladder::headline(report, part),
            Self::ConnectRate => connect_rate::headline(report, part),
        }
    }
}

impl fmt::Display for Chapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Chapter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|chapter| chapter.name() == text);
        found.ok_or_else(|| {
            let all = Self::ALL.map(Self::name).join(", ");
            format!("there is no chapter {text}; choose among {all}")
        })
    }
}

/// What a report says first. Figures are given with the texts that stand beside them.
pub(crate) struct Headline {
    /// Figures and what they are of, in reading order.
    pub(crate) words: Vec<(f64, &'static str)>,
    /// How that came about.
    pub(crate) below: String,
    /// Figures that come next: value, unit, what it is.
    pub(crate) tiles: Vec<Tile>,
}

/// A figure that stands out.
pub(crate) struct Tile {
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) name: String,
    pub(crate) is_bad: bool,
}

impl Tile {
    fn new(value: f64, unit: &'static str, name: impl Into<String>) -> Self {
        Self {
            value,
            unit,
            name: name.into(),
            is_bad: false,
        }
    }
}

/// Before measuring: some time for caches, and enough for each connection to have had an answer.
fn warmup(duration: Duration, connections: u32) -> Duration {
    let usual = (duration / 4).min(Duration::from_secs(3));
    usual + Duration::from_secs_f64(f64::from(connections) / 20_000.0)
}

/// The run with the most connections that went this way and had no error.
fn best(part: &Part, way: Way) -> Option<(&Row, &crate::Figures)> {
    let rows = part.rows.iter().filter(|row| row.way == way);
    let measured = rows.filter_map(|row| Some((row, row.figures()?)));
    let clean = measured.filter(|(_, figures)| figures.errors == 0);
    clean.max_by_key(|(row, _)| row.connections)
}
