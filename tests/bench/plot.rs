//! A picture of a few measurements: in each panel the rate as a line above, the latency as a line below.

use std::fmt::Write;

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 130.0;
const MARGIN: f64 = 60.0;

/// Measurements over one variable.
pub(crate) struct Panel {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<Point>,
}

pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) rate: f64,
    pub(crate) p99_ms: f64,
}

impl Panel {
    pub(crate) const fn new(name: &'static str, points: Vec<Point>) -> Self {
        Self { name, points }
    }

    /// Draws the panel with its left edge at `left`.
    fn draw(&self, left: f64, svg: &mut String) {
        let rates = self.points.iter().map(|point| point.rate);
        let times = self.points.iter().map(|point| point.p99_ms);
        self.line(left, MARGIN, "#1f6feb", "deliveries per second", rates, svg);
        let below = MARGIN + HEIGHT + MARGIN;
        self.line(left, below, "#bf3989", "accept p99, ms", times, svg);
        let (middle, bottom) = (left + WIDTH / 2.0, below + HEIGHT + 40.0);
        text(middle, bottom, "middle", self.name, svg);
    }

    fn line(
        &self,
        left: f64,
        top: f64,
        colour: &str,
        title: &str,
        values: impl Iterator<Item = f64> + Clone,
        svg: &mut String,
    ) {
        let most = values.clone().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let bottom = top + HEIGHT;
        text(left, top - 12.0, "start", title, svg);
        let _ = writeln!(
            svg,
            r##"<path d="M{left} {top}V{bottom}H{}" fill="none" stroke="#888"/>"##,
            left + WIDTH
        );
        let step = WIDTH / (self.points.len().max(2) - 1) as f64;
        let mut path = String::new();
        for (n, (point, value)) in self.points.iter().zip(values).enumerate() {
            let (x, y) = (left + step * n as f64, bottom - HEIGHT * value / most);
            let command = if n == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{command}{x:.1} {y:.1}");
            let _ = writeln!(
                svg,
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" fill="{colour}"/>"#
            );
            text(x, y - 7.0, "middle", &short(value), svg);
            text(x, bottom + 15.0, "middle", &short(point.x), svg);
        }
        let _ = writeln!(
            svg,
            r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>"#
        );
    }
}

/// All panels side by side.
pub(crate) fn svg(panels: &[Panel]) -> String {
    let width = MARGIN + (WIDTH + MARGIN) * panels.len() as f64;
    let height = 2.0 * (MARGIN + HEIGHT) + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    for (n, panel) in panels.iter().enumerate() {
        panel.draw(MARGIN + (WIDTH + MARGIN) * n as f64, &mut svg);
    }
    svg.push_str("</svg>\n");
    svg
}

fn text(x: f64, y: f64, anchor: &str, text: &str, svg: &mut String) {
    let _ = writeln!(
        svg,
        r##"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="#333">{text}</text>"##
    );
}

fn short(value: f64) -> String {
    if value >= 10.0 {
        format!("{value:.0}")
    } else {
        let text = format!("{value:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}
