//! Elements of a picture. Attributes have the colours of the light scheme, so that readers of SVG
//! that know no style sheets show them; [`STYLE`] puts the dark ones in their place.

use std::fmt::Write;

/// Okabe and Ito's colours, the yellow one darker and the black one grey, on white.
///
/// Source: M. Okabe, K. Ito, "Color Universal Design", 2008.
const LIGHT: [&str; SERIES] =
    ["#0072b2", "#d55e00", "#009e73", "#b0508a", "#b07800", "#3a94c8", "#8a7a00", "#6b6b6b"];

/// Colours that differ; later series have other marks and dashes.
pub const SERIES: usize = 8;

/// The style of pictures, for the page or the file that they are in.
pub const STYLE: &str = "\
@media (prefers-color-scheme: dark) {
.bg{fill:#15181c}.t{fill:#e8e8e8}.m{fill:#a8adb3}.g{stroke:#30353b}.a{stroke:#7d838a}.e{stroke:#15181c}
.l0{stroke:#4db3f0}.l1{stroke:#ff8c42}.l2{stroke:#2fc796}.l3{stroke:#e08cbe}
.l4{stroke:#e6a81f}.l5{stroke:#8cd0ff}.l6{stroke:#d6c84a}.l7{stroke:#b0b0b0}
.f0{fill:#4db3f0}.f1{fill:#ff8c42}.f2{fill:#2fc796}.f3{fill:#e08cbe}
.f4{fill:#e6a81f}.f5{fill:#8cd0ff}.f6{fill:#d6c84a}.f7{fill:#b0b0b0}
}";

/// Text that is nothing but text, in elements and in attributes.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(' '),
            // Control characters are not allowed in XML, whatever is done to them.
            c if c.is_control() => safe.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// About how wide text is.
pub fn width(text: &str) -> f64 {
    6.4 * text.chars().count() as f64
}

/// Text of at most so wide; what is longer ends in dots.
pub fn fitted(text: &str, most: f64) -> String {
    let most = (most / 6.4).max(2.0) as usize;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(std::iter::once('…')).collect()
}

/// Where text is, seen from its point.
#[derive(Clone, Copy)]
pub enum Anchor {
    /// To its right.
    Start,
    /// Around it.
    Middle,
    /// To its left.
    End,
}

/// What a line is for.
#[derive(Clone, Copy)]
pub enum Stroke {
    /// A grid.
    Grid,
    /// An axis.
    Axis,
    /// A series.
    Series(usize),
    /// The same, thin.
    Range(usize),
}

/// Elements, in the order in which they are drawn.
#[derive(Default)]
pub struct Canvas {
    text: String,
}

impl Canvas {
    /// All elements.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn push(&mut self, element: std::fmt::Arguments) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(element);
    }

    /// A line of words.
    pub fn words(&mut self, x: f64, y: f64, anchor: Anchor, muted: bool, words: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (class, fill) = if muted { ("m", "#5a5f66") } else { ("t", "#1c1f23") };
        let words = escape(words);
        self.push(format_args!(
            "<text class=\"{class}\" fill=\"{fill}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
        ));
    }

    /// A line through points.
    pub fn line(&mut self, stroke: Stroke, points: &[(f64, f64)]) {
        let (class, colour, width, dash) = match stroke {
            Stroke::Grid => ("g".to_owned(), "#dfe2e6", 1.0, ""),
            Stroke::Axis => ("a".to_owned(), "#868c93", 1.0, ""),
            Stroke::Series(at) => (format!("l{}", at % SERIES), LIGHT[at % SERIES], 2.0, dash(at)),
            Stroke::Range(at) => (format!("l{}", at % SERIES), LIGHT[at % SERIES], 1.5, ""),
        };
        let path = path(points);
        self.push(format_args!(
            "<path class=\"{class}\" stroke=\"{colour}\" stroke-width=\"{width}\" fill=\"none\" \
             stroke-linejoin=\"round\"{dash} d=\"{path}\"/>"
        ));
    }

    /// An area that is see-through.
    pub fn band(&mut self, series: usize, points: &[(f64, f64)]) {
        let (at, path) = (series % SERIES, path(points));
        self.push(format_args!(
            "<path class=\"f{at}\" fill=\"{}\" fill-opacity=\"0.16\" d=\"{path}Z\"/>",
            LIGHT[at]
        ));
    }

    /// A rectangle of a series' colour that says something when it is pointed at.
    pub fn block(&mut self, series: usize, opacity: f64, area: [f64; 4], says: &str) {
        let ([x, y, w, h], at) = (area, series % SERIES);
        let says = escape(says);
        self.push(format_args!(
            "<rect class=\"f{at}\" fill=\"{}\" fill-opacity=\"{opacity:.2}\" x=\"{x:.1}\" y=\"{y:.1}\" \
             width=\"{w:.2}\" height=\"{h:.1}\"><title>{says}</title></rect>",
            LIGHT[at]
        ));
    }

    /// A mark of a series; `hollow` ones are outlines. It says something when it is pointed at.
    pub fn mark(&mut self, series: usize, (x, y): (f64, f64), hollow: bool, says: &str) {
        const R: f64 = 4.0;
        let at = series % SERIES;
        // Marks take turns at another pace than colours, so that series with one colour differ.
        let shape = match (series + series / SERIES) % 5 {
            0 => format!(
                "M{:.1} {y:.1}a{R} {R} 0 1 0 {} 0a{R} {R} 0 1 0 -{} 0Z",
                x - R,
                2.0 * R,
                2.0 * R
            ),
            1 => format!("M{:.1} {:.1}h7v7h-7Z", x - 3.5, y - 3.5),
            2 => format!("M{x:.1} {:.1}l4.5 8h-9Z", y - 5.0),
            3 => format!("M{x:.1} {:.1}l5 5l-5 5l-5 -5Z", y - 5.0),
            _ => format!("M{x:.1} {:.1}l4.5 -8h-9Z", y + 5.0),
        };
        let (fill, colour, says) = (LIGHT[at], LIGHT[at], escape(says));
        if hollow {
            self.push(format_args!(
                "<path class=\"l{at}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\" d=\"{shape}\">\
                 <title>{says}</title></path>"
            ));
        } else {
            self.push(format_args!(
                "<path class=\"f{at} e\" fill=\"{fill}\" stroke=\"#ffffff\" stroke-width=\"1\" d=\"{shape}\">\
                 <title>{says}</title></path>"
            ));
        }
    }

    /// Names of series in as many rows as they need; how high they are together.
    pub fn legend(&mut self, left: f64, top: f64, right: f64, names: &[(usize, &str)]) -> f64 {
        const ROW: f64 = 18.0;
        let (mut x, mut y) = (left, top);
        for &(series, name) in names {
            let name = fitted(name, right - left - 16.0);
            let wide = 18.0 + width(&name) + 12.0;
            if x + wide > right && x > left {
                (x, y) = (left, y + ROW);
            }
            self.mark(series, (x + 5.0, y + 5.0), false, &name);
            self.words(x + 15.0, y + 9.0, Anchor::Start, false, &name);
            x += wide;
        }
        y + ROW - top
    }
}

fn dash(series: usize) -> &'static str {
    match series / SERIES {
        0 => "",
        1 => " stroke-dasharray=\"6 3\"",
        _ => " stroke-dasharray=\"2 3\"",
    }
}

fn path(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let _ = write!(path, "{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' });
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_gets_out_of_its_place() {
        let hostile = "</text><script>alert(1)</script>\" onload='x' &amp;\u{0}\n";
        let mut canvas = Canvas::default();
        canvas.words(0.0, 0.0, Anchor::Start, false, hostile);
        canvas.mark(0, (0.0, 0.0), false, hostile);
        canvas.block(0, 1.0, [0.0; 4], hostile);
        canvas.legend(0.0, 0.0, 100.0, &[(0, hostile)]);
        assert!(!canvas.text().contains("<script"), "{}", canvas.text());
        assert!(!canvas.text().contains("\" onload"));
        assert!(!canvas.text().contains('\u{0}'));
    }

    #[test]
    fn legends_break_into_rows() {
        let mut canvas = Canvas::default();
        let names = [(0, "lockwright"), (1, "parking_lot"), (2, "pthread_adaptive")];
        assert_eq!(canvas.legend(0.0, 0.0, 480.0, &names), 18.0);
        assert_eq!(canvas.legend(0.0, 0.0, 150.0, &names), 54.0);
    }
}
