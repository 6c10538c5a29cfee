//! One plot: lines over a common axis, as SVG. What a moment holds is shown when pointed at.

use std::fmt::{Result, Write};

use super::escape;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 26.0;

/// About how many lines the grid has.
const GRID: f64 = 4.0;

/// A plot.
pub(super) struct Chart {
    pub(super) title: &'static str,
    pub(super) series: Vec<Series>,
    /// Marks on the axis below, with their texts.
    pub(super) marks: Vec<(f64, String)>,
    /// Up to here nothing was measured.
    pub(super) measured_from: f64,
    /// What a moment, or a part, is called.
    pub(super) name_of: fn(f64) -> String,
}

/// A line.
pub(super) struct Series {
    pub(super) name: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

/// From values to places.
struct Scale {
    first: f64,
    last: f64,
    top: f64,
}

impl Chart {
    /// Appends the plot; nothing if there is too little to be seen.
    pub(super) fn write(&self, page: &mut String) -> Result {
        if self.series.iter().all(|series| series.points.len() < 2) {
            return Ok(());
        }
        let scale = Scale::of(&self.series);
        writeln!(page, "<section>\n<h2>{}</h2>", escape(self.title))?;
        self.legend(page)?;
        writeln!(
            page,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            escape(self.title)
        )?;
        self.grid(page, &scale)?;
        for (series, number) in self.series.iter().zip(1..) {
            writeln!(
                page,
                "<path class=\"s{number}\" d=\"{}\"/>",
                scale.path(&series.points)
            )?;
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
        for (series, number) in self.series.iter().zip(1..) {
            write!(
                page,
                "<span><i class=\"s{number}\"></i>{}</span>",
                escape(series.name)
            )?;
        }
        page.push_str("</div>\n");
        Ok(())
    }

    fn grid(&self, page: &mut String, scale: &Scale) -> Result {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
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
        let text_y = HEIGHT - 6.0;
        for (at, text) in &self.marks {
            let x = scale.x(*at);
            writeln!(
                page,
                "<text x=\"{x:.1}\" y=\"{text_y}\" text-anchor=\"middle\">{text}</text>"
            )?;
        }
        Ok(())
    }

    /// A strip for each point, which tells the values of all lines.
    fn hovers(&self, page: &mut String, scale: &Scale) -> Result {
        let Some(first) = self.series.first() else {
            return Ok(());
        };
        let width = (WIDTH - LEFT - RIGHT) / first.points.len() as f64;
        let height = HEIGHT - TOP - BOTTOM;
        for (index, (at, _)) in first.points.iter().enumerate() {
            let x = scale.x(*at) - width / 2.0;
            write!(
                page,
                "<rect class=\"hover\" x=\"{x:.1}\" y=\"{TOP}\" width=\"{width:.1}\" \
                 height=\"{height}\"><title>{}",
                (self.name_of)(*at)
            )?;
            for series in &self.series {
                let value = series.points.get(index).map_or(0.0, |point| point.1);
                write!(page, "\n{}: {}", escape(series.name), number(value))?;
            }
            page.push_str("</title></rect>\n");
        }
        Ok(())
    }
}

impl Scale {
    fn of(series: &[Series]) -> Self {
        let points = || series.iter().flat_map(|series| series.points.iter());
        let first = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
        let last = points().map(|point| point.0).fold(first, f64::max);
        let top = points().map(|point| point.1).fold(0.0, f64::max);
        let mut scale = Self {
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
        let width = WIDTH - LEFT - RIGHT;
        LEFT + (value - self.first) / (self.last - self.first).max(f64::MIN_POSITIVE) * width
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - value / self.top * (HEIGHT - TOP - BOTTOM)
    }

    fn path(&self, points: &[(f64, f64)]) -> String {
        let place = |(x, y): &(f64, f64)| format!("{:.1} {:.1}", self.x(*x), self.y(*y));
        let places: Vec<String> = points.iter().map(place).collect();
        format!("M{}", places.join("L"))
    }
}

/// A value as people write it: 12k, 3.4, 0.05.
pub(super) fn number(value: f64) -> String {
    let (value, unit) = match value {
        v if v >= 1e6 => (v / 1e6, "M"),
        v if v >= 1e4 => (v / 1e3, "k"),
        v => (v, ""),
    };
    let digits = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    let text = if digits > 0 {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text}{unit}")
}
