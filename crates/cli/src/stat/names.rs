//! Names for addresses of another process: functions with lines and what was inlined, variables.
//!
//! From the files that were loaded, after the fact; C++ and Rust names demangled. What has no name
//! is shown as its file and the place in it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Symbolized, Symbolizer};
use lockwright_statfile::read::Snapshot;
use object::{Object, ObjectSymbol, SymbolKind};

/// A function at some point.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Its name.
    pub function: String,
    /// The file's name and the line.
    pub line: Option<String>,
}

impl std::fmt::Display for Frame {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.line {
            Some(line) => write!(out, "{} ({line})", self.function),
            None => out.write_str(&self.function),
        }
    }
}

/// A place in a file that was loaded: the same in every process that loads it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The file.
    pub path: String,
    /// The address in it.
    pub offset: u64,
}

impl Place {
    /// Where an address of a process lies.
    pub fn of(snapshot: &Snapshot, address: u64) -> Option<Self> {
        let module = snapshot.module_of(address)?;
        Some(Place { path: module.path.clone(), offset: address.wrapping_sub(module.base) })
    }

    /// The file's name and the place in it.
    pub fn plain(&self) -> String {
        let file = self.path.rsplit('/').next().unwrap_or_default();
        format!("{file}+{:#x}", self.offset)
    }
}

/// A variable: where it begins, how long it is, its name.
type Variable = (u64, u64, String);

/// Finds names, each once.
pub struct Names {
    symbolizer: Symbolizer,
    frames: RefCell<HashMap<Place, Rc<[Frame]>>>,
    variables: RefCell<HashMap<String, Rc<[Variable]>>>,
    /// Where the files of a process are that sees other ones.
    root: Option<PathBuf>,
}

impl Names {
    /// Of programs whose files are where they say; with `root`, below it if they are there.
    pub fn new(root: Option<PathBuf>) -> Self {
        Names {
            symbolizer: Symbolizer::new(),
            frames: RefCell::default(),
            variables: RefCell::default(),
            root,
        }
    }

    fn file(&self, path: &str) -> Option<PathBuf> {
        let below = self.root.as_ref().map(|root| root.join(path.trim_start_matches('/')));
        let plain = Path::new(path).is_absolute().then(|| PathBuf::from(path));
        [below, plain].into_iter().flatten().find(|file| file.is_file())
    }

    /// The functions at the call that returns to an address, the innermost of inlined ones first.
    pub fn call(&self, snapshot: &Snapshot, returns_to: u64) -> Rc<[Frame]> {
        // The call lies before the address that it returns to.
        match Place::of(snapshot, returns_to.wrapping_sub(1)) {
            Some(place) => self.frames_at(&place),
            None => Rc::new([Frame { function: format!("[{returns_to:#x}]"), line: None }]),
        }
    }

    fn frames_at(&self, place: &Place) -> Rc<[Frame]> {
        if let Some(known) = self.frames.borrow().get(place) {
            return known.clone();
        }
        let plain = || vec![Frame { function: place.plain(), line: None }];
        let found = self.file(&place.path).map(|file| self.look_up(&file, place.offset));
        let frames: Rc<[Frame]> =
            found.filter(|frames| !frames.is_empty()).unwrap_or_else(plain).into();
        self.frames.borrow_mut().insert(place.clone(), frames.clone());
        frames
    }

    fn look_up(&self, file: &Path, offset: u64) -> Vec<Frame> {
        let source = Source::Elf(Elf::new(file));
        let found = self.symbolizer.symbolize_single(&source, Input::VirtOffset(offset));
        let Ok(Symbolized::Sym(symbol)) = found else { return Vec::new() };
        let mut frames: Vec<Frame> = symbol
            .inlined
            .iter()
            .map(|inlined| frame(&inlined.name, inlined.code_info.as_ref()))
            .collect();
        // They come outermost first.
        frames.reverse();
        frames.push(frame(&symbol.name, symbol.code_info.as_deref()));
        frames
    }

    /// The name of the variable that an address lies in, with the place in it.
    pub fn variable(&self, place: &Place) -> Option<String> {
        let known = self.variables.borrow().get(&place.path).cloned();
        let variables = known.unwrap_or_else(|| {
            let read: Rc<[Variable]> =
                self.file(&place.path).and_then(|file| variables(&file)).unwrap_or_default().into();
            self.variables.borrow_mut().insert(place.path.clone(), read.clone());
            read
        });
        let before = variables.partition_point(|(start, ..)| *start <= place.offset);
        // An array has room for smaller variables in no place of its own, so the last one that
        // begins before.
        let (start, size, name) = variables[..before].last()?;
        match place.offset - start {
            0 => Some(name.clone()),
            inside if inside < *size => Some(format!("{name}+{inside:#x}")),
            _ => None,
        }
    }
}

fn frame(name: &str, code: Option<&CodeInfo<'_>>) -> Frame {
    let line = code.and_then(|code| {
        let file = code.file.to_string_lossy();
        Some(format!("{file}:{}", code.line?))
    });
    Frame { function: clean(name), line }
}

/// Text of a file goes to a terminal: no control characters.
fn clean(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The variables that a file names, in order.
fn variables(file: &Path) -> Option<Vec<Variable>> {
    let data = fs::read(file).ok()?;
    let object = object::File::parse(&*data).ok()?;
    let mut all: Vec<Variable> = object
        .symbols()
        .chain(object.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.address() != 0)
        .filter_map(|symbol| {
            Some((symbol.address(), symbol.size(), demangled(symbol.name().ok()?)))
        })
        .collect();
    all.sort();
    all.dedup_by_key(|(start, ..)| *start);
    Some(all)
}

fn demangled(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return clean(&format!("{rust:#}"));
    }
    let cxx = cpp_demangle::Symbol::new(name).ok().and_then(|symbol| symbol.demangle().ok());
    clean(&cxx.unwrap_or_else(|| name.to_owned()))
}
