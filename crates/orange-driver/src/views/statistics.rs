//! What happened within a period, in figures.

use std::path::Path;

use orange_config::clock;
use orange_effects::own_file;
use orange_engine::names::ProjectName;
use orange_engine::statistics::{Records, Statistics, Window, summarize};
use orange_engine::time::Timestamp;
use orange_store::{Store, StoreError};

use crate::DriverError;
use crate::views::Views;

impl Views {
    /// The figures of the last so many seconds, of one project or of all.
    pub fn statistics(
        &self,
        seconds: u64,
        project: Option<&ProjectName>,
    ) -> Result<Statistics, DriverError> {
        let until = clock::now();
        let millis = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
        let since = Timestamp::from_millis(until.millis().saturating_sub(millis));
        let records = match Store::open_read_only(&self.context.home) {
            // Without a database nothing has happened.
            Err(StoreError::Missing { .. }) => Records::default(),
            opened => opened?.records_since(since, project)?,
        };
        Ok(summarize(Window { since, until }, &records))
    }

    /// Writes a page that begins with `mark`; replaces only a file that begins with it too.
    pub fn write_page(&self, path: &Path, mark: &str, page: &str) -> Result<(), DriverError> {
        let path = match self.context.directory() {
            Some(directory) => directory.join(path),
            None => path.to_owned(),
        };
        own_file::write(&path, mark, page).map_err(DriverError::ReportNotWritten)
    }
}
