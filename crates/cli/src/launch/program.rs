//! What a program is, as far as it decides whether the interposer can get into it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access, getegid, geteuid, getgid, getuid};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Endianness, ReadCache, ReadRef, elf};

/// How many interpreters of interpreters the system follows, and more than it needs.
const SCRIPTS: usize = 5;

/// An executable file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Why nothing of it can be taken over.
    passes_by: Option<String>,
    /// The libraries it asks for.
    needed: Vec<String>,
}

/// The file that a command's name stands for.
pub fn find(name: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file() && access(file, AccessFlags::X_OK).is_ok())
}

impl Program {
    /// Looks at a file. What cannot be read is taken for an ordinary program: starting it will
    /// tell.
    pub fn read(file: &Path) -> Self {
        let mut file = file.to_owned();
        for _ in 0..SCRIPTS {
            if let Some(why) = more_rights(&file) {
                return Program { passes_by: Some(why), ..Program::default() };
            }
            let Ok(mut opened) = File::open(&file) else { break };
            let mut start = [0; 256];
            let length = opened.read(&mut start).unwrap_or(0);
            match interpreter(&start[..length]) {
                Some(next) => file = next,
                None => return Self::of_elf(&ReadCache::new(opened)).unwrap_or_default(),
            }
        }
        Program::default()
    }

    /// Why the interposer will not be in it; `None` if it will.
    pub fn passes_by(&self) -> Option<&str> {
        self.passes_by.as_deref()
    }

    /// The libraries of sanitizers among those it asks for, which must be loaded before any other.
    pub fn sanitizers(&self) -> impl Iterator<Item = &str> {
        let is_one = |name: &&String| {
            ["libasan.so", "libtsan.so", "liblsan.so", "libubsan.so", "libhwasan.so"]
                .iter()
                .any(|library| name.starts_with(library))
        };
        self.needed.iter().filter(is_one).map(String::as_str)
    }

    fn of_elf<'data>(data: impl ReadRef<'data>) -> Option<Self> {
        let refused = |why: &str| Program { passes_by: Some(why.to_owned()), ..Program::default() };
        let ident = data.read_bytes_at(0, 5).ok()?;
        if !ident.starts_with(&elf::ELFMAG) {
            return None;
        }
        if ident[4] != elf::ELFCLASS64.0 {
            return Some(refused("a 32-bit program, and lockwright's library is for 64-bit ones"));
        }
        let header = elf::FileHeader64::<Endianness>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        if header.e_machine(endian) != NATIVE {
            return Some(refused("a program for another processor"));
        }
        let go = header
            .sections(endian, data)
            .is_ok_and(|sections| sections.section_by_name(endian, b".go.buildinfo").is_some());
        let segments = header.program_headers(endian, data).ok()?;
        let Some(loader) = segments.iter().find_map(|s| s.interpreter(endian, data).ok()?) else {
            return Some(refused(if go {
                "a Go program, statically linked: its locks are the Go runtime's own"
            } else {
                "statically linked: there is no dynamic linker to load the interposer"
            }));
        };
        if loader.windows(7).any(|name| name == b"ld-musl") {
            return Some(refused("linked with musl, and lockwright's library is for glibc"));
        }
        if go {
            say!("lockwright: a Go program: only the locks of its C parts are taken over");
        }
        Some(Program { passes_by: None, needed: needed(header, data).unwrap_or_default() })
    }
}

/// The names of the libraries that a program asks for.
fn needed<'data>(
    header: &elf::FileHeader64<Endianness>,
    data: impl ReadRef<'data>,
) -> Option<Vec<String>> {
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let (entries, strings) = sections.dynamic(endian, data).ok()??;
    let strings = sections.strings(endian, data, strings).ok()?;
    let name = |entry: &elf::Dyn64<Endianness>| {
        (entry.d_tag(endian) == elf::DT_NEEDED).then(|| entry.string(endian, strings))
    };
    let names = entries.iter().filter_map(name).filter_map(Result::ok);
    Some(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

const NATIVE: elf::Machine =
    if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 };

/// Why the system starts this file with more rights than the caller has: then it ignores
/// `LD_PRELOAD`.
fn more_rights(file: &Path) -> Option<String> {
    let about = fs::metadata(file).ok()?;
    let mode = about.permissions().mode();
    let ignores = "the system ignores LD_PRELOAD for it";
    if mode & 0o4000 != 0 && about.uid() != getuid().as_raw() || getuid() != geteuid() {
        return Some(format!("runs with the rights of another user (setuid): {ignores}"));
    }
    if mode & 0o2010 == 0o2010 && about.gid() != getgid().as_raw() || getgid() != getegid() {
        return Some(format!("runs with the rights of another group (setgid): {ignores}"));
    }
    None
}

/// The interpreter of a script.
fn interpreter(data: &[u8]) -> Option<PathBuf> {
    let line = data.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let interpreter = OsStr::from_bytes(words.next()?);
    // `env` is asked for the interpreter.
    if Path::new(interpreter).file_name() == Some(OsStr::new("env")) {
        let named = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?;
        return find(OsStr::from_bytes(named));
    }
    Some(PathBuf::from(interpreter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_what_its_interpreter_is() {
        assert_eq!(interpreter(b"#! /bin/sh -e\n"), Some("/bin/sh".into()));
        assert_eq!(interpreter(b"#!/usr/bin/env -S VAR=1 sh\n"), find(OsStr::new("sh")));
        assert_eq!(interpreter(b"echo hello\n"), None);
    }

    #[test]
    fn what_is_no_program_is_left_to_the_system() {
        assert_eq!(Program::of_elf(&b"hello"[..]), None);
        assert_eq!(Program::of_elf(&b"\x7fELF\x02\x01"[..]), None);
        let short = Program::of_elf(&b"\x7fELF\x01\x01"[..]).unwrap();
        assert!(short.passes_by().unwrap().contains("32-bit"));
    }

    #[test]
    fn this_program_can_be_taken_over() {
        let program = Program::read(&std::env::current_exe().unwrap());
        assert_eq!(program.passes_by(), None);
        assert!(program.needed.iter().any(|name| name.starts_with("libc.so")));
    }
}
