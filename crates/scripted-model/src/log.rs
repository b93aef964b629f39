//! Logs every request as one line of JSON.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Mutex;

use serde_json::Value;

/// The log: a request that is not in it was never made.
pub struct Log(Mutex<File>);

impl Log {
    /// Opens it for appending.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Self(Mutex::new(file)))
    }

    /// Appends a whole line.
    pub fn write(&self, line: &Value) -> io::Result<()> {
        let Ok(mut file) = self.0.lock() else {
            return Err(io::Error::other("a writer of the log died"));
        };
        file.write_all(format!("{line}\n").as_bytes())
    }
}
