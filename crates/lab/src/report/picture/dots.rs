//! Figures of one setting: a row for each arm, with the range of its rounds.

use super::canvas::{Anchor, Canvas, Stroke, fitted, width};
use super::scale::Scale;
use super::{Picture, WIDTH};

/// One row.
pub struct Dot<'a> {
    /// Which colour and marks.
    pub number: usize,
    /// Its name.
    pub name: &'a str,
    /// The figure.
    pub figure: f64,
    /// The least and the largest of what it is the middle of.
    pub range: Option<[f64; 2]>,
    /// What was expected, an outline beside it.
    pub expected: Option<f64>,
}

/// What is drawn.
pub struct Dots<'a> {
    /// The picture's title.
    pub title: &'a str,
    /// How to read it.
    pub caption: String,
    /// What the axis is.
    pub along: String,
    /// A figure in words.
    pub say: &'a dyn Fn(f64) -> String,
    /// The same at a mark.
    pub mark: &'a dyn Fn(f64) -> String,
    /// The rows.
    pub rows: Vec<Dot<'a>>,
}

const ROW: f64 = 20.0;
const TOP: f64 = 30.0;
/// Where the plot begins: as far to the right as names need, from and to here.
const LEFT: [f64; 2] = [140.0, 220.0];
const RIGHT: f64 = WIDTH - 62.0;

impl Dots<'_> {
    /// Draws it.
    pub fn draw(self) -> Picture {
        let mut canvas = Canvas::default();
        let longest = self.rows.iter().map(|row| width(row.name)).fold(0.0, f64::max);
        let left = (longest + 16.0).clamp(LEFT[0], LEFT[1]);
        canvas.words(8.0, 16.0, Anchor::Start, false, &fitted(self.title, WIDTH - 16.0));
        let bottom = TOP + ROW * self.rows.len() as f64;
        let all = |row: &Dot| {
            let range = row.range.into_iter().flatten();
            range.chain(row.expected).chain([row.figure]).collect::<Vec<_>>()
        };
        let figures: Vec<f64> = self.rows.iter().flat_map(all).collect();
        let x = Scale::of(figures.into_iter(), left, RIGHT);
        for mark in x.marks() {
            let at = x.at(mark);
            canvas.line(Stroke::Grid, &[(at, TOP), (at, bottom)]);
            canvas.words(at, bottom + 15.0, Anchor::Middle, true, &(self.mark)(mark));
        }
        canvas.words((left + RIGHT) / 2.0, bottom + 32.0, Anchor::Middle, true, &self.along);
        for (at, row) in self.rows.iter().enumerate() {
            let y = TOP + ROW * (at as f64 + 0.5);
            let says = format!("{}: {}", row.name, (self.say)(row.figure));
            canvas.words(left - 10.0, y + 4.0, Anchor::End, false, &fitted(row.name, left - 16.0));
            if let Some([low, high]) = row.range {
                canvas.line(Stroke::Range(row.number), &[(x.at(low), y), (x.at(high), y)]);
            }
            if let Some(expected) = row.expected {
                let says = format!("{}, expected: {}", row.name, (self.say)(expected));
                canvas.mark(row.number, (x.at(expected), y), true, &says);
            }
            canvas.mark(row.number, (x.at(row.figure), y), false, &says);
            canvas.words(WIDTH - 8.0, y + 4.0, Anchor::End, true, &(self.say)(row.figure));
        }
        Picture::new(self.title, self.caption, canvas, bottom + 42.0)
    }
}
