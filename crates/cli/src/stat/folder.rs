//! Where statistics files are: the folder of a user's running programs, or one of its own for a
//! run.
//!
//! A folder that others could write to is not used, nor what another user has put there; files of
//! processes that are no more are removed by whoever looks next.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Read;
use std::mem::{offset_of, size_of};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lockwright_statfile::read::{NotAFile, Snapshot, pid_of};
use lockwright_statfile::{COLLECT, File as Layout, Header};
use nix::fcntl::{OFlag, posix_fallocate};
use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::geteuid;

use crate::failure::Failure;

/// A process may be seen to begin so much later than it made its file: the system counts in ticks.
const CLOCK_ERROR: Duration = Duration::from_secs(2);

/// The folders that are this user's alone, made if need be, the best first.
fn private() -> impl Iterator<Item = PathBuf> {
    let mine = format!("lockwright-{}", geteuid());
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    let runtime = runtime.map(|folder| PathBuf::from(folder).join("lockwright"));
    let places =
        [runtime, Some(Path::new("/dev/shm").join(&mine)), Some(std::env::temp_dir().join(&mine))];
    places.into_iter().flatten().filter(|folder| {
        let _ = DirBuilder::new().mode(0o700).create(folder);
        is_private(folder)
    })
}

/// The folder of the user's programs that were started by `lockwright run`. `None`: there is no place
/// that is the user's alone.
pub fn of_user() -> Option<PathBuf> {
    private().next()
}

/// Whether it is a folder, no link to one, of this user, that nobody else can get at.
fn is_private(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|about| {
        about.is_dir()
            && about.uid() == geteuid().as_raw()
            && about.permissions().mode() & 0o077 == 0
    })
}

/// How the names of the folders of single runs begin; the number of the process that made it follows.
const RUN: &str = "run-";

/// A new folder for one run, with room for the files of some processes; removed with all in it.
///
/// # Errors
///
/// Why there is none, in one line.
pub fn for_run() -> Result<tempfile::TempDir, String> {
    let mut why = String::from("no folder that is this user's alone");
    for place in private() {
        remove_stale(&place);
        let prefix = format!("{RUN}{}-", std::process::id());
        let made = tempfile::Builder::new().prefix(&prefix).tempdir_in(&place);
        match made.and_then(|folder| has_room(folder.path()).map(|()| folder)) {
            Ok(folder) => return Ok(folder),
            Err(error) => why = format!("cannot make files in {}: {error}", place.display()),
        }
    }
    Err(why)
}

/// Room for the files of two processes.
fn has_room(folder: &Path) -> std::io::Result<()> {
    // Beyond the limit a signal would kill this process, and the folder would stay.
    let (limit, _) = getrlimit(Resource::RLIMIT_FSIZE)?;
    if limit < 2 * size_of::<Layout>() as u64 {
        return Err(std::io::ErrorKind::FileTooLarge.into());
    }
    let name = folder.join("room");
    let file = File::create_new(&name)?;
    let done = posix_fallocate(&file, 0, 2 * size_of::<Layout>() as i64);
    fs::remove_file(&name)?;
    done.map_err(std::io::Error::from)
}

/// A statistics file, opened.
pub struct StatFile {
    file: File,
    /// Of the process that it says it is of.
    pub pid: u32,
}

impl StatFile {
    /// Opens a file that belongs to this user alone; no link is followed.
    fn open(path: &Path, write: bool) -> std::io::Result<Self> {
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        let file =
            OpenOptions::new().read(true).write(write).custom_flags(flags.bits()).open(path)?;
        let about = file.metadata()?;
        let refused = |why: &str| Err(std::io::Error::other(why.to_owned()));
        if !about.is_file() {
            return refused("not a regular file");
        }
        if about.uid() != geteuid().as_raw() || about.permissions().mode() & 0o077 != 0 {
            return refused("another user's, or open to others");
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        Ok(StatFile { file, pid: pid_of(name).unwrap_or(0) })
    }

    /// What it says now. The bytes are copied: nobody changes them, or cuts the file, under the
    /// reader.
    pub fn read(&self) -> std::io::Result<Result<Snapshot, NotAFile>> {
        let mut bytes = Vec::with_capacity(size_of::<Layout>());
        let mut from_start = Window { file: &self.file, at: 0 };
        Read::take(&mut from_start, size_of::<Layout>() as u64).read_to_end(&mut bytes)?;
        Ok(Snapshot::read(&bytes))
    }

    /// Asks the program for statistics, or not any more.
    pub fn ask(&self, wanted: bool) -> std::io::Result<()> {
        let control = if wanted { COLLECT } else { 0 };
        self.file.write_all_at(&control.to_le_bytes(), offset_of!(Header, control) as u64)
    }

    /// What the program was asked for, as far as it has not refused.
    pub fn asked(&self) -> std::io::Result<bool> {
        let mut control = [0; 4];
        self.file.read_exact_at(&mut control, offset_of!(Header, control) as u64)?;
        Ok(u32::from_le_bytes(control) & COLLECT != 0)
    }
}

/// Reads a file from a place of its own, whatever else is read of it.
struct Window<'a> {
    file: &'a File,
    at: u64,
}

