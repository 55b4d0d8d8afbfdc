//! `lockwright report`: result files as one page, or as pictures.

use std::collections::BTreeSet;
use std::fs;
use std::io::{IsTerminal, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use lockwright_lab::report::html::{Section, page};
use lockwright_lab::report::picture::Picture;
use lockwright_lab::report::sections::of_file;

use crate::args::help;
use crate::failure::Failure;
use crate::output::{Target, target_of};

pub const HELP: &str = help!(
    "\
The page needs no network and no script, and adapts to light and dark, wide and
narrow. Files are those that bench, compare, sim and sim published write with
--json. Standard output is written to if it is no terminal and -o is not given.",
    "\
  lockwright bench --json bench.json && lockwright report bench.json -o bench.html
  lockwright sim published --quick --json sim.json && lockwright report sim.json > sim.html
  lockwright report bench.json --svg pictures     a file for each picture
  lockwright report monday.json tuesday.json --title 'Two days' -o days.html"
);

/// `lockwright report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Result files
    #[arg(value_name = "FILE.json", required = true)]
    pub files: Vec<PathBuf>,

    /// Write the page to FILE; - is stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write each picture to a file of its own in FOLDER, and no page unless -o is given
    #[arg(long, value_name = "FOLDER")]
    pub svg: Option<PathBuf>,

    /// Title of the page
    #[arg(long, value_name = "TEXT", default_value = "Lockwright: results")]
    pub title: String,
}

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let target = match (&args.output, &args.svg) {
        (Some(path), _) => Some(target_of(path)?),
        (None, Some(_)) => None,
        (None, None) if stdout().is_terminal() => {
            let why = "a page is not for a terminal: write it to a file with -o page.html";
            return Err(Failure::Usage(why.to_owned()));
        }
        (None, None) => Some(Target::Stdout),
    };
    let section = |path: &PathBuf| {
        of_file(path).map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))
    };
    let sections: Vec<Section> = args.files.iter().map(section).collect::<Result<_, _>>()?;
    if let Some(folder) = &args.svg {
        write_pictures(folder, sections.iter().flat_map(|section| &section.pictures))?;
    }
    if let Some(target) = target {
        target.write(page(&args.title, &sections).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A file for each picture, named after its title.
fn write_pictures<'a>(
    folder: &Path,
    pictures: impl Iterator<Item = &'a Picture>,
) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| {
        Failure::Environment(format!("cannot make the folder {}: {error}", folder.display()))
    })?;
    let mut taken = BTreeSet::new();
    for picture in pictures {
        let numbered = |number: u32| match number {
            1 => picture.name.clone(),
            number => format!("{}-{number}", picture.name),
        };
        let free = (1..).map(numbered).find(|name| taken.insert(name.clone()));
        let path = folder.join(format!("{}.svg", free.unwrap_or_default()));
        target_of(&path)?.write(picture.alone().as_bytes())?;
        say!("lockwright: wrote {}", path.display());
    }
    Ok(())
}
