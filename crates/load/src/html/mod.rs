//! The report of a run as one HTML file: no script, nothing to be fetched, plots as inline SVG.
//!
//! The crate `page` draws, [`plots`] says what, [`tables`] writes the figures out.

mod plots;
mod tables;

use std::fmt::Write;

use page::{escape, grouped};

use crate::summary::Summary;

impl Summary {
    /// The summary as a self-contained HTML page.
    pub fn to_html(&self) -> String {
        let mut page = String::new();
        let written = self.write_page(&mut page);
        debug_assert!(written.is_ok(), "writing into memory cannot fail");
        page
    }

    fn write_page(&self, page: &mut String) -> std::fmt::Result {
        let title = format!("myriad load: {} connections", self.connections);
        page::begin(page, &title, "")?;
        writeln!(
            page,
            "<header>\n<h1>{} connections</h1>\n<p>{}, measured for {:.1} s</p>\n</header>",
            grouped(f64::from(self.connections)),
            escape(&self.workloads()),
            self.duration_s
        )?;
        tables::tiles(page, self)?;
        tables::warnings(page, self)?;
        for chart in plots::charts(self) {
            chart.write(page)?;
        }
        tables::figures(page, self)?;
        page::end(page);
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

#[cfg(test)]
mod tests;