impl Read for Window<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The files in a folder that are of statistics by their names.
fn paths(folder: &Path) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = |entry: fs::DirEntry| Some((pid_of(entry.file_name().to_str()?)?, entry.path()));
    let mut paths: Vec<_> = entries.filter_map(named).collect();
    paths.sort();
    paths
}

/// What all files in a folder of one run say. What is no statistics file is left out, with a line.
pub fn read_all(folder: &Path) -> Vec<(PathBuf, Snapshot)> {
    let mut all = Vec::new();
    for (_, path) in paths(folder) {
        let read = StatFile::open(&path, false).and_then(|file| file.read());
        match read {
            Ok(Ok(snapshot)) => all.push((path, snapshot)),
            // A process is just making it.
            Ok(Err(NotAFile::Magic | NotAFile::Short)) => {}
            Ok(Err(why)) => say!("lockwright: {}: {why}", path.display()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => say!("lockwright: {}: {error}", path.display()),
        }
    }
    all
}

/// The file of a running program, among those in the user's folder.
///
/// # Errors
///
/// That there is none that may be read, and what to do.
pub fn of_process(pid: u32) -> Result<StatFile, Failure> {
    let failed = |why: String| Err(Failure::Environment(why));
    let Some(folder) = of_user() else {
        return failed("no folder for statistics that is this user's alone".to_owned());
    };
    remove_stale(&folder);
    let mut newest: Option<(u64, StatFile)> = None;
    for (_, path) in paths(&folder).into_iter().filter(|(of, _)| *of == pid) {
        let file = match StatFile::open(&path, true) {
            Ok(file) => file,
            Err(error) => return failed(format!("{}: {error}", path.display())),
        };
        match file.read() {
            Ok(Ok(snapshot)) => {
                if newest.as_ref().is_none_or(|(made_at, _)| *made_at < snapshot.made_at) {
                    newest = Some((snapshot.made_at, file));
                }
            }
            Ok(Err(why)) => return failed(format!("{}: {why}", path.display())),
            Err(error) => return failed(format!("{}: {error}", path.display())),
        }
    }
    match newest {
        Some((_, file)) => Ok(file),
        None if !Path::new(&format!("/proc/{pid}")).exists() => failed(format!("no process {pid}")),
        None => failed(format!(
            "process {pid} has no statistics: start it with 'lockwright run -- COMMAND', as this user"
        )),
    }
}

/// Removes files of processes that are no more, or are others by now, and folders of such runs.
pub fn remove_stale(folder: &Path) {
    // Without /proc nobody seems to live.
    if !Path::new("/proc/self").exists() {
        return;
    }
    let runs = fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name();
        let pid = name.to_str()?.strip_prefix(RUN)?.split('-').next()?.parse().ok()?;
        Some((pid, entry.path()))
    });
    for (pid, path) in runs.chain(paths(folder)) {
        let Ok(about) = fs::symlink_metadata(&path) else { continue };
        let made = UNIX_EPOCH + Duration::new(about.mtime().max(0).unsigned_abs(), 0);
        if about.uid() == geteuid().as_raw() && !is_alive_since(pid, made) {
            let _ = if about.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
}

/// Whether the process lives, and did when a file was last written to.
fn is_alive_since(pid: u32, written: SystemTime) -> bool {
    match fs::metadata(format!("/proc/{pid}")).and_then(|about| about.modified()) {
        // The time of the folder is that of its first sight, not of the process: it is never too
        // early.
        Ok(seen) => started(pid).unwrap_or(seen) <= written + CLOCK_ERROR,
        Err(_) => false,
    }
}

/// When a process began.
fn started(pid: u32) -> Option<SystemTime> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may hold anything.
    let ticks: u64 = text.rsplit(')').next()?.split_whitespace().nth(19)?.parse().ok()?;
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let up: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    let per_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok()??;
    let age = up - ticks as f64 / per_second as f64;
    SystemTime::now().checked_sub(Duration::try_from_secs_f64(age.max(0.0)).ok()?)
}
