//! Two figures of the same thing over each other: on the diagonal they agree.

use super::canvas::{Anchor, Canvas, Stroke};
use super::lines::Series;
use super::scale::Scale;
use super::{Picture, WIDTH, trimmed};

const LEFT: f64 = 58.0;
const SIDE: f64 = 300.0;

/// Draws series of points, both axes logarithmic and alike.
pub fn draw(title: &str, series: Vec<Series>) -> Picture {
    let mut canvas = Canvas::default();
    canvas.words(8.0, 16.0, Anchor::Start, false, title);
    let names: Vec<(usize, &str)> = series.iter().map(|s| (s.number, s.name)).collect();
    let top = 34.0 + canvas.legend(8.0, 26.0, WIDTH - 8.0, &names);
    let figures = || series.iter().flat_map(|s| &s.points).flat_map(|p| [p.x, p.y]);
    let least = figures().fold(f64::INFINITY, f64::min);
    let most = figures().fold(0.0, f64::max);
    let (least, most) = if least < most { (least, most) } else { (0.1, 10.0) };
    let y = Scale::logarithmic(least, most, top + SIDE, top);
    let x = Scale::logarithmic(least, most, LEFT, LEFT + SIDE);
    for mark in y.marks() {
        canvas.line(Stroke::Grid, &[(LEFT, y.at(mark)), (LEFT + SIDE, y.at(mark))]);
        canvas.line(Stroke::Grid, &[(x.at(mark), top), (x.at(mark), top + SIDE)]);
        canvas.words(LEFT - 6.0, y.at(mark) + 4.0, Anchor::End, true, &trimmed(mark));
        canvas.words(x.at(mark), top + SIDE + 16.0, Anchor::Middle, true, &trimmed(mark));
    }
    canvas.line(Stroke::Axis, &[(LEFT, top + SIDE), (LEFT + SIDE, top)]);
    canvas.words(LEFT + SIDE / 2.0, top + SIDE + 34.0, Anchor::Middle, true, "published");
    canvas.words(LEFT + SIDE + 8.0, top + 12.0, Anchor::Start, true, "simulated");
    for one in &series {
        for point in &one.points {
            let says = format!(
                "{}: published {}, simulated {}",
                one.name,
                trimmed(point.x),
                trimmed(point.y)
            );
            canvas.mark(one.number, (x.at(point.x), y.at(point.y)), false, &says);
        }
    }
    let caption =
        "Each figure as a ratio to the geometric mean of its table's published ones. On the \
                   diagonal, simulated and published agree."
            .to_owned();
    Picture::new(title, caption, canvas, top + SIDE + 44.0)
}
