//! Reports as one HTML file each: no script, nothing to be fetched, light and dark, plots as inline SVG.
//!
//! Not here: what a report tells. Whoever has measured something writes its own page with these parts.

mod chart;
mod numbers;

use std::fmt::{Result, Write};

pub use chart::{Chart, NARROW, Series, Size, WIDE};
pub use numbers::{grouped, number};

const STYLE: &str = include_str!("style.css");

/// Begins a page; `style` is what its own parts need beside the common style.
///
/// # Errors
/// None in practice: writing into memory cannot fail.
pub fn begin(page: &mut String, title: &str, style: &str) -> Result {
    write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n<main>\n",
        escape(title)
    )
}

/// Ends it.
pub fn end(page: &mut String) {
    page.push_str("</main>\n</body>\n</html>\n");
}

/// Text as HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
