//! Reads the log back: older files first, then the current one.

use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;

use orange_config::reason;
use serde_json::Value;

use crate::DriverError;
use crate::admin::Admin;
use crate::context::log::rotated_path;

/// Reads lines as they are appended; skips a line that is not JSON.
#[derive(Debug, Default)]
pub struct LogReader {
    /// The inode of the file that was read last, and the position to continue from.
    inode: Option<u64>,
    offset: u64,
    /// The bytes of a line that is not complete yet.
    rest: Vec<u8>,
}

impl Admin {
    /// The lines since the last call; the first call returns all of them.
    pub fn log_lines(&self, reader: &mut LogReader) -> Result<Vec<Value>, DriverError> {
        let path = self.context.home.log();
        let mut lines = Vec::new();
        let result = reader.read_all(&path, self.context.log.keep, &mut lines);
        result.map_err(|error| DriverError::File {
            attempt: "read",
            reason: reason(&error),
            path,
        })?;
        Ok(lines)
    }
}

impl LogReader {
    fn read_all(
        &mut self,
        path: &std::path::Path,
        keep: u32,
        lines: &mut Vec<Value>,
    ) -> io::Result<()> {
        let is_first = self.inode.is_none();
        if is_first {
            for number in (1..=keep).rev() {
                if let Ok(text) = fs::read(rotated_path(path, number)) {
                    take_lines(&mut text.clone(), lines);
                }
            }
        }
        let mut file = match fs::File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        let inode = file.metadata()?.ino();
        if self.inode != Some(inode) {
            // The file was rotated meanwhile, so read the rest of the renamed one first.
            if let (Some(_), Ok(mut before)) = (self.inode, fs::File::open(rotated_path(path, 1))) {
                before.seek(SeekFrom::Start(self.offset))?;
                before.read_to_end(&mut self.rest)?;
                take_lines(&mut self.rest, lines);
            }
            *self = LogReader {
                inode: Some(inode),
                ..LogReader::default()
            };
        }
        file.seek(SeekFrom::Start(self.offset))?;
        self.offset += u64::try_from(file.read_to_end(&mut self.rest)?).unwrap_or(0);
        take_lines(&mut self.rest, lines);
        Ok(())
    }
}

/// Takes every complete line out of the bytes.
fn take_lines(bytes: &mut Vec<u8>, lines: &mut Vec<Value>) {
    let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
        return;
    };
    let whole: Vec<u8> = bytes.drain(..=end).collect();
    let whole = whole.split(|byte| *byte == b'\n');
    lines.extend(whole.filter_map(|line| serde_json::from_slice(line).ok()));
}
