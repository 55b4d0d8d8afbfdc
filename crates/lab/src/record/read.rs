//! Reading records back: what is none, or none of this version, is refused in one line.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::{Record, SCHEMA_VERSION};

/// Why a file holds no record.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The system does not give it.
    #[error("cannot read it: {0}")]
    System(#[from] io::Error),
    /// It is something else.
    #[error("no result of lockwright: {0}")]
    Foreign(String),
    /// It has another version.
    #[error(
        "a result of schema version {0}, and this lockwright reads version {SCHEMA_VERSION}; \
         measure again with this one, or read it with the one that wrote it"
    )]
    Version(u64),
}

/// The record in a file.
///
/// # Errors
///
/// See [`Unreadable`].
pub fn read(path: &Path) -> Result<Record, Unreadable> {
    parse(&fs::read(path)?)
}

/// The record in a text.
///
/// # Errors
///
/// See [`Unreadable`].
pub fn parse(text: &[u8]) -> Result<Record, Unreadable> {
    let foreign = |why: serde_json::Error| Unreadable::Foreign(why.to_string());
    let value: Value = serde_json::from_slice(text).map_err(foreign)?;
    match value.get("schema_version").and_then(Value::as_u64) {
        None => return Err(Unreadable::Foreign("it has no schema_version".to_owned())),
        Some(version) if version != u64::from(SCHEMA_VERSION) => {
            return Err(Unreadable::Version(version));
        }
        Some(_) => {}
    }
    let record: Record = serde_json::from_value(value).map_err(foreign)?;
    let within =
        |sample: &super::Sample| sample.arm < record.arms.len() && sample.cell < record.cells.len();
    if !record.samples.iter().all(within) {
        return Err(Unreadable::Foreign("a sample of an arm or cell that is not there".to_owned()));
    }
    Ok(record)
}
