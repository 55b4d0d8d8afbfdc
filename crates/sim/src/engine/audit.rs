//! What is checked all the time: no spinner that would not hear of a write to its line, or sleeps on
//! although there was one; no end while a thread has work left; a clock that does not go back; a run
//! that does not end says which thread waits for what.

use std::fmt::Write;

use super::{Engine, State};

impl Engine {
    pub(super) fn audit(&self) -> Result<(), String> {
        for (id, thread) in self.threads.iter().enumerate() {
            if thread.state != State::Spinning {
                continue;
            }
            for (line, &seen) in thread.watch.lines.iter().zip(&thread.watch.seen) {
                let &Some(line) = line else { continue };
                if !self.lines.hears(line, id as u16) {
                    return Err(format!(
                        "thread {id} spins on a line and would not hear of a write"
                    ));
                }
                if self.lines.writes(line) != seen {
                    return Err(format!("thread {id} sleeps on a line that was written meanwhile"));
                }
            }
        }
        Ok(())
    }

    /// Who waits for what, for messages.
    pub(super) fn waiters(&self) -> String {
        let mut text = String::new();
        for (id, thread) in self.threads.iter().enumerate() {
            if thread.state != State::Done {
                let _ = write!(text, "thread {id} on CPU {} is {:?}", thread.cpu, thread.state);
                if thread.state == State::Spinning {
                    let _ = write!(text, " ({:?})", thread.watch);
                }
                text += "; ";
            }
            if text.len() > 2_000 {
                text += "and more";
                break;
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Engine, Next, Watch};
    use crate::Machine;
    use crate::layout::Layout;

    /// An engine whose only thread sleeps on a line, and the line.
    fn one_spinner() -> (Engine, u32) {
        let mut engine = Engine::new(Layout::new(&Machine::built_in()[0]), 1, u64::MAX);
        engine.add_thread(0, true, 0);
        assert!(matches!(engine.next(), Ok(Next::Thread(0))));
        let line = engine.lines.of(1 << 20);
        assert!(engine.spin(Watch { lines: [Some(line), None], ..Watch::default() }).is_none());
        (engine, line)
    }

    #[test]
    fn a_spinner_that_misses_a_write_is_found() {
        let (mut engine, line) = one_spinner();
        assert_eq!(engine.audit(), Ok(()));
        engine.lines.note_write(line);
        assert!(engine.audit().unwrap_err().contains("was written meanwhile"));
        // So it is by a run that goes nowhere.
        let stuck = engine.next().map(|_| ()).unwrap_err();
        assert!(stuck.contains("was written meanwhile"), "{stuck}");
    }

    #[test]
    fn a_spinner_that_would_hear_of_no_write_is_found() {
        let (mut engine, line) = one_spinner();
        engine.lines.forget(line, 0);
        assert!(engine.audit().unwrap_err().contains("would not hear"));
    }

    #[test]
    fn a_spinner_that_is_told_is_none_any_more() {
        let (mut engine, line) = one_spinner();
        engine.lines.note_write(line);
        engine.written(line);
        assert_eq!(engine.audit(), Ok(()));
        assert!(matches!(engine.next(), Ok(Next::Thread(0))));
    }
}
