//! The report as one HTML file: a headline, plots, tables, and how it was measured.

mod method;
pub(crate) mod plots;
mod table;

use std::fmt::{Result, Write};

use page::{escape, grouped};

use crate::chapters::Headline;
use crate::columns;
use crate::text::{bytes, ms};
use crate::{Part, Report};
use table::Of;

const STYLE: &str = include_str!("style.css");

impl Report {
    /// The report as a self-contained HTML page.
    pub fn to_html(&self) -> String {
        let mut page = String::new();
        let written = self.write_page(&mut page);
        debug_assert!(written.is_ok(), "writing into memory cannot fail");
        page
    }

    fn write_page(&self, page: &mut String) -> Result {
        let headline = self.headline();
        let words = headline.as_ref().map(sentence);
        let title = words.as_deref().unwrap_or("myriad challenge");
        page::begin(page, title, STYLE)?;
        page.push_str("<header class=\"hero\">\n<p class=\"over\">myriad challenge</p>\n");
        match &headline {
            Some(headline) => hero(page, headline)?,
            None => page.push_str("<h1>Nothing was measured yet</h1>\n"),
        }
        page.push_str("</header>\n");
        if self.interrupted {
            page.push_str(
                "<section class=\"bad\">Ended early: what is missing was not run.</section>\n",
            );
        }
        for part in &self.chapters {
            chapter(page, part)?;
        }
        method::write(page, self)?;
        page::end(page);
        Ok(())
    }

    /// What to tell first: of the first chapter that has something to tell.
    pub(crate) fn headline(&self) -> Option<Headline> {
        let mut parts = self.chapters.iter();
        parts.find_map(|part| part.chapter.headline(self, part))
    }
}

/// The headline as a text.
pub(crate) fn sentence(headline: &Headline) -> String {
    let words = headline.words.iter();
    let words: Vec<String> = words
        .map(|(value, text)| format!("{} {text}", grouped(*value)))
        .collect();
    words.join(" ")
}

fn hero(page: &mut String, headline: &Headline) -> Result {
    page.push_str("<h1>");
    for (value, text) in &headline.words {
        let value = table::data(*value, &grouped(*value));
        write!(page, "<span><b>{value}</b> {text}</span> ")?;
    }
    writeln!(
        page,
        "</h1>\n<p>{}</p>\n<div class=\"tiles\">",
        escape(&headline.below)
    )?;
    for tile in &headline.tiles {
        let (text, unit) = match tile.unit {
            "bytes" => (bytes(tile.value), ""),
            "ms" => (ms(tile.value), " ms"),
            _ => (grouped(tile.value), ""),
        };
        let class = if tile.is_bad { " class=\"bad\"" } else { "" };
        writeln!(
            page,
            "<div class=\"tile\"><b{class}>{}{unit}</b><span>{}</span></div>",
            table::data(tile.value, &text),
            escape(&tile.name)
        )?;
    }
    page.push_str("</div>\n");
    Ok(())
}

fn chapter(page: &mut String, part: &Part) -> Result {
    let story = part.chapter.story();
    let (title, lead) = (story.title, story.lead);
    writeln!(
        page,
        "<h2 class=\"chapter\">{title}</h2>\n<p class=\"lead\">{lead}</p>"
    )?;
    page.push_str("<div class=\"plots\">\n");
    for chart in part.chapter.charts(part) {
        chart.write(page)?;
    }
    page.push_str("</div>\n");
    checks(page, part)?;
    page.push_str("<section>\n<h2>Speed</h2>\n");
    table::write(page, part, &columns::speed(&story), Of::All)?;
    page.push_str("</section>\n");
    special(page, part)?;
    page.push_str("<section>\n<h2>Memory and processor time</h2>\n");
    let memory = columns::memory();
    let cost: Vec<_> = memory.into_iter().chain(columns::processes()).collect();
    table::write(page, part, &cost, Of::Measured)?;
    if part
        .rows
        .iter()
        .filter_map(crate::Row::figures)
        .any(|f| f.kernel_per_connection.is_some())
    {
        page.push_str("<details><summary>What the kernel’s memory consists of</summary>\n");
        table::write(page, part, &columns::kernel_parts(), Of::Measured)?;
        page.push_str("</details>\n");
    }
    errors(page, part)?;
    page.push_str("</section>\n");
    for note in story.notes {
        writeln!(page, "<p class=\"lead\">{note}</p>")?;
    }
    Ok(())
}

/// What is told of this chapter only.
fn special(page: &mut String, part: &Part) -> Result {
    let mut table = String::new();
    table::write(&mut table, part, &columns::special(), Of::All)?;
    if !table.is_empty() {
        write!(page, "<section>\n<h2>Compared</h2>\n{table}</section>\n")?;
    }
    Ok(())
}

/// What the chapter is to show, and whether it does.
fn checks(page: &mut String, part: &Part) -> Result {
    if part.checks.is_empty() {
        return Ok(());
    }
    page.push_str("<section>\n<h2>What it is to show</h2>\n<table class=\"checks\">\n");
    for check in &part.checks {
        let (words, bound) = check.bound.parts();
        let (class, mark) = if check.is_met {
            ("", "✓")
        } else {
            ("bad", "✕")
        };
        let (value, bound) = (data(check.value), data(bound));
        writeln!(
            page,
            "<tr><th>{mark} {}</th><td class=\"n {class}\">{value}</td><td>{words} {bound}</td></tr>",
            escape(&check.name)
        )?;
    }
    page.push_str("</table>\n</section>\n");
    Ok(())
}

/// A figure as exact as it is kept.
fn data(value: f64) -> String {
    table::data(value, &format!("{value}"))
}

/// What the errors were.
fn errors(page: &mut String, part: &Part) -> Result {
    for row in &part.rows {
        let Some(figures) = row.figures().filter(|figures| figures.errors > 0) else {
            continue;
        };
        let (connections, way) = (grouped(f64::from(row.connections)), row.name());
        let text = escape(&figures.errors_text);
        writeln!(page, "<p class=\"bad\">{connections}, {way}: {text}</p>")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
