//! Tables of all runs of a chapter. On a narrow page each run becomes a card of its own.
//!
//! Each figure stands in a `<data>` whose value is that of the JSON.

use std::fmt::{Result, Write};

use page::escape;

use crate::columns::{Column, MEAN, SHARE};
use crate::{Outcome, Part, Reference, Row};

/// A figure as people read it, with its exact value.
pub(super) fn data(value: f64, text: &str) -> String {
    format!("<data value=\"{value}\">{}</data>", escape(text))
}

/// Which runs a table tells of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// All, and published figures.
    All,
    /// Those that were measured.
    Measured,
}

/// Appends a table; nothing if no run has any of these figures.
pub(super) fn write(page: &mut String, part: &Part, columns: &[Column], of: Of) -> Result {
    let figures = || part.rows.iter().filter_map(Row::figures);
    let has_values = |column: &&Column| figures().any(|f| (column.value)(f).is_some());
    let columns: Vec<&Column> = columns.iter().filter(has_values).collect();
    if columns.is_empty() {
        return Ok(());
    }
    page.push_str("<table class=\"runs\">\n<thead><tr><th></th>");
    for column in &columns {
        write!(page, "<th class=\"n\">{}</th>", column.head)?;
    }
    page.push_str("</tr></thead>\n");
    let told = || {
        part.rows
            .iter()
            .filter(|row| of == Of::All || row.figures().is_some())
    };
    let mut counts: Vec<u32> = told().map(|row| row.connections).collect();
    counts.sort_unstable();
    counts.dedup();
    for count in counts {
        let text = page::grouped(f64::from(count));
        let name = part.chapter.story().connections;
        writeln!(
            page,
            "<tbody>\n<tr class=\"step\"><th colspan=\"{}\">{} {name}</th></tr>",
            columns.len() + 1,
            data(f64::from(count), &text)
        )?;
        for row in told().filter(|row| row.connections == count) {
            run(page, row, &columns)?;
        }
        let reference = part.reference.iter().filter(|_| of == Of::All);
        for one in reference.filter(|one| one.connections == count) {
            published(page, one, (&columns, part.chapter.story().rate))?;
        }
        page.push_str("</tbody>\n");
    }
    page.push_str("</table>\n");
    Ok(())
}

fn run(page: &mut String, row: &Row, columns: &[&Column]) -> Result {
    let name = escape(&row.name());
    match &row.outcome {
        Outcome::Measured(figures) => {
            write!(page, "<tr class=\"{}\"><th>{name}</th>", class(row))?;
            for column in columns {
                cell(page, column, (column.value)(figures))?;
            }
            page.push_str("</tr>\n");
            Ok(())
        }
        Outcome::Stopped(limit) => {
            let (allows, span) = (limit.allows as f64, columns.len());
            let most = data(allows, &page::grouped(allows));
            writeln!(
                page,
                "<tr class=\"stopped\"><th>{name}</th><td colspan=\"{span}\" title=\"{}\">✕ stopped by {}: \
                 at most about {most}</td></tr>",
                escape(&limit.text),
                escape(&limit.short)
            )
        }
        Outcome::Failed(why) => writeln!(
            page,
            "<tr class=\"failed\"><th>{name}</th><td colspan=\"{}\">✕ {}</td></tr>",
            columns.len(),
            escape(why)
        ),
    }
}

fn published(page: &mut String, one: &Reference, (columns, rate): (&[&Column], &str)) -> Result {
    let name = escape(&one.name);
    write!(page, "<tr class=\"published\"><th>{name}</th>")?;
    for column in columns {
        let value = match column.head {
            head if head == rate => Some(one.statements_per_s),
            "95 % ms" => one.p95_ms,
            MEAN => one.mean_ms,
            SHARE => one.share,
            _ => None,
        };
        cell(page, column, value)?;
    }
    page.push_str("</tr>\n");
    Ok(())
}

fn cell(page: &mut String, column: &Column, value: Option<f64>) -> Result {
    let Some(value) = value else {
        return write!(page, "<td class=\"n none\">–</td>");
    };
    let bad = if column.counts_errors && value > 0.0 {
        " bad"
    } else {
        ""
    };
    let text = data(value, &(column.show)(value));
    write!(
        page,
        "<td class=\"n{bad}\" data-name=\"{}\">{text}</td>",
        column.head
    )
}

fn class(row: &Row) -> &'static str {
    match row.way {
        crate::Way::Myriad => "myriad",
        _ => "alone",
    }
}
