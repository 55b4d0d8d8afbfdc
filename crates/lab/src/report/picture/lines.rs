//! Figures over a number: a line with a band for each series.

use super::canvas::{Anchor, Canvas, Stroke, fitted};
use super::scale::Scale;
use super::{Picture, WIDTH};

/// One series.
pub struct Series<'a> {
    /// Which colour and marks; the same arm has the same in all pictures.
    pub number: usize,
    /// Its name.
    pub name: &'a str,
    /// x ascending.
    pub points: Vec<Point>,
    /// Its line is dashed away and its marks are outlines: it is not measured but expected.
    pub expected: bool,
}

/// One figure.
pub struct Point {
    /// Over what.
    pub x: f64,
    /// The figure.
    pub y: f64,
    /// The least and the largest of what it is the middle of.
    pub range: Option<[f64; 2]>,
}

/// How the x axis goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Across {
    /// Each x has a mark; doublings are equally far apart if there are several.
    Counts,
    /// Numbers of nines: 1 is 90 %, 2 is 99 %.
    Nines,
    /// From least to most, both logarithmic if they are far apart.
    Figures,
}

/// What is drawn.
pub struct Lines<'a> {
    /// The picture's title.
    pub title: &'a str,
    /// How to read it.
    pub caption: String,
    /// What x is.
    pub across: (Across, &'a str),
    /// What y is.
    pub up: String,
    /// A figure of y in words.
    pub say: &'a dyn Fn(f64) -> String,
    /// The same at a mark.
    pub mark: &'a dyn Fn(f64) -> String,
    /// The series.
    pub series: Vec<Series<'a>>,
}

const LEFT: f64 = 58.0;
const RIGHT: f64 = WIDTH - 14.0;
const PLOT: f64 = 210.0;

impl Lines<'_> {
    /// Draws it.
    pub fn draw(self) -> Picture {
        let mut canvas = Canvas::default();
        canvas.words(8.0, 16.0, Anchor::Start, false, &fitted(self.title, WIDTH - 16.0));
        let names: Vec<(usize, &str)> =
            self.series.iter().filter(|s| !s.expected).map(|s| (s.number, s.name)).collect();
        let top = 40.0 + canvas.legend(8.0, 26.0, RIGHT, &names);
        canvas.words(8.0, top - 4.0, Anchor::Start, true, &self.up);
        let (top, bottom) = (top + 8.0, top + 8.0 + PLOT);
        let (x, y) = (self.x_axis(), self.y_axis(top, bottom));
        for mark in y.marks() {
            let at = y.at(mark);
            canvas.line(Stroke::Grid, &[(LEFT, at), (RIGHT, at)]);
            canvas.words(LEFT - 6.0, at + 4.0, Anchor::End, true, &(self.mark)(mark));
        }
        canvas.line(Stroke::Axis, &[(LEFT, bottom), (RIGHT, bottom)]);
        let mut free = f64::NEG_INFINITY;
        for (mark, words) in self.x_marks(&x) {
            let at = x.at(mark);
            canvas.line(Stroke::Axis, &[(at, bottom), (at, bottom + 4.0)]);
            let half = super::canvas::width(&words) / 2.0;
            if at - half > free {
                canvas.words(at, bottom + 17.0, Anchor::Middle, true, &words);
                free = at + half + 4.0;
            }
        }
        canvas.words((LEFT + RIGHT) / 2.0, bottom + 35.0, Anchor::Middle, true, self.across.1);
        // Bands below all lines, lines below all marks.
        self.series.iter().for_each(|series| band(&mut canvas, series, &x, &y));
        for series in self.series.iter().filter(|series| !series.expected) {
            let points: Vec<_> = series.points.iter().map(|p| (x.at(p.x), y.at(p.y))).collect();
            canvas.line(Stroke::Series(series.number), &points);
        }
        for series in &self.series {
            for point in &series.points {
                let says =
                    format!("{}, {}: {}", series.name, self.x_words(point.x), (self.say)(point.y));
                let place = (x.at(point.x), y.at(point.y));
                canvas.mark(series.number, place, series.expected, &says);
            }
        }
        Picture::new(self.title, self.caption, canvas, bottom + 44.0)
    }

    fn xs(&self) -> Vec<f64> {
        let mut xs: Vec<f64> = self.series.iter().flat_map(|s| &s.points).map(|p| p.x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        xs
    }

    fn x_axis(&self) -> Scale {
        let xs = self.xs();
        let (first, last) = (xs.first().copied().unwrap_or(0.0), xs.last().copied().unwrap_or(1.0));
        match self.across.0 {
            Across::Nines => Scale::exactly(false, first, last, LEFT + 8.0, RIGHT - 16.0),
            Across::Counts => {
                let far = first > 0.0 && last / first >= 4.0;
                Scale::exactly(far, first, last, LEFT + 10.0, RIGHT - 10.0)
            }
            Across::Figures => Scale::of(xs.into_iter(), LEFT, RIGHT - 10.0),
        }
    }

    fn y_axis(&self, top: f64, bottom: f64) -> Scale {
        let points = self.series.iter().flat_map(|series| &series.points);
        let figures =
            points.flat_map(|p| p.range.into_iter().flatten().chain(std::iter::once(p.y)));
        Scale::of(figures, bottom, top)
    }

    /// Where marks are, and what they say.
    fn x_marks(&self, x: &Scale) -> Vec<(f64, String)> {
        match self.across.0 {
            Across::Figures => {
                x.marks().into_iter().map(|mark| (mark, super::trimmed(mark))).collect()
            }
            _ => self.xs().into_iter().map(|mark| (mark, self.x_words(mark))).collect(),
        }
    }

    fn x_words(&self, x: f64) -> String {
        match self.across.0 {
            // x is a number of nines already.
            Across::Nines => format!("{}%", percent_of_nines(x)),
            Across::Counts | Across::Figures => super::trimmed(x),
        }
    }
}

