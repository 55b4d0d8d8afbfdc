//! All that was fitted to something, or chosen when it was known what judged tables would say to it.
//!
//! *Checked by* a test: each number of a built-in machine whose source says "fitted" is named here.

use std::fmt::Write;

/// Something that might be otherwise.
pub struct Choice {
    /// What it is: numbers by their names in machine files.
    pub what: &'static str,
    /// What it is here.
    pub value: &'static str,
    /// What it was fitted to, or chosen in view of.
    pub because: &'static str,
    /// What else it may be, and the options of `sim published` that try it.
    pub otherwise: &'static str,
}

/// All of them.
pub static CHOICES: &[Choice] = &[
    Choice {
        what: "`core.pause`, `core.poll` of cascadelake-2s",
        value: "18, 25 ns",
        because: "fitted: the rate of two threads at load 20 in rwsem-cascadelake-cs-load leaves so much for a \
                  PAUSE; that row stands out of the errors",
        otherwise: "`--set cascadelake-2s:core.pause=21`",
    },
    Choice {
        what: "`latency.cluster`, `latency.near`, `latency.far` of skylake-2s and cascadelake-2s",
        value: "57, 166, 166 ns",
        because: "chosen when judged tables were known: what was measured are 134 to 140 and 396 to 402 cycles, \
                  at the 2.8 GHz of one of those machines 48 and 141.4 ns; 2.4 GHz is assumed of the published ones",
        otherwise: "`--set skylake-2s:latency.cluster=48,skylake-2s:latency.near=141.4,...`, likewise cascadelake-2s",
    },
    Choice {
        what: "`latency.near`, `latency.far` of ivybridge-ex-8s",
        value: "235, 313 ns",
        because: "estimated from other machines, as nobody has published them; changed from 120 and 178 in view of \
                  rwsem-ivybridge-ex-mixed",
        otherwise: "`--set ivybridge-ex-8s:latency.near=120,ivybridge-ex-8s:latency.far=178`",
    },
    Choice {
        what: "`latency.near`, `latency.far` of epyc-7551-2s",
        value: "202, 266 ns",
        because: "estimated: 250 on average, a hop between dies apart; chosen when osq-epyc7551-locktorture was known",
        otherwise: "`--set epyc-7551-2s:latency.near=250,epyc-7551-2s:latency.far=250`",
    },
    Choice {
        what: "`scheduler.tick` of ivybridge-ex-8s",
        value: "10 us",
        because: "fitted to event counts of 32 threads that are not judged (rwsem-ivybridge-ex-events)",
        otherwise: "`--set ivybridge-ex-8s:scheduler.tick=3000`",
    },
    Choice {
        what: "`scheduler.exit_deep` of skylake-2s and cascadelake-2s",
        value: "20 us",
        because: "fitted to a series of `v5.2` that is not judged (last section)",
        otherwise: "`--set skylake-2s:scheduler.exit_deep=30000,cascadelake-2s:scheduler.exit_deep=30000`",
    },
    Choice {
        what: "`core.turn`, on all machines",
        value: "0.4 ns",
        because: "fitted to the uncontended rate of ivybridge-ex-8s in a table that is not judged, with one PAUSE between \
                  sections",
        otherwise: "`--vary core.turn=90`",
    },
    Choice {
        what: "`latency.jitter`, on all machines",
        value: "a fifth",
        because: "fitted to a measurement of today, of a spinner beside a core that loops; known to move dedicated \
                  writers of rwsem-skylake-fairness",
        otherwise: "`--vary latency.jitter=50`",
    },
    Choice {
        what: "`core.flush`, on all machines",
        value: "40 ns",
        because: "fitted to the same measurement",
        otherwise: "`--vary core.flush=50`",
    },
    Choice {
        what: "`scheduler.wake_lines`, `scheduler.queue_lines`",
        value: "12, 8 lines",
        because: "of two published rates, if 0.6 us of a wake-up are the waker's own; taken when it was known that 16 and \
                  12 would bring sleeping crowds nearer to what was published",
        otherwise: "`--vary scheduler.wake_lines=33`",
    },
    Choice {
        what: "which idle state a CPU is in",
        value: "`engine/governor.rs`",
        because: "a busy CPU is spared the deep states: no number, but added beside rwsem-skylake-adaptive, whose plateau \
                  was lost without",
        otherwise: "-",
    },
    Choice {
        what: "what a thread of Long's benchmark does between its sections",
        value: "one PAUSE",
        because: "not published; chosen in view of rwsem-ivybridge-ex-mixed, rwsem-cascadelake-cs-load and \
                  rwsem-skylake-adaptive",
        otherwise: "`--outside 0`",
    },
    Choice {
        what: "how it mixes reads and writes",
        value: "25 reads, then 25 writes",
        because: "not published; fitted to event counts that are not judged, and to where the plateau of \
                  rwsem-ivybridge-ex-mixed ends",
        otherwise: "`--mix drawn`, `--mix dedicated`",
    },
    Choice {
        what: "on which CPUs its threads run",
        value: "bound, by the CPUs' numbers",
        because: "not published; fitted to the place of the step in rwsem-skylake-adaptive, between 16 and 32 threads where \
                  a socket has 20 cores",
        otherwise: "`--placement spread`",
    },
    Choice {
        what: "AIM7's users",
        value: "290 acquisitions a job, 250 ns each",
        because: "fitted to the rows of four nodes of mutex-slowpath-time, which stand out of the errors, by an earlier \
                  model; what a job takes beside follows from the rate after the commit",
        otherwise: "-",
    },
    Choice {
        what: "page faults",
        value: "1.17 us, 0.14 us to free a page, 4 us to map",
        because: "fitted to 20 threads in the first column of rwsem-skylake-page-fault1, which is not compared; that freeing \
                  takes 0.12 times as long is measured",
        otherwise: "-",
    },
    Choice {
        what: "outside of locktorture's loop",
        value: "300 ns",
        because: "fitted to the row of one writer, which stands out of the errors",
        otherwise: "-",
    },
    Choice {
        what: "on which CPUs locktorture's writers run",
        value: "by the CPUs' numbers",
        because: "not published, nor in whose memory the mutex lay: open. `spread` has a column of its own",
        otherwise: "`--placement spread`",
    },
    Choice {
        what: "an overwriting of DWOM",
        value: "0.74 us, four fifths under the lock",
        because: "from the row of private files; four fifths are assumed",
        otherwise: "-",
    },
    Choice {
        what: "sections of MWCM, MWUM, MWRM and of file copies",
        value: "a published turn after the change, less 0.1 us",
        because: "fitted: the rate with the queue by domain bounds what a section takes; what the queue gains is not fitted",
        otherwise: "-",
    },
    Choice {
        what: "lines that a file's, a directory's or a set's lock guards",
        value: "2",
        because: "assumed",
        otherwise: "-",
    },
    Choice {
        what: "sections of perf bench epoll",
        value: "50 ns to add, 500 ns to take an event, 300 ns outside",
        because: "chosen when osq-perf-bench-epoll was known: 64 threads added 4.0 M counters a second, three sections each",
        otherwise: "-",
    },
    Choice {
        what: "a fork of lkp-mutex-vs-rwsem",
        value: "five sections of 0.5 us, 40 us of work",
        because: "assumed",
        otherwise: "-",
    },
];

/// The list as Markdown.
pub fn markdown() -> String {
    let mut text = String::from("| what | value | because | otherwise |\n|---|---|---|---|\n");
    for Choice { what, value, because, otherwise } in CHOICES {
        let _ = writeln!(text, "| {what} | {value} | {because} | {otherwise} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use lockwright_sim::Machine;

    use super::*;

    #[test]
    fn every_fitted_number_is_named() {
        for machine in Machine::built_in() {
            for (name, given) in machine.numbers() {
                let named = || {
                    let of = |choice: &&Choice| choice.what.contains(&format!("`{name}`"));
                    let of_all = |choice: &Choice| {
                        choice.what.contains("all machines") || choice.what.contains(&machine.name)
                    };
                    CHOICES.iter().filter(of).any(of_all)
                };
                assert!(!given.source.contains("fitted") || named(), "{}: {name}", machine.name);
            }
        }
    }
}
