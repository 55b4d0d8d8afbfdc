//! Where reports go: stdout, or files that are either whole or not there.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::args::ReportArgs;
use crate::failure::Failure;

/// A form of report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The table for a terminal.
    Table,
    /// JSON with raw samples.
    Json,
    /// CSV.
    Csv,
    /// OpenMetrics.
    OpenMetrics,
    /// Markdown.
    Markdown,
}

/// Where a report goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Standard output.
    Stdout,
    /// This file, which is replaced as a whole.
    File(PathBuf),
    /// This device or pipe, which is written to: it cannot be replaced.
    Stream(PathBuf),
}

/// What goes where; checked before anything is measured, so that no run is lost to a bad path.
pub fn targets(args: &ReportArgs) -> Result<Vec<(Form, Target)>, Failure> {
    targets_beside(args, &[])
}

/// The same where these targets are taken already.
pub fn targets_beside(args: &ReportArgs, taken: &[Target]) -> Result<Vec<(Form, Target)>, Failure> {
    let asked = [
        (Form::Table, &args.output),
        (Form::Json, &args.json),
        (Form::Csv, &args.csv),
        (Form::OpenMetrics, &args.openmetrics),
        (Form::Markdown, &args.markdown),
    ];
    let mut targets: Vec<(Form, Target)> = Vec::new();
    for (form, path) in asked {
        let Some(path) = path else { continue };
        let target = target_of(path)?;
        if targets.iter().any(|(_, other)| *other == target) || taken.contains(&target) {
            let path = path.display();
            return Err(Failure::Usage(format!("two reports cannot both go to {path}")));
        }
        targets.push((form, target));
    }
    let all = targets.iter().map(|(_, target)| target).chain(taken);
    let stdout_taken = all.into_iter().any(|target| *target == Target::Stdout);
    if !stdout_taken && args.output.is_none() {
        targets.insert(0, (Form::Table, Target::Stdout));
    }
    // Files first: a reader that closes stdout early must not cost the files.
    targets.sort_by_key(|(_, target)| *target == Target::Stdout);
    Ok(targets)
}

/// The same for one report.
pub fn target_of(path: &Path) -> Result<Target, Failure> {
    target(path)
        .map_err(|error| Failure::Usage(format!("cannot write {}: {error}", path.display())))
}

/// What `path` means, if it can be written.
fn target(path: &Path) -> io::Result<Target> {
    if path == Path::new("-") {
        return Ok(Target::Stdout);
    }
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(meta) if meta.is_file() => {
            // A file that may not be written is not to be replaced either.
            OpenOptions::new().write(true).open(path)?;
            // A link keeps pointing to the file it points to.
            let path = fs::canonicalize(path)?;
            temporary(&path)?;
            Ok(Target::File(path))
        }
        Ok(meta) => {
            // Opening a pipe waits for its reader, so only the others are tried now.
            if !meta.file_type().is_fifo() {
                OpenOptions::new().write(true).open(path)?;
            }
            Ok(Target::Stream(path.to_owned()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            temporary(path)?;
            Ok(Target::File(path.to_owned()))
        }
        Err(error) => Err(error),
    }
}

/// A nameless-to-be file beside `path`, gone when dropped.
fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let permissions = match fs::metadata(path) {
        Ok(meta) => meta.permissions(),
        // What the user's mask makes of it, as for any new file.
        Err(_) => Permissions::from_mode(0o666),
    };
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(name);
    Builder::new().prefix(&prefix).suffix(".tmp").permissions(permissions).tempfile_in(folder)
}

impl Target {
    /// Replaces a file without waiting until it is on the disk; does nothing to other targets.
    pub fn write_soon(&self, content: &[u8]) -> io::Result<()> {
        match self {
            Target::File(path) => replace(path, content, false),
            Target::Stdout | Target::Stream(_) => Ok(()),
        }
    }

    /// Writes `content`, all or nothing.
    pub fn write(&self, content: &[u8]) -> Result<(), Failure> {
        let (name, result) = match self {
            Target::Stdout => ("stdout".to_owned(), to_stdout(content)),
            Target::File(path) => (path.display().to_string(), replace(path, content, true)),
            Target::Stream(path) => {
                let written = OpenOptions::new()
                    .write(true)
                    .open(path)
                    .and_then(|mut stream: File| stream.write_all(content));
                (path.display().to_string(), written)
            }
        };
        result.map_err(|error| Failure::Environment(format!("cannot write {name}: {error}")))
    }
}

fn to_stdout(content: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(content).and_then(|()| stdout.flush()) {
        // The reader has seen enough, as `head` has.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

fn replace(path: &Path, content: &[u8], lasting: bool) -> io::Result<()> {
    let mut file = temporary(path)?;
    file.write_all(content)?;
    if lasting {
        file.as_file().sync_all()?;
    }
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn checking_leaves_nothing_behind_and_writing_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let target = target(&folder.path().join("out.json")).unwrap();
        assert!(names(folder.path()).is_empty());
        target.write(b"content").unwrap();
        assert_eq!(names(folder.path()), ["out.json"]);
        assert_eq!(fs::read(folder.path().join("out.json")).unwrap(), b"content");
    }

    #[test]
    fn a_link_stays_a_link_and_permissions_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        target(&link).unwrap().write(b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        assert_eq!(
            target(Path::new("/dev/null")).unwrap(),
            Target::Stream(PathBuf::from("/dev/null"))
        );
    }

    #[test]
    fn a_folder_or_a_missing_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(target(folder.path()).is_err());
        assert!(target(&folder.path().join("missing/out.json")).is_err());
    }
}
