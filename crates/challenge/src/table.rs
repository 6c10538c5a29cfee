//! The report in a terminal: a table per chapter.

use std::fmt;

use crate::chapters::Story;
use crate::columns::{Column, memory, special, speed};
use crate::html::sentence;
use crate::{Outcome, Part, Report, Row};

/// Between two columns.
const GAP: &str = "  ";

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.chapters {
            writeln!(f, "{}\n", part.chapter.story().title)?;
            write_part(f, part)?;
            writeln!(f)?;
            write_checks(f, part)?;
        }
        match self.headline() {
            Some(headline) => writeln!(f, "{}", sentence(&headline)),
            None => Ok(()),
        }
    }
}

fn write_part(f: &mut fmt::Formatter<'_>, part: &Part) -> fmt::Result {
    let story = part.chapter.story();
    let columns = shown(part, &story);
    let heads = columns.iter().map(|column| column.head.to_owned());
    let first = [story.connections.to_owned(), String::new()];
    let head: Vec<String> = first.into_iter().chain(heads).collect();
    let lines: Vec<Vec<String>> = part.rows.iter().map(|row| line(row, &columns)).collect();
    let width = |index: usize| {
        let cells = lines
            .iter()
            .chain([&head])
            .filter(|line| line.len() == head.len());
        cells
            .map(|line| line[index].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    for line in [&head].into_iter().chain(&lines) {
        for (index, (cell, width)) in line.iter().zip(&widths).enumerate() {
            match index {
                // Names stand on the left, and so does what a run says instead of figures.
                1 => write!(f, "{GAP}{cell:width$}")?,
                _ if line.len() < head.len() && index > 1 => write!(f, "{GAP}{cell}")?,
                _ => write!(f, "{GAP}{cell:>width$}")?,
            }
        }
        writeln!(f)?;
    }
    Ok(())
}

/// What the chapter is to show.
fn write_checks(f: &mut fmt::Formatter<'_>, part: &Part) -> fmt::Result {
    for check in &part.checks {
        let mark = if check.is_met { "✓" } else { "✕" };
        let (words, bound) = check.bound.parts();
        let (name, value) = (&check.name, check.value);
        writeln!(f, "{GAP}{mark} {name}: {value} ({words} {bound})")?;
    }
    if part.checks.is_empty() {
        return Ok(());
    }
    writeln!(f)
}

/// The columns of which any run has a figure.
fn shown(part: &Part, story: &Story) -> Vec<Column> {
    let all = speed(story).into_iter().chain(special()).chain(memory());
    let has_values = |column: &Column| {
        let mut figures = part.rows.iter().filter_map(Row::figures);
        figures.any(|figures| (column.value)(figures).is_some())
    };
    all.filter(has_values).collect()
}

fn line(row: &Row, columns: &[Column]) -> Vec<String> {
    let connections = page::grouped(f64::from(row.connections));
    let mut line = vec![connections, row.name()];
    match &row.outcome {
        Outcome::Measured(figures) => line.extend(columns.iter().map(|column| {
            let value = (column.value)(figures);
            value.map_or("–".to_owned(), column.show)
        })),
        Outcome::Stopped(limit) => {
            let (short, most) = (&limit.short, page::grouped(limit.allows as f64));
            line.push(format!("✕ stopped by {short}: at most about {most}"));
        }
        Outcome::Failed(why) => line.push(format!("✕ {why}")),
    }
    line
}
