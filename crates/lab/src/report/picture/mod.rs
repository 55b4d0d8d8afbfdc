//! Pictures: SVG that needs no script, no font and no network, of a record's figures.
//!
//! | module | what |
//! |---|---|
//! | [`canvas`] | elements with escaped text, colours for light and dark |
//! | [`scale`] | linear and logarithmic axes, and where their marks go |
//! | [`lines`] | figures over a number, a line with a band for each arm |
//! | [`dots`] | figures of one setting, a row for each arm |
//! | [`heat`] | run queues over time |
//! | [`scatter`] | two figures of the same thing, on a diagonal where they agree |
//! | [`stack`] | what a figure consists of, a bar for each arm |
//! | [`of_record`], [`of_simulation`], [`of_published`] | which pictures a result has |
//!
//! A series is told from another by colour (Okabe and Ito's, which colour-blind people tell apart),
//! by the form of its marks, and by name; points say their figures when they are pointed at.

pub mod canvas;
pub mod dots;
pub mod heat;
pub mod lines;
pub mod of_published;
pub mod of_record;
pub mod of_simulation;
pub mod scale;
pub mod scatter;
pub mod stack;

use canvas::{Canvas, STYLE, escape};

use crate::record::metric::{Metric, Unit};
use crate::report::number::{duration_ns, significant};

/// Width of a picture, in units of which its text is 12 high.
pub const WIDTH: f64 = 480.0;

/// One picture.
pub struct Picture {
    /// A name for files: letters, digits and hyphens.
    pub name: String,
    /// What it shows, in words.
    pub title: String,
    /// How to read it.
    pub caption: String,
    canvas: Canvas,
    height: f64,
}

impl Picture {
    fn new(title: &str, caption: String, canvas: Canvas, height: f64) -> Self {
        Picture { name: slug(title), title: title.to_owned(), caption, canvas, height }
    }

    /// The picture for a page that has [`STYLE`].
    pub fn inside(&self) -> String {
        self.svg("", "")
    }

    /// The picture as a file of its own.
    pub fn alone(&self) -> String {
        let style = format!("<style>{STYLE}</style>");
        let ground = format!(
            "<rect class=\"bg\" fill=\"#ffffff\" width=\"{WIDTH}\" height=\"{}\"/>",
            self.height
        );
        let size = format!(" width=\"{}\" height=\"{}\"", 2.0 * WIDTH, 2.0 * self.height);
        self.svg(&size, &(style + &ground)) + "\n"
    }

    fn svg(&self, size: &str, first: &str) -> String {
        let title = escape(&self.title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\"{size} role=\"img\" \
             aria-label=\"{title}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">{first}{}</svg>",
            self.height,
            self.canvas.text(),
        )
    }
}

/// Letters and digits of a title, hyphens for the rest; short enough for a file's name.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    slug.truncate(80);
    slug.trim_end_matches('-').to_owned()
}

/// What an axis says: the figure and its unit.
fn axis_title(metric: &Metric) -> String {
    let unit = match metric.unit {
        // Marks have their units.
        Unit::Nanoseconds | Unit::Seconds | Unit::Bytes => "",
        unit => unit.label(),
    };
    if unit.is_empty() || metric.head.contains(unit) {
        metric.head.to_owned()
    } else {
        format!("{} ({unit})", metric.head)
    }
}

/// A figure at a mark of an axis: short.
fn at_mark(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Nanoseconds => short_duration(value),
        Unit::Seconds => short_duration(1e9 * value),
        _ => short(value),
    }
}

/// A number in thousands or millions where it is large.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{}M", trimmed(value / 1e6)),
        size if size >= 1e4 => format!("{}k", trimmed(value / 1e3)),
        _ => trimmed(value),
    }
}

fn short_duration(ns: f64) -> String {
    let text = duration_ns(ns);
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[digits.len()..];
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    if ns == 0.0 { "0".to_owned() } else { format!("{digits} {unit}") }
}

fn trimmed(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() < 0.001 {
        return format!("{value:.0e}");
    }
    let text = significant(Some(value));
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_harmless() {
        assert_eq!(slug("../8 threads, load 20 (190ns)"), "8-threads-load-20-190ns");
        assert!(slug(&"x/".repeat(200)).len() <= 80);
    }

    #[test]
    fn marks_are_short() {
        let cases = [
            (Unit::Nanoseconds, 1_000.0, "1 us"),
            (Unit::Nanoseconds, 0.0, "0"),
            (Unit::Seconds, 2.5, "2.5 s"),
            (Unit::ThousandPerSecond, 25_000.0, "25k"),
            (Unit::Whole, 3_000_000.0, "3M"),
            (Unit::Share, 0.25, "0.25"),
        ];
        for (unit, value, text) in cases {
            assert_eq!(at_mark(unit, value), text);
        }
    }
}
