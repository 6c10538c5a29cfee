//! The report of a run as one HTML file: no script, nothing to be fetched, plots as inline SVG.
//!
//! [`chart`] draws, [`plots`] says what, [`tables`] writes the figures out.

mod chart;
mod plots;
mod tables;

use std::fmt::Write;

use crate::summary::Summary;

const STYLE: &str = include_str!("style.css");

impl Summary {
    /// The summary as a self-contained HTML page.
    pub fn to_html(&self) -> String {
        let mut page = String::new();
        let written = self.write_page(&mut page);
        debug_assert!(written.is_ok(), "writing into memory cannot fail");
        page
    }

    fn write_page(&self, page: &mut String) -> std::fmt::Result {
        write!(
            page,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>myriad load: {} connections</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <main>\n<header>\n<h1>{} connections</h1>\n<p>{}, measured for {:.1} s</p>\n</header>\n",
            self.connections,
            tables::grouped(f64::from(self.connections)),
            escape(&self.workloads()),
            self.duration_s
        )?;
        tables::tiles(page, self)?;
        tables::warnings(page, self)?;
        for chart in plots::charts(self) {
            chart.write(page)?;
        }
        tables::figures(page, self)?;
        page.push_str("</main>\n</body>\n</html>\n");
        Ok(())
    }

    fn workloads(&self) -> String {
        let names: Vec<&str> = self
            .groups
            .iter()
            .map(|group| group.workload.as_str())
            .collect();
        names.join(", ")
    }
}

/// Text as HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
