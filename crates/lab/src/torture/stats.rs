//! What was done, in locktorture's words.

/// Operations of the threads of one role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// Of each thread.
    pub each: Vec<u64>,
    /// Times that somebody was inside who must not be.
    pub fail: u64,
    /// The longest wait of any of them, in nanoseconds.
    pub longest_ns: u64,
}

/// Operations so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Of writers.
    pub writes: Role,
    /// Of readers; no thread: the lock has none.
    pub reads: Role,
}

/// The lines of locktorture: `Writes:  Total: 93746064  Max/Min: 15734/10217   Fail: 0`.
///
/// `???` where the busiest thread did more than twice what the idlest did, `!!!` where somebody was
/// inside who must not be.
pub fn line(name: &str, stats: &Stats) -> String {
    let of = |word: &str, role: &Role| {
        let total: u64 = role.each.iter().sum();
        let (max, min) =
            (role.each.iter().max().unwrap_or(&0), role.each.iter().min().unwrap_or(&0));
        let uneven = if max / 2 > *min { "???" } else { "" };
        let failed = if role.fail > 0 { "!!!" } else { "" };
        format!(
            "{name}: {word}:  Total: {total}  Max/Min: {max}/{min} {uneven}  Fail: {} {failed}\n",
            role.fail
        )
    };
    let mut text = of("Writes", &stats.writes);
    if !stats.reads.each.is_empty() {
        text += &of("Reads ", &stats.reads);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_locktorture_s() {
        let even = Role { each: vec![10, 15], fail: 0, longest_ns: 0 };
        let uneven = Role { each: vec![10, 25], fail: 3, longest_ns: 0 };
        let text = line("std", &Stats { writes: even.clone(), reads: Role::default() });
        assert_eq!(text, "std: Writes:  Total: 25  Max/Min: 15/10   Fail: 0 \n");
        let text = line("x", &Stats { writes: uneven, reads: even });
        assert!(text.contains("Max/Min: 25/10 ???  Fail: 3 !!!"), "{text}");
        assert!(text.contains("x: Reads :  Total: 25"), "{text}");
    }
}
