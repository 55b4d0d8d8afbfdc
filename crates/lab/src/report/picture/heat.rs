//! Run queues over time: a row for each CPU, darker where more threads want it; below, the idle CPUs.

use super::canvas::{Anchor, Canvas, Stroke, fitted};
use super::{Picture, WIDTH};

/// The run queues of one arm.
pub struct Queues<'a> {
    /// The arm.
    pub name: &'a str,
    /// How long the run was.
    pub seconds: f64,
    /// Each CPU's number, and its runnable threads from look to look.
    pub cpus: Vec<(usize, &'a [f64])>,
    /// CPUs without work, from look to look; empty: not known.
    pub idle: &'a [f64],
}

/// Columns that a row has at most; looks that fall into one are averaged.
const COLUMNS: usize = 96;
const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 12.0;

/// Which colours the runnable and the idle have.
const RUNNABLE: usize = 1;
const IDLE: usize = 0;

/// Draws the run queues of some arms below each other, with one key.
pub fn heat(title: &str, caption: String, arms: &[Queues]) -> Picture {
    let longest = arms.iter().map(|arm| arm.seconds).fold(0.0, f64::max);
    let all = arms.iter().flat_map(|arm| &arm.cpus).flat_map(|(_, queue)| queue.iter());
    let most = all.copied().fold(1.0, f64::max);
    let mut canvas = Canvas::default();
    canvas.words(8.0, 16.0, Anchor::Start, false, &fitted(title, WIDTH - 16.0));
    key(&mut canvas, most);
    let mut y = 54.0;
    for arm in arms {
        canvas.words(8.0, y + 12.0, Anchor::Start, false, &fitted(arm.name, WIDTH - 16.0));
        y = rows(&mut canvas, arm, y + 18.0, longest, most) + 10.0;
    }
    canvas.line(Stroke::Axis, &[(LEFT, y), (RIGHT, y)]);
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let (x, words) =
            (LEFT + share * (RIGHT - LEFT), super::short_duration(1e9 * share * longest));
        let anchor = if share < 1.0 { Anchor::Middle } else { Anchor::End };
        canvas.line(Stroke::Axis, &[(x, y), (x, y + 4.0)]);
        canvas.words(x, y + 17.0, anchor, true, &words);
    }
    canvas.words((LEFT + RIGHT) / 2.0, y + 34.0, Anchor::Middle, true, "time since the start");
    Picture::new(title, caption, canvas, y + 42.0)
}

fn key(canvas: &mut Canvas, most: f64) {
    const CELL: f64 = 14.0;
    canvas.words(8.0, 40.0, Anchor::Start, true, "runnable threads: 0");
    let mut x = 132.0;
    for step in 0..=5 {
        let share = f64::from(step) / 5.0;
        canvas.block(RUNNABLE, shade(share), [x, 30.0, CELL, 12.0], &super::trimmed(share * most));
        x += CELL + 1.0;
    }
    canvas.words(x + 5.0, 40.0, Anchor::Start, true, &super::trimmed(most));
    canvas.block(IDLE, 0.8, [x + 60.0, 30.0, CELL, 12.0], "idle CPUs");
    canvas.words(x + 80.0, 40.0, Anchor::Start, true, "idle CPUs");
}

/// No thread is faint and not nothing, so that a look that found none is seen.
fn shade(share: f64) -> f64 {
    0.06 + 0.94 * share.sqrt()
}

/// The rows of one arm; where they end.
fn rows(canvas: &mut Canvas, arm: &Queues, top: f64, longest: f64, most: f64) -> f64 {
    // Many CPUs have thin rows, and some of them no name.
    let high = (180.0 / arm.cpus.len().max(1) as f64).clamp(3.0, 16.0);
    let every = (12.0 / high).ceil() as usize;
    let right = LEFT + (RIGHT - LEFT) * arm.seconds / longest.max(f64::MIN_POSITIVE);
    let mut y = top;
    for (at, (cpu, queue)) in arm.cpus.iter().enumerate() {
        if at % every == 0 {
            canvas.words(
                LEFT - 8.0,
                y + high.min(12.0) - 2.0,
                Anchor::End,
                true,
                &format!("CPU {cpu}"),
            );
        }
        for (x, wide, count) in columns(queue, LEFT, right) {
            let says = format!("{}, CPU {cpu}: {} runnable", arm.name, super::trimmed(count));
            canvas.block(RUNNABLE, shade(count / most), [x, y, wide, high - 1.0], &says);
        }
        y += high;
    }
    if !arm.idle.is_empty() {
        y += 3.0;
        let cpus = arm.cpus.len().max(1) as f64;
        canvas.words(LEFT - 8.0, y + 15.0, Anchor::End, true, "idle");
        for (x, wide, count) in columns(arm.idle, LEFT, right) {
            let tall = 18.0 * (count / cpus).min(1.0);
            let says = format!("{}: {} idle CPUs", arm.name, super::trimmed(count));
            if tall > 0.1 {
                canvas.block(IDLE, 0.8, [x, y + 18.0 - tall, wide, tall], &says);
            }
        }
        y += 20.0;
    }
    y
}

/// Where each column is, how wide, and the mean of the looks in it.
fn columns(looks: &[f64], left: f64, right: f64) -> Vec<(f64, f64, f64)> {
    let count = looks.len().min(COLUMNS);
    let wide = (right - left) / count.max(1) as f64;
    let column = |at: usize| {
        let (from, to) = (at * looks.len() / count, (at + 1) * looks.len() / count);
        let mean = looks[from..to].iter().sum::<f64>() / (to - from) as f64;
        (left + wide * at as f64, wide - 0.3, mean)
    };
    (0..count).map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_keep_the_mean_of_all_looks() {
        let looks: Vec<f64> = (0..1_000).map(f64::from).collect();
        let all = columns(&looks, 0.0, 96.0);
        assert_eq!(all.len(), COLUMNS);
        assert!((all.iter().map(|(.., mean)| mean).sum::<f64>() / 96.0 - 499.5).abs() < 1.0);
        assert!(columns(&[], 0.0, 96.0).is_empty());
        assert_eq!(columns(&[3.0], 0.0, 96.0).len(), 1);
    }

    #[test]
    fn idle_cpus_are_beside_the_queues() {
        let queue = [4.0, 0.0];
        let arm = Queues { name: "fifo", seconds: 1.0, cpus: vec![(0, &queue)], idle: &[0.0, 1.0] };
        let text = heat("run queues", String::new(), &[arm]).inside();
        assert!(text.contains("<title>fifo, CPU 0: 4 runnable</title>"), "{text}");
        assert!(text.contains("<title>fifo: 1 idle CPUs</title>"), "{text}");
    }
}
