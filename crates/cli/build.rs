//! Tells the program which commit it is built from, where the sources are a repository.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let Some(git) = git(&["rev-parse", "--absolute-git-dir"]) else {
        return;
    };
    // The log grows with every commit and every checkout; HEAD alone names only the branch.
    for file in ["HEAD", "logs/HEAD"] {
        let path = Path::new(&git).join(file);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    if let Some(commit) = self::git(&["rev-parse", "--verify", "--quiet", "HEAD"]) {
        println!("cargo::rustc-env=LOCKWRIGHT_COMMIT={commit}");
    }
}

/// What `git` says, if there is one and it succeeds.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
