//! What is checked all the time: no spinner that would not hear of a write to its line; no end while
//! a thread has work left; a clock that does not go back; a run that does not end says which thread waits
//! for what.

use std::fmt::Write;

use super::{Engine, State};

impl Engine {
    pub(super) fn audit(&self) -> Result<(), String> {
        for (id, thread) in self.threads.iter().enumerate() {
            let deaf = |&line: &u32| !self.lines.hears(line, id as u16);
            if thread.state == State::Spinning && thread.watch.lines.iter().flatten().any(deaf) {
                return Err(format!("thread {id} spins on a line and would not hear of a write"));
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
