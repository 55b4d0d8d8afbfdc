//! Values of options: numbers with bounds, lists and ranges, times; wrong ones answered in words.

use std::time::Duration;

use lockwright_lab::record::metric::{self, Better, Metric};
use lockwright_workloads::seq_bench::WriteEvery;

/// More threads than this no machine gives to one process without being told to.
pub const MOST_THREADS: u64 = 16_384;

/// A list of whole numbers, each once, in the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers(pub Vec<u64>);

impl Numbers {
    /// As numbers of threads.
    pub fn threads(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().map(|&number| usize::try_from(number).unwrap_or(usize::MAX))
    }

    /// As numbers of PAUSEs.
    pub fn pauses(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(|&number| u32::try_from(number).unwrap_or(u32::MAX))
    }
}

/// Reads `1,2,8`, ranges such as `1-8`, and ranges that double such as `1-64*2`.
fn numbers(text: &str, least: u64, most: u64) -> Result<Numbers, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        for number in range(part.trim(), least, most)? {
            if !all.contains(&number) {
                all.push(number);
            }
        }
    }
    Ok(Numbers(all))
}

fn range(part: &str, least: u64, most: u64) -> Result<Vec<u64>, String> {
    let number = |text: &str| match text.parse::<u64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        Ok(_) => Err(format!("{text} is out of bounds: {least} to {most}")),
        Err(_) if text.is_empty() => Err(format!("a number is missing: {least} to {most}")),
        Err(_) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(format!("{text} is out of bounds: {least} to {most}"))
        }
        Err(_) => {
            Err(format!("'{text}' is no whole number; expected such as 8, 1,2,8, 1-8 or 1-64*2"))
        }
    };
    let Some((from, to)) = part.split_once('-').filter(|(from, _)| !from.is_empty()) else {
        return Ok(vec![number(part)?]);
    };
    let (to, factor) = match to.split_once('*') {
        Some((to, factor)) => (to, Some(factor)),
        None => (to, None),
    };
    let (from, to) = (number(from)?, number(to)?);
    if from > to {
        return Err(format!("{part}: the range ends before it begins"));
    }
    match factor {
        None if to - from >= 10_000 => Err(format!("{part}: a range of more than 10000 numbers")),
        None => Ok((from..=to).collect()),
        Some(factor) => {
            let factor: u64 =
                factor.parse().ok().filter(|&factor| factor >= 2).ok_or_else(|| {
                    format!("{part}: the factor of a range is a whole number from 2 on")
                })?;
            if from == 0 {
                return Err(format!("{part}: a range with a factor begins at 1 at least"));
            }
            let next = |&number: &u64| number.checked_mul(factor).filter(|&next| next <= to);
            Ok(std::iter::successors(Some(from), next).collect())
        }
    }
}

/// Numbers of threads.
pub fn thread_counts(text: &str) -> Result<Numbers, String> {
    numbers(text, 1, MOST_THREADS)
}

/// Amounts of work, in PAUSEs.
pub fn pauses(text: &str) -> Result<Numbers, String> {
    numbers(text, 0, u64::from(u32::MAX))
}

/// The metric of this name.
pub fn metric(name: &str) -> Result<&'static Metric, String> {
    metric::find(name.trim()).ok_or_else(|| {
        let known: Vec<_> = metric::ALL.iter().map(|metric| metric.key).collect();
        format!("unknown figure '{name}'; known: {}", known.join(", "))
    })
}

/// A metric of which one way is better.
pub fn judged_by(name: &str) -> Result<&'static Metric, String> {
    match metric(name)? {
        neither if neither.better == Better::Neither => {
            Err(format!("{name} is neither better nor worse"))
        }
        metric => Ok(metric),
    }
}

/// A share such as 5% or 0.05.
pub fn share(text: &str) -> Result<f64, String> {
    let wrong = || format!("'{text}' is no share; expected such as 5% or 0.05, from 0 to 100 %");
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map_err(|_| wrong())? / 100.0,
        None => text.parse::<f64>().map_err(|_| wrong())?,
    };
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err(wrong()) }
}

/// Seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is no time; expected seconds, from 0.001 to 3600");
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if !(0.001..=3_600.0).contains(&seconds) {
        return Err(wrong());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Times between writes.
pub fn write_every(text: &str) -> Result<WriteEvery, String> {
    match text {
        "never" => Ok(WriteEvery::Never),
        "0" => Ok(WriteEvery::Time(Duration::ZERO)),
        _ => time(text).map(WriteEvery::Time).ok_or_else(|| {
            format!("'{text}' is no time; expected never, 0, or such as 500ns, 1us, 10ms or 2s")
        }),
    }
}

/// A whole number and its unit.
pub fn time(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "ns" => Duration::from_nanos(1),
        "us" => Duration::from_micros(1),
        "ms" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        _ => return None,
    };
    Some(unit * number.parse::<u32>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_read() {
        let read = |text: &str| thread_counts(text).map(|numbers| numbers.0);
        assert_eq!(read("1,2,8"), Ok(vec![1, 2, 8]));
        assert_eq!(read("1-4"), Ok(vec![1, 2, 3, 4]));
        assert_eq!(read("2, 1-3 ,64"), Ok(vec![2, 1, 3, 64]));
        assert_eq!(read("1-64*2"), Ok(vec![1, 2, 4, 8, 16, 32, 64]));
        assert_eq!(read("3-20*3"), Ok(vec![3, 9]));
    }

    #[test]
    fn wrong_numbers_are_answered_in_words() {
        let complaint = |text: &str| thread_counts(text).unwrap_err();
        assert_eq!(complaint("0"), "0 is out of bounds: 1 to 16384");
        assert_eq!(complaint("2000000"), "2000000 is out of bounds: 1 to 16384");
        assert_eq!(
            complaint("99999999999999999999"),
            "99999999999999999999 is out of bounds: 1 to 16384"
        );
        assert!(complaint("abc").starts_with("'abc' is no whole number"));
        assert!(complaint("-1").starts_with("'-1' is no whole number"));
        assert!(complaint("0-4").starts_with("0 is out of bounds"));
        assert_eq!(complaint("4-1"), "4-1: the range ends before it begins");
        assert_eq!(complaint("1,"), "a number is missing: 1 to 16384");
        assert!(complaint("1-8*1").contains("factor"));
        assert!(pauses("1-99999").unwrap_err().contains("more than 10000"));
        assert!(pauses("0-8*2").unwrap_err().contains("begins at 1"));
    }

    #[test]
    fn times_between_writes_are_read() {
        let time = |text| match write_every(text) {
            Ok(WriteEvery::Time(time)) => Some(time.as_nanos()),
            _ => None,
        };
        assert_eq!(write_every("never"), Ok(WriteEvery::Never));
        assert_eq!(time("0"), Some(0));
        assert_eq!(time("7ns"), Some(7));
        assert_eq!(time("100us"), Some(100_000));
        assert_eq!(time("10ms"), Some(10_000_000));
        for wrong in ["", "5", "us", "-1us", "1.5us", "1min", "99999999999s", "Never"] {
            assert!(write_every(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_are_percentages_or_parts() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("0.5 %"), Ok(0.005));
        assert_eq!(share("0.05"), Ok(0.05));
        for wrong in ["", "5", "x%", "-1%", "101%", "nan"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn seconds_have_bounds() {
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        for wrong in ["0", "-1", "nan", "inf", "1e9", "x", ""] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
