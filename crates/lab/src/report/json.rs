//! The record as JSON.

use std::io::{self, Write};

use serde::Serialize;

/// Writes the record, indented, with a newline at the end.
///
/// # Errors
///
/// Those of `out`.
pub fn write(result: &impl Serialize, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, result)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;
    use crate::results::{MutexBenchResult, SCHEMA_VERSION};

    #[test]
    fn what_is_written_is_what_is_read() {
        let result = example::result();
        let mut text = Vec::new();
        write(&result, &mut text).unwrap();
        let read: MutexBenchResult = serde_json::from_slice(&text).unwrap();
        assert_eq!(read, result);
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(value["schema_version"], SCHEMA_VERSION);
        assert_eq!(value["cells"][0]["throughput"][0]["kind"], "blocking-peer");
        assert!(value["tool"]["commit"].is_null());
    }
}
