//! Writes down every request, one line of JSON each.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Mutex;

use serde_json::Value;

/// The log: what no line holds was never asked.
pub struct Log(Mutex<File>);

impl Log {
    /// Opens it at its end.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Self(Mutex::new(file)))
    }

    /// Adds a line, whole.
    pub fn write(&self, line: &Value) -> io::Result<()> {
        let Ok(mut file) = self.0.lock() else {
            return Err(io::Error::other("a writer of the log died"));
        };
        file.write_all(format!("{line}\n").as_bytes())
    }
}
