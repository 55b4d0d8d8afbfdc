//! Locks by what a user calls them.

use super::locks::{self, Lock};
use crate::record::Role;

/// What a command compares; decides what a short name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Mutexes.
    Mutexes,
    /// Reader-writer locks: `std` is `std-rw`, and `mutex:std` the mutex in a reader-writer lock's
    /// place.
    RwLocks,
    /// Mutexes and reader-writer locks, each where it fits.
    Patterns,
    /// What can be tortured.
    Victims,
    /// Protections of what is read much more often than written, and of node masks; `std` is
    /// `std-rw`.
    Sequences,
}

/// Why there is no such lock.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    /// No name at all.
    #[error("the list is empty; known: {known}")]
    Empty {
        /// What there is.
        known: String,
    },
    /// Nothing of this name.
    #[error("unknown lock '{name}'; {hint}known: {known}")]
    Name {
        /// What was asked for.
        name: String,
        /// A name like it, in a question.
        hint: String,
        /// What there is.
        known: String,
    },
}

impl Family {
    fn has(self, lock: &Lock) -> bool {
        match self {
            Family::Mutexes => lock.mutex.is_some(),
            Family::RwLocks => lock.rwlock.is_some() && lock.mutex.is_none(),
            Family::Patterns => lock.patterns.is_some(),
            Family::Victims => lock.torture.is_some(),
            Family::Sequences => lock.read_mostly.is_some() || lock.node_mask.is_some(),
        }
    }

    /// The locks that may be chosen; those that are broken only if asked for.
    pub fn locks(self, broken: bool) -> Vec<&'static Lock> {
        let wanted = |lock: &&Lock| self.has(lock) && (broken || lock.role != Role::Broken);
        locks::all().filter(wanted).collect()
    }

    /// Those that `names` mean, each once, in the order of `names`.
    ///
    /// # Errors
    ///
    /// See [`Unknown`].
    pub fn choose(self, names: &[String], broken: bool) -> Result<Vec<&'static Lock>, Unknown> {
        let known = self.locks(broken);
        if names.iter().all(|name| name.trim().is_empty()) {
            return Err(Unknown::Empty { known: listed(&known) });
        }
        let mut chosen: Vec<&'static Lock> = Vec::new();
        for name in names {
            for lock in self.find(&known, name.trim())? {
                if chosen.iter().all(|have| have.name != lock.name) {
                    chosen.push(lock);
                }
            }
        }
        Ok(chosen)
    }

    /// What `name` means: one, or all with a common beginning if it ends in `*`.
    fn find(self, known: &[&'static Lock], name: &str) -> Result<Vec<&'static Lock>, Unknown> {
        if let (Family::RwLocks, Some(name)) = (self, name.strip_prefix("mutex:")) {
            return Family::Mutexes.find(&Family::Mutexes.locks(false), name);
        }
        let matches = |lock: &&&'static Lock, wanted: &str| match wanted.strip_suffix('*') {
            Some(beginning) => lock.name.starts_with(beginning),
            None => lock.name == wanted,
        };
        let as_rwlock = format!("{name}-rw");
        for wanted in [name, &as_rwlock] {
            let found: Vec<_> =
                known.iter().filter(|lock| matches(lock, wanted)).copied().collect();
            if !found.is_empty() {
                return Ok(found);
            }
        }
        let likeness = |lock: &&&'static Lock| {
            let name = |other: &str| strsim::jaro_winkler(name, other);
            name(lock.name).max(name(lock.name.trim_end_matches("-rw")))
        };
        // Of names that are as near the first.
        let nearest = known.iter().rev().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        let hint = match nearest.filter(|lock| likeness(lock) > 0.7) {
            Some(near) => format!("did you mean '{}'? ", near.name),
            None => String::new(),
        };
        Err(Unknown::Name { name: name.to_owned(), hint, known: listed(known) })
    }
}

fn listed(known: &[&'static Lock]) -> String {
    known.iter().map(|lock| lock.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(family: Family, wanted: &str) -> Vec<&'static str> {
        let chosen = family.choose(&[wanted.to_owned()], false).unwrap();
        chosen.iter().map(|lock| lock.name).collect()
    }

    #[test]
    fn a_short_name_is_of_what_the_command_compares() {
        assert_eq!(names(Family::Mutexes, "std"), ["std"]);
        assert_eq!(names(Family::RwLocks, "std"), ["std-rw"]);
        assert_eq!(names(Family::RwLocks, "std-rw"), ["std-rw"]);
        assert_eq!(names(Family::RwLocks, "mutex:std"), ["std"]);
        assert_eq!(names(Family::Sequences, "std"), ["std-rw"]);
    }

    #[test]
    fn a_star_takes_all_that_begin_so_and_no_broken_lock() {
        assert_eq!(names(Family::RwLocks, "rwsem-v5.*").len(), 4);
        assert!(Family::Mutexes.choose(&["broken*".to_owned()], false).is_err());
        assert!(Family::Mutexes.choose(&["broken*".to_owned()], true).is_ok());
    }

    #[test]
    fn what_is_unknown_is_said_with_what_is_near() {
        let complaint = |family: Family, name: &str| match family.choose(&[name.to_owned()], false)
        {
            Ok(_) => panic!("{name} is known"),
            Err(error) => error.to_string(),
        };
        let text = complaint(Family::Mutexes, "parkinglot");
        assert!(text.starts_with("unknown lock 'parkinglot'; did you mean 'parking_lot'? known: "));
        assert!(complaint(Family::RwLocks, "stdd").contains("did you mean 'std-rw'?"));
        assert!(complaint(Family::Mutexes, " ").starts_with("the list is empty"));
    }
}