/// Ranges: a band through points that follow each other, a bar where one stands alone.
fn band(canvas: &mut Canvas, series: &Series, x: &Scale, y: &Scale) {
    for run in series.points.split(|point| point.range.is_none()) {
        let ranges: Vec<(f64, [f64; 2])> =
            run.iter().filter_map(|p| Some((x.at(p.x), p.range?))).collect();
        if let [(at, [low, high])] = ranges[..] {
            canvas.line(Stroke::Range(series.number), &[(at, y.at(low)), (at, y.at(high))]);
            continue;
        }
        let above = ranges.iter().map(|&(at, [_, high])| (at, y.at(high)));
        let below = ranges.iter().rev().map(|&(at, [low, _])| (at, y.at(low)));
        let all: Vec<_> = above.chain(below).collect();
        if !all.is_empty() {
            canvas.band(series.number, &all);
        }
    }
}

/// The number of nines of a percentage: 90 has one, 99 two.
pub fn nines_of(percent: f64) -> f64 {
    -(1.0 - percent / 100.0).log10()
}

fn percent_of_nines(nines: f64) -> String {
    let percent = 100.0 * (1.0 - 10_f64.powf(-nines));
    let text = format!("{percent:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nines_and_percentages_are_the_same() {
        for percent in [0.0, 50.0, 90.0, 99.0, 99.9, 99.99] {
            assert_eq!(percent_of_nines(nines_of(percent)), format!("{percent}"));
        }
    }

    #[test]
    fn a_series_has_a_line_a_band_and_marks_that_say_their_figures() {
        let point = |x: f64, y: f64| Point { x, y, range: Some([0.9 * y, 1.1 * y]) };
        let series = Series {
            number: 0,
            name: "std",
            points: vec![point(1.0, 10.0), point(2.0, 20.0)],
            expected: false,
        };
        let say = |figure: f64| format!("{figure} kops/s");
        let picture = Lines {
            title: "throughput",
            caption: String::new(),
            across: (Across::Counts, "threads"),
            up: "kops/s".to_owned(),
            say: &say,
            mark: &say,
            series: vec![series],
        }
        .draw();
        let text = picture.alone();
        assert!(text.contains("<title>std, 2: 20 kops/s</title>"), "{text}");
        assert!(text.contains("fill-opacity=\"0.16\"") && text.contains("stroke-width=\"2\""));
    }
}
