//! Revisions of a git repository as arms: each is checked out to a folder of its own and built when
//! it is first run, and a command is run there.

use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use lockwright_workloads::harness::Interrupt;
use tempfile::TempDir;

use super::commands::{Command, in_words, shell};
use crate::experiment::{Arm, Run, RunError, Turn};
use crate::loads::Load;
use crate::record::{self, Role, Sample};

/// A repository whose revisions are run.
pub struct Repository {
    path: PathBuf,
    /// Where revisions are checked out; gone, with all builds, when nobody uses it any more.
    folder: TempDir,
    build: Option<String>,
    show_output: bool,
}

impl Repository {
    /// The repository that `path` is in; `build` is run in each revision's folder.
    ///
    /// # Errors
    ///
    /// What git or the system says.
    pub fn new(path: &Path, build: Option<String>, show_output: bool) -> Result<Self, String> {
        let top = git(path, &["rev-parse", "--show-toplevel"])?;
        let folder = tempfile::Builder::new().prefix("lockwright-bisect-").tempdir();
        let folder = folder.map_err(|error| format!("cannot make a folder: {error}"))?;
        Ok(Repository { path: PathBuf::from(top.trim()), folder, build, show_output })
    }

    /// The first revision of `GOOD..BAD` and those after it, oldest first, along first parents: each
    /// revision's hash and subject.
    ///
    /// # Errors
    ///
    /// What git says.
    pub fn revisions(&self, range: &str) -> Result<Vec<(String, String)>, String> {
        let (good, _) = range.split_once("..").ok_or("expected GOOD..BAD")?;
        let log =
            |arguments: &[&str]| git(&self.path, &[&["log", "--format=%H %s"], arguments].concat());
        let first = log(&["-1", good])?;
        let rest = log(&["--reverse", "--first-parent", range])?;
        let split = |line: &str| {
            line.split_once(' ').map(|(hash, subject)| (hash.to_owned(), subject.to_owned()))
        };
        let all: Vec<_> = first.lines().chain(rest.lines()).filter_map(split).collect();
        if all.len() < 2 {
            return Err(format!("{range} has no revision after the first"));
        }
        Ok(all)
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        // The folders go with `folder`; git is told that its work trees have gone.
        let _ = std::fs::remove_dir_all(self.folder.path());
        let _ = git(&self.path, &["worktree", "prune"]);
    }
}

/// A revision, and the command that is run in it.
struct Revision {
    repository: Arc<Repository>,
    hash: String,
    command: Command,
    /// Where it was built, or why it could not be; `None`: not tried yet.
    built: Mutex<Option<Result<PathBuf, String>>>,
}

/// A revision as an arm.
pub fn arm(repository: &Arc<Repository>, hash: &str, subject: &str, command: Command) -> Arm {
    let name = hash.chars().take(12).collect();
    let revision = Revision {
        repository: Arc::clone(repository),
        hash: hash.to_owned(),
        command,
        built: Mutex::new(None),
    };
    let record = record::Arm { name, role: Role::Command, about: subject.to_owned() };
    Arm { record, run: Box::new(revision) }
}

impl Revision {
    fn folder(&self) -> Result<PathBuf, RunError> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = built.get_or_insert_with(|| self.check_out_and_build());
        let failed =
            |why: &String| RunError::Build { revision: self.hash.clone(), why: why.clone() };
        folder.as_ref().map(Clone::clone).map_err(failed)
    }

    fn check_out_and_build(&self) -> Result<PathBuf, String> {
        let folder = self.repository.folder.path().join(&self.hash);
        let at = folder.to_str().ok_or("the temporary folder's name is no text")?;
        git(&self.repository.path, &["worktree", "add", "--detach", "--quiet", at, &self.hash])?;
        if let Some(build) = &self.repository.build {
            let output = if self.repository.show_output { Stdio::inherit } else { Stdio::null };
            let mut process = shell(build);
            process.current_dir(&folder).stdin(Stdio::null()).stdout(output()).stderr(output());
            let status = process.status().map_err(|error| format!("'{build}': {error}"))?;
            if !status.success() {
                return Err(format!("'{build}': {}", in_words(status)));
            }
        }
        Ok(folder)
    }
}

impl Run for Revision {
    fn fits(&self, load: &Load) -> bool {
        matches!(load, Load::Command)
    }

    fn run(&self, load: &Load, turn: Turn, stop: &Interrupt) -> Result<Sample, RunError> {
        let folder = Some(self.folder()?);
        Command { folder, ..self.command.clone() }.run(load, turn, stop)
    }
}

/// What git prints.
fn git(path: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Process::new("git").arg("-C").arg(path).args(arguments).output();
    let output = output.map_err(|error| format!("git: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().next().unwrap_or("git failed").trim_start_matches("fatal: ").to_owned())
}
