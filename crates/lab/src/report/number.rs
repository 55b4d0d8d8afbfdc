//! Numbers for people: no more digits than mean something, and a dash for what is not known.

use crate::record::metric::Unit;

/// What stands for a figure that could not be had.
const UNKNOWN: &str = "-";

/// A figure in its unit.
pub fn show(unit: Unit, value: Option<f64>) -> String {
    let duration = |scale: f64| value.map_or_else(|| fixed(None, 0), |v| duration_ns(v * scale));
    match unit {
        Unit::Nanoseconds => duration(1.0),
        Unit::Seconds => duration(1e9),
        Unit::FineNanoseconds | Unit::Share | Unit::Percent => fixed(value, 2),
        Unit::ThousandPerSecond | Unit::Microseconds | Unit::Number => significant(value),
        Unit::Whole | Unit::PerSecond => fixed(value, 0),
        Unit::Bytes => bytes(value),
    }
}

fn bytes(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else {
        return UNKNOWN.to_owned();
    };
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power = (value.max(1.0).log2() / 10.0).floor().min(4.0);
    let decimals = usize::from(power > 0.0);
    format!("{:.decimals$}{}", value / 1024_f64.powf(power), units[power as usize])
}

/// Four significant digits, all digits of the integer part.
pub fn significant(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else {
        return UNKNOWN.to_owned();
    };
    let decimals = match value.abs() {
        0.0 => 0,
        size if size >= 1_000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// A fixed number of decimals.
pub fn fixed(value: Option<f64>, decimals: usize) -> String {
    match value.filter(|value| value.is_finite()) {
        Some(value) => format!("{value:.decimals$}"),
        None => UNKNOWN.to_owned(),
    }
}

/// Nanoseconds in the unit that keeps the number short.
pub fn duration_ns(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let decimals = match value {
        value if value >= 100.0 || unit == "ns" => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_significant() {
        let cases = [
            (0.0, "0"),
            (0.1234, "0.123"),
            (56.912, "56.91"),
            (816.34, "816.3"),
            (23121.4, "23121"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(Some(value)), text);
        }
        assert_eq!(significant(None), "-");
        assert_eq!(significant(Some(f64::NAN)), "-");
        assert_eq!(fixed(None, 2), "-");
    }

    #[test]
    fn durations_have_the_unit_that_fits() {
        let cases = [(9.7, "10ns"), (1_940.0, "1.94us"), (20_300_000.0, "20.3ms"), (3e9, "3.00s")];
        for (ns, text) in cases {
            assert_eq!(duration_ns(ns), text);
        }
    }
}
