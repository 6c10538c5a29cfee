//! One plot: lines over a common axis, as SVG. What a moment holds is shown when pointed at.

use std::fmt::{Result, Write};

use crate::{escape, number};

/// How much room a plot takes, in the units of its drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

/// A plot over the whole width of a page.
pub const WIDE: Size = Size {
    width: 900.0,
    height: 240.0,
};

/// A plot beside another one; its texts can be read on a phone.
pub const NARROW: Size = Size {
    width: 440.0,
    height: 250.0,
};

const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 26.0;

/// About how many lines the grid has.
const GRID: f64 = 4.0;

/// A plot.
#[derive(Debug)]
pub struct Chart {
    /// What it shows.
    pub title: &'static str,
    /// Its lines.
    pub series: Vec<Series>,
    /// Marks on the axis below, with their texts.
    pub marks: Vec<(f64, String)>,
    /// Up to here nothing was measured.
    pub measured_from: f64,
    /// What a moment, or a part, is called.
    pub name_of: fn(f64) -> String,
    /// The room that it takes.
    pub size: Size,
    /// Whether each point is marked, so that one alone can be seen.
    pub dots: bool,
}

/// A line.
#[derive(Debug, Default)]
pub struct Series {
    /// What it is.
    pub name: &'static str,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
    /// Which of the page's colours it has: 1 to 4.
    pub colour: usize,
    /// Its points do not follow from each other: there is no line between them.
    pub is_scattered: bool,
    /// Somebody else's figures: dashed.
    pub is_reference: bool,
    /// What stands beside its last point.
    pub note: Option<String>,
}

/// From values to places.
struct Scale {
    size: Size,
    first: f64,
    last: f64,
    top: f64,
}

impl Chart {
    /// Appends the plot; nothing if there is too little to be seen.
    ///
    /// # Errors
    /// None in practice: writing into memory cannot fail.
    pub fn write(&self, page: &mut String) -> Result {
        let least = if self.dots { 1 } else { 2 };
        if self.series.iter().all(|line| line.points.len() < least) {
            return Ok(());
        }
        let scale = Scale::of(self);
        let Size { width, height } = self.size;
        let title = escape(self.title);
        writeln!(page, "<section>\n<h2>{title}</h2>")?;
        self.legend(page)?;
        writeln!(
            page,
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">"
        )?;
        self.grid(page, &scale)?;
        for series in &self.series {
            self.line(page, &scale, series)?;
        }
        self.hovers(page, &scale)?;
        page.push_str("</svg>\n</section>\n");
        Ok(())
    }

    fn legend(&self, page: &mut String) -> Result {
        if self.series.len() < 2 {
            return Ok(());
        }
        page.push_str("<div class=\"legend\">");
        for series in &self.series {
            let (class, name) = (series.class(), escape(series.name));
            write!(page, "<span><i class=\"{class}\"></i>{name}</span>")?;
        }
        page.push_str("</div>\n");
        Ok(())
    }

    fn grid(&self, page: &mut String, scale: &Scale) -> Result {
        let Size { width, height } = self.size;
        let (right, bottom) = (width - RIGHT, height - BOTTOM);
        if self.measured_from > scale.first {
            let width = scale.x(self.measured_from.min(scale.last)) - LEFT;
            let height = bottom - TOP;
            writeln!(
                page,
                "<rect class=\"warm\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{width:.1}\" \
                 height=\"{height}\"><title>not measured</title></rect>"
            )?;
        }
        let step = scale.step();
        let lines = (0..).map(|line| f64::from(line) * step);
        for value in lines.take_while(|value| *value <= scale.top * 1.0001) {
            let (y, text_x) = (scale.y(value), LEFT - 8.0);
            let text_y = y + 4.0;
            writeln!(
                page,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{text_x}\" y=\"{text_y:.1}\" text-anchor=\"end\">{}</text>",
                number(value)
            )?;
        }
        let text_y = height - 6.0;
        for (at, text) in &self.marks {
            let x = scale.x(*at);
            writeln!(
                page,
                "<text x=\"{x:.1}\" y=\"{text_y}\" text-anchor=\"middle\">{text}</text>"
            )?;
        }
        Ok(())
    }

