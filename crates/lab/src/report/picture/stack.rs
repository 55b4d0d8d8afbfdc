//! What happened in an operation: a bar for each arm, a part for each lock event.

use super::canvas::{Anchor, Canvas, SERIES, Stroke, fitted};
use super::scale::Scale;
use super::{Picture, WIDTH};

/// One bar.
pub struct Bar<'a> {
    /// Its name.
    pub name: &'a str,
    /// A figure for each part, in the order of the names.
    pub parts: Vec<f64>,
}

/// What is drawn.
pub struct Stack<'a> {
    /// The picture's title.
    pub title: &'a str,
    /// How to read it.
    pub caption: String,
    /// What the axis is.
    pub along: &'a str,
    /// What the parts are; at most [`MOST`].
    pub names: Vec<&'a str>,
    /// The bars.
    pub bars: Vec<Bar<'a>>,
}

/// Parts that can be told apart.
pub const MOST: usize = SERIES;

const ROW: f64 = 26.0;
const LEFT: f64 = 140.0;
const RIGHT: f64 = WIDTH - 20.0;

impl Stack<'_> {
    /// Draws it.
    pub fn draw(self) -> Picture {
        let mut canvas = Canvas::default();
        canvas.words(8.0, 16.0, Anchor::Start, false, &fitted(self.title, WIDTH - 16.0));
        let names: Vec<(usize, &str)> = self.names.iter().copied().enumerate().collect();
        let top = 34.0 + canvas.legend(8.0, 26.0, WIDTH - 8.0, &names);
        let bottom = top + ROW * self.bars.len() as f64;
        let sums = self.bars.iter().map(|bar| bar.parts.iter().sum::<f64>());
        let most = sums.fold(0.0, f64::max);
        // Parts of a sum have no logarithm.
        let x = Scale::of([0.0, most].into_iter(), LEFT, RIGHT);
        for mark in x.marks() {
            let at = x.at(mark);
            canvas.line(Stroke::Grid, &[(at, top), (at, bottom)]);
            canvas.words(at, bottom + 15.0, Anchor::Middle, true, &super::trimmed(mark));
        }
        canvas.words((LEFT + RIGHT) / 2.0, bottom + 32.0, Anchor::Middle, true, self.along);
        for (at, bar) in self.bars.iter().enumerate() {
            let y = top + ROW * at as f64 + 4.0;
            canvas.words(LEFT - 10.0, y + 13.0, Anchor::End, false, &fitted(bar.name, LEFT - 16.0));
            let mut sum = 0.0;
            for ((part, figure), name) in bar.parts.iter().enumerate().zip(&self.names) {
                let (from, to) = (x.at(sum), x.at(sum + figure));
                sum += figure;
                if to - from > 0.05 {
                    let says = format!("{}: {name} {}", bar.name, super::trimmed(*figure));
                    let wide = (to - from - 1.0).max(0.5);
                    canvas.block(part, 1.0, [from, y, wide, ROW - 8.0], &says);
                }
            }
        }
        Picture::new(self.title, self.caption, canvas, bottom + 42.0)
    }
}
