//! What a challenge has found out. It is kept as JSON; terminal and HTML show the same.

use serde::{Deserialize, Serialize};

use crate::error::ChallengeError;
use crate::figures::mean_ms;
use crate::{Case, Chapter, Check, Figures, Limit, Machine, Plan, Way, course, figures};

/// All of it. As JSON its keys are the names of these fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// When it began.
    pub began: String,
    /// Whether somebody ended it early.
    pub interrupted: bool,
    /// The machine.
    pub machine: Machine,
    /// How everything was set.
    pub settings: Settings,
    /// What was found out, chapter by chapter.
    pub chapters: Vec<Part>,
}

/// How everything was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// What the doctor found, with the settings of the challenge.
    pub host: Vec<String>,
    /// Settings of the host that were changed for the time of the challenge.
    pub changed: Vec<doctor::Change>,
    /// The database's arguments, but for `max_connections` and the thread pool, which depend on the run.
    pub database: Vec<String>,
    /// The front door's configuration for the largest step.
    pub myriad: String,
    /// The generator's command for the largest step.
    pub generator: String,
    /// Connections from the front door to the database.
    pub backends: u32,
    /// The front door's workers, and the generator's threads.
    pub threads: u32,
    /// Tables, and rows in each of them.
    pub tables: [u32; 2],
}

/// A chapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Which.
    pub chapter: Chapter,
    /// For how long each run was measured.
    pub duration_s: f64,
    /// Its runs, in their order.
    pub rows: Vec<Row>,
    /// Somebody else's figures to compare with.
    pub reference: Vec<Reference>,
    /// What it is to show, as far as its runs were measured.
    #[serde(default)]
    pub checks: Vec<Check>,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// How many connections.
    pub connections: u32,
    /// Which way.
    pub way: Way,
    /// Which limits were in force, where they are what the run is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<Case>,
    /// What became of it; its key stands beside the others. Of several rounds it is the one with the median
    /// rate, with the errors of all.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What was measured in each round, if there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Figures>,
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was done.
    Measured(Box<Figures>),
    /// A limit of the host does not let it be done.
    Stopped(Limit),
    /// It was tried and could not be done; why.
    Failed(String),
}

/// Published figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// What they are called.
    pub name: String,
    /// How many connections.
    pub connections: u32,
    /// Statements per second.
    pub statements_per_s: f64,
    /// Milliseconds that 95 % did not exceed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<f64>,
    /// The mean that follows from connections and rate; not published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ms: Option<f64>,
    /// The part of what the account gets alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

impl Report {
    /// The report as it is kept.
    ///
    /// # Errors
    /// None in practice: all values can be written as JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// Reads a report that was kept.
    ///
    /// # Errors
    /// The text is none.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Writes JSON and HTML where the plan wants them.
    pub(crate) fn write(&self, plan: &Plan) -> Result<(), ChallengeError> {
        for (extension, text) in [("json", self.to_json()?), ("html", self.to_html())] {
            let file = plan.report(extension);
            let written = output::replace(&file, text.as_bytes(), 0o666);
            written.map_err(ChallengeError::system("write", &file))?;
        }
        Ok(())
    }

    /// The first run that failed or had errors, and why. Limits that were foretold are no failure.
    pub fn trouble(&self) -> Option<String> {
        let rows = |part: &'_ Part| {
            let overloads = |row: &Row| part.chapter.overloads(row);
            part.rows.iter().find_map(|row| row.trouble(overloads(row)))
        };
        self.chapters.iter().find_map(rows)
    }
}

impl Part {
    /// Adds a run, or another round of one.
    pub(crate) fn add(&mut self, row: Row) {
        let same = |one: &&mut Row| {
            (one.connections, one.way, one.case) == (row.connections, row.way, row.case)
        };
        match self.rows.iter_mut().find(same) {
            Some(known) => known.add_round(row.outcome),
            None => self.rows.push(row),
        }
    }
}

impl Row {
    /// Why the run did not go well. `overloads`: errors are expected of it.
    fn trouble(&self, overloads: bool) -> Option<String> {
        let why = match &self.outcome {
            Outcome::Measured(figures) if figures.errors > 0 && !overloads => &figures.errors_text,
            Outcome::Failed(why) => why,
            Outcome::Measured(_) | Outcome::Stopped(_) => return None,
        };
        let (connections, name) = (self.connections, self.name());
        Some(format!("{connections} connections, {name}: {why}"))
    }

    /// What became of another round. One that failed stands for all.
    fn add_round(&mut self, outcome: Outcome) {
        match (&mut self.outcome, outcome) {
            (Outcome::Measured(known), Outcome::Measured(figures)) => {
                if self.rounds.is_empty() {
                    self.rounds.push((**known).clone());
                }
                self.rounds.push(*figures);
                if let Some(median) = figures::median_rate(&self.rounds) {
                    **known = median;
                }
            }
            (Outcome::Measured(_), other) => self.outcome = other,
            _ => {}
        }
    }

    /// What it is called beside others of as many connections.
    pub fn name(&self) -> String {
        course::name(self.way, self.case)
    }

    /// What was measured.
    pub fn figures(&self) -> Option<&Figures> {
        match &self.outcome {
            Outcome::Measured(figures) => Some(figures),
            _ => None,
        }
    }

    /// What stopped it.
    pub fn limit(&self) -> Option<&Limit> {
        match &self.outcome {
            Outcome::Stopped(limit) => Some(limit),
            _ => None,
        }
    }
}

impl Reference {
    /// Of so many connections that always have one statement under way.
    pub(crate) fn new(name: &str, connections: u32, statements_per_s: f64) -> Self {
        Self {
            name: name.to_owned(),
            connections,
            statements_per_s,
            p95_ms: None,
            mean_ms: Some(mean_ms(connections, statements_per_s)),
            share: None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
