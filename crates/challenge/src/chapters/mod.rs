//! The chapters of a report. Each is one file: what it runs, and how it is told.

mod connect_rate;
mod isolation;
mod ladder;
mod storm;
mod update_ladder;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use page::Chart;
use serde::{Deserialize, Serialize};

use crate::{Check, Course, Part, Plan, Reference, Report, Row, Way};

/// A chapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Chapter {
    /// More and more connections that all execute point selects.
    Ladder,
    /// Users that connect anew for every statement.
    ConnectRate,
    /// More and more connections that all change rows, durably, within limits.
    UpdateLadder,
    /// An account beside another one that misbehaves.
    Isolation,
    /// Clients that give up and ask again, more than can be served.
    Storm,
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
    /// What has to be known to read its figures, in paragraphs.
    pub(crate) notes: &'static [&'static str],
    /// Where published figures are from.
    pub(crate) source: Option<&'static str>,
}

impl Chapter {
    /// All, in the order in which they are told.
    pub const ALL: [Self; 5] = [
        Self::Ladder,
        Self::ConnectRate,
        Self::UpdateLadder,
        Self::Isolation,
        Self::Storm,
    ];

    /// Those that are run where none is named.
    pub const USUAL: [Self; 2] = [Self::Ladder, Self::ConnectRate];

    /// As it is written on a command line.
    pub fn name(self) -> &'static str {
        self.story().name
    }

    pub(crate) fn story(self) -> Story {
        match self {
            Self::Ladder => ladder::STORY,
            Self::ConnectRate => connect_rate::STORY,
            Self::UpdateLadder => update_ladder::STORY,
            Self::Isolation => isolation::STORY,
            Self::Storm => storm::STORY,
        }
    }

    /// Its runs, in order.
    pub(crate) fn courses(self, plan: &Plan) -> Vec<Course> {
        match self {
            Self::Ladder => ladder::courses(plan),
            Self::ConnectRate => connect_rate::courses(plan),
            Self::UpdateLadder => update_ladder::courses(plan),
            Self::Isolation => isolation::courses(plan),
            Self::Storm => storm::courses(plan),
        }
    }

    /// Somebody else's figures to compare with.
    pub(crate) fn reference(self, plan: &Plan) -> Vec<Reference> {
        match self {
            Self::Ladder => ladder::reference(plan),
            Self::UpdateLadder => update_ladder::reference(plan),
            Self::Isolation => isolation::reference(),
            Self::ConnectRate | Self::Storm => Vec::new(),
        }
    }

    /// What it is to show, as far as it was measured.
    pub(crate) fn checks(self, part: &Part) -> Vec<Check> {
        match self {
            Self::Ladder | Self::ConnectRate => Vec::new(),
            Self::UpdateLadder => update_ladder::checks(part),
            Self::Isolation => isolation::checks(part),
            Self::Storm => storm::checks(part),
        }
    }

    /// Whether errors of a run are what it is to show: a storm's in the database alone.
    pub(crate) fn overloads(self, row: &Row) -> bool {
        self == Self::Storm && row.way == Way::Alone
    }

    /// Its plots.
    pub(crate) fn charts(self, part: &Part) -> Vec<Chart> {
        match self {
            Self::Ladder => ladder::charts(part),
            Self::ConnectRate => connect_rate::charts(part),
            Self::UpdateLadder => update_ladder::charts(part),
            Self::Isolation => isolation::charts(part),
            Self::Storm => storm::charts(part),
        }
    }

    /// What to tell first if this is the first chapter of a report.
    pub(crate) fn headline(self, report: &Report, part: &Part) -> Option<Headline> {
        match self {
            Self::Ladder => ladder::headline(report, part),
            Self::ConnectRate => connect_rate::headline(report, part),
            Self::UpdateLadder => update_ladder::headline(report, part),
            Self::Isolation => isolation::headline(report, part),
            Self::Storm => storm::headline(report, part),
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
