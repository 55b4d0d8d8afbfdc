//! Numbers for people: no more digits than mean something, and a dash for what is not known.

/// What stands for a figure that could not be had.
const UNKNOWN: &str = "-";

/// Four significant digits, all digits of the integer part.
pub(super) fn significant(value: Option<f64>) -> String {
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
pub(super) fn fixed(value: Option<f64>, decimals: usize) -> String {
    match value.filter(|value| value.is_finite()) {
        Some(value) => format!("{value:.decimals$}"),
        None => UNKNOWN.to_owned(),
    }
}

/// Nanoseconds in the unit that keeps the number short.
pub(super) fn duration_ns(ns: f64) -> String {
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