    fn line(&self, page: &mut String, scale: &Scale, series: &Series) -> Result {
        let (class, path) = (series.class(), scale.path(&series.points));
        if series.points.len() > 1 && !series.is_scattered {
            writeln!(page, "<path class=\"{class}\" d=\"{path}\"/>")?;
        }
        let dots = series.points.iter().filter(|_| self.dots);
        for (x, y) in dots {
            let (x, y) = (scale.x(*x), scale.y(*y));
            writeln!(
                page,
                "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>"
            )?;
        }
        if let (Some(note), Some((x, y))) = (&series.note, series.points.last()) {
            let (x, y) = (scale.x(*x) + 10.0, scale.y(*y) + 4.0);
            let note = escape(note);
            writeln!(
                page,
                "<text class=\"note {class}\" x=\"{x:.1}\" y=\"{y:.1}\">{note}</text>"
            )?;
        }
        Ok(())
    }

    /// A strip around each place that has a point, which tells the values of all lines there.
    fn hovers(&self, page: &mut String, scale: &Scale) -> Result {
        let places = self.places();
        for (index, at) in places.iter().enumerate() {
            let begin = match index.checked_sub(1) {
                Some(before) => scale.x((places[before] + at) / 2.0),
                None => LEFT,
            };
            let end = match places.get(index + 1) {
                Some(after) => scale.x((at + after) / 2.0),
                None => self.size.width - RIGHT,
            };
            let (width, height) = (end - begin, self.size.height - TOP - BOTTOM);
            write!(
                page,
                "<rect class=\"hover\" x=\"{begin:.1}\" y=\"{TOP}\" width=\"{width:.1}\" \
                 height=\"{height}\"><title>{}",
                (self.name_of)(*at)
            )?;
            for series in &self.series {
                if let Some(value) = series.at(*at) {
                    write!(page, "\n{}: {}", escape(series.name), number(value))?;
                }
            }
            page.push_str("</title></rect>\n");
        }
        Ok(())
    }

    /// Where there is a point of any line, from left to right.
    fn places(&self) -> Vec<f64> {
        let points = self.series.iter().flat_map(|series| &series.points);
        let mut places: Vec<f64> = points.map(|point| point.0).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }
}

impl Series {
    fn class(&self) -> String {
        let dashed = if self.is_reference { " ref" } else { "" };
        format!("s{}{dashed}", self.colour)
    }

    fn at(&self, place: f64) -> Option<f64> {
        let found = self
            .points
            .binary_search_by(|point| point.0.total_cmp(&place));
        found.ok().map(|index| self.points[index].1)
    }
}

impl Scale {
    fn of(chart: &Chart) -> Self {
        let points = || chart.series.iter().flat_map(|series| series.points.iter());
        let marks = chart.marks.iter().filter(|_| chart.dots);
        let places = || points().map(|p| p.0).chain(marks.clone().map(|m| m.0));
        let first = places().fold(f64::INFINITY, f64::min);
        let last = places().fold(first, f64::max);
        let top = points().map(|point| point.1).fold(0.0, f64::max);
        let mut scale = Self {
            size: chart.size,
            first,
            last,
            top: if top > 0.0 { top } else { 1.0 },
        };
        let step = scale.step();
        scale.top = (scale.top / step).ceil() * step;
        scale
    }

    /// Between two lines of the grid: 1, 2 or 5 and noughts.
    fn step(&self) -> f64 {
        let rough = self.top / GRID;
        let power = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        steps
            .into_iter()
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(rough)
    }

    fn x(&self, value: f64) -> f64 {
        let width = self.size.width - LEFT - RIGHT;
        LEFT + (value - self.first) / (self.last - self.first).max(f64::MIN_POSITIVE) * width
    }

    fn y(&self, value: f64) -> f64 {
        let bottom = self.size.height - BOTTOM;
        bottom - value / self.top * (bottom - TOP)
    }

    fn path(&self, points: &[(f64, f64)]) -> String {
        let place = |(x, y): &(f64, f64)| format!("{:.1} {:.1}", self.x(*x), self.y(*y));
        let places: Vec<String> = points.iter().map(place).collect();
        format!("M{}", places.join("L"))
    }
}
