//! A drawing of the samples: one panel per figure, over time.

use std::fmt::Write;

use crate::usage::Sample;

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 90.0;
const MARGIN: f64 = 50.0;
const COLUMNS: usize = 3;

type Panel = (&'static str, Vec<f64>);

pub(crate) fn svg(samples: &[Sample]) -> String {
    let all = |figure: fn(&Sample) -> f64| samples.iter().map(figure).collect::<Vec<_>>();
    let rates = samples.windows(2).map(|pair| {
        (pair[1].requests - pair[0].requests) / ((pair[1].minutes - pair[0].minutes) * 60.0)
    });
    let panels: [Panel; 6] = [
        ("requests per second", rates.collect()),
        ("p99 of lateness, ms", all(|it| it.p99_ms)),
        ("memory, MB", all(|it| it.memory_mb)),
        ("descriptors", all(|it| it.descriptors)),
        ("database, MB", all(|it| it.database_mb)),
        ("log, MB", all(|it| it.log_mb)),
    ];
    let rows = panels.len().div_ceil(COLUMNS) as f64;
    let width = MARGIN + (WIDTH + MARGIN) * COLUMNS as f64;
    let height = MARGIN / 2.0 + (HEIGHT + MARGIN) * rows;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let minutes = samples.last().map_or(0.0, |last| last.minutes);
    for (number, panel) in panels.iter().enumerate() {
        let left = MARGIN + (WIDTH + MARGIN) * (number % COLUMNS) as f64;
        let top = MARGIN / 2.0 + (HEIGHT + MARGIN) * (number / COLUMNS) as f64;
        draw(panel, left, top, minutes, &mut svg);
    }
    svg.push_str("</svg>\n");
    svg
}

fn draw((name, values): &Panel, left: f64, top: f64, minutes: f64, svg: &mut String) {
    let most = values.iter().copied().fold(0.0, f64::max).max(1.0);
    let (bottom, right) = (top + HEIGHT, left + WIDTH);
    text(left, top - 8.0, "start", name, svg);
    text(left - 5.0, top + 8.0, "end", &format!("{most:.0}"), svg);
    text(left - 5.0, bottom, "end", "0", svg);
    text(
        right,
        bottom + 14.0,
        "end",
        &format!("{minutes:.0} min"),
        svg,
    );
    let _ = writeln!(
        svg,
        r##"<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#888"/>"##
    );
    let step = WIDTH / (values.len().max(2) - 1) as f64;
    let mut path = String::new();
    for (number, value) in values.iter().enumerate() {
        let (x, y) = (left + step * number as f64, bottom - HEIGHT * value / most);
        let command = if number == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{command}{x:.1} {y:.1}");
    }
    let _ = writeln!(
        svg,
        r##"<path d="{path}" fill="none" stroke="#1f6feb" stroke-width="1.5"/>"##
    );
}

fn text(x: f64, y: f64, anchor: &str, text: &str, svg: &mut String) {
    let _ = writeln!(
        svg,
        r##"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="#333">{text}</text>"##
    );
}
