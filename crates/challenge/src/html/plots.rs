//! Plots over the numbers of connections: a line for each way, and one for published figures.

use page::{Chart, NARROW, Series, number};

use crate::{Figures, Part, Reference, Row, Way};

/// Characters of a note that fit beside a point.
const NOTE_MAX: usize = 44;

/// The axis of all plots of a chapter. Each number of connections takes the same room.
pub(crate) struct Plot<'a> {
    part: &'a Part,
    counts: Vec<u32>,
}

/// A plot that is being put together.
pub(crate) struct Drawing<'a> {
    plot: &'a Plot<'a>,
    chart: Chart,
}

impl<'a> Plot<'a> {
    pub(crate) fn of(part: &'a Part) -> Self {
        let mut counts: Vec<u32> = part.rows.iter().map(|row| row.connections).collect();
        counts.sort_unstable();
        counts.dedup();
        Self { part, counts }
    }

    /// A plot of one figure.
    pub(crate) fn chart(
        &'a self,
        title: &'static str,
        value: fn(&Figures) -> Option<f64>,
    ) -> Drawing<'a> {
        let lines = Way::ALL.into_iter().zip([2, 3, 1]);
        let series = lines
            .map(|(way, colour)| self.line(way, colour, value))
            .filter(|line| !line.points.is_empty())
            .collect();
        let marks = self.counts.iter().zip(0..);
        let marks = marks.map(|(count, at)| (f64::from(at), number(f64::from(*count))));
        Drawing {
            plot: self,
            chart: Chart {
                title,
                series,
                marks: marks.collect(),
                measured_from: 0.0,
                name_of: |_| String::new(),
                size: NARROW,
                dots: true,
            },
        }
    }

    /// A plot of what most of the answers did not exceed.
    pub(crate) fn p95(&'a self) -> Drawing<'a> {
        self.chart("Milliseconds that 95 % of them did not exceed", |f| {
            Some(f.latency_ms.p95)
        })
    }

    fn line(&self, way: Way, colour: usize, value: fn(&Figures) -> Option<f64>) -> Series {
        let rows = || self.part.rows.iter().filter(|row| row.way == way);
        let mut points: Vec<(f64, f64)> = rows()
            .filter_map(|row| Some((self.place(row.connections)?, value(row.figures()?)?)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series {
            name: way.name(),
            points,
            colour,
            ..Series::default()
        }
    }

    /// What stops a way.
    fn note(&self, way: &str) -> Option<String> {
        let mut rows = self.part.rows.iter().filter(|row| row.way.name() == way);
        let note = format!("✕ {}", rows.find_map(|row| row.limit())?.short);
        (note.len() <= NOTE_MAX).then_some(note)
    }

    fn place(&self, connections: u32) -> Option<f64> {
        let index = self.counts.iter().position(|count| *count == connections)?;
        Some(index as f64)
    }
}

impl Drawing<'_> {
    /// Adds published figures, as a line of this name and colour.
    pub(crate) fn with_reference(
        mut self,
        (name, colour): (&'static str, usize),
        value: impl Fn(&Reference) -> Option<f64>,
    ) -> Self {
        let published = self.plot.part.reference.iter();
        let points: Vec<(f64, f64)> = published
            .filter_map(|one| Some((self.plot.place(one.connections)?, value(one)?)))
            .collect();
        if !points.is_empty() {
            self.chart.series.push(Series {
                name,
                points,
                colour,
                is_reference: true,
                ..Series::default()
            });
        }
        self
    }

    /// Says where a line ends what stops it.
    pub(crate) fn with_stops(mut self) -> Self {
        for series in &mut self.chart.series {
            series.note = self.plot.note(series.name);
        }
        drop_repeated_notes(&mut self.chart.series);
        self
    }

    pub(crate) fn done(self) -> Chart {
        self.chart
    }
}

/// A plot of one figure of each run, which do not follow from each other: dots without a line.
pub(crate) fn of_rows(
    part: &Part,
    title: &'static str,
    mark: fn(&Row) -> String,
    value: fn(&Figures) -> Option<f64>,
) -> Chart {
    let rows = || {
        part.rows
            .iter()
            .zip(0..)
            .map(|(row, at)| (f64::from(at), row))
    };
    let point = |(at, row): (f64, &Row)| Some((at, value(row.figures()?)?));
    Chart {
        title,
        series: vec![Series {
            name: title,
            points: rows().filter_map(point).collect(),
            colour: 1,
            is_scattered: true,
            ..Series::default()
        }],
        marks: rows().map(|(at, row)| (at, mark(row))).collect(),
        measured_from: 0.0,
        name_of: |_| String::new(),
        size: NARROW,
        dots: true,
    }
}

/// Lines that stop at the same place for the same reason say so once.
fn drop_repeated_notes(series: &mut [Series]) {
    for index in 1..series.len() {
        let (before, rest) = series.split_at_mut(index);
        let place = |line: &Series| line.points.last().map(|point| point.0);
        let this = &mut rest[0];
        let said = |line: &Series| line.note == this.note && place(line) == place(this);
        if before.iter().any(said) {
            this.note = None;
        }
    }
}
