//! Which requests for permission wait for an answer.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use orange_engine::names::RequestId;
use orange_store::{RowFilter, StoreError, permission_requests};

use crate::DriverError;
use crate::web::Web;

/// Reads the requests again and again. Runs change only with a commit, so their folders are kept
/// until there is another one.
#[derive(Debug)]
pub struct RequestWatch {
    web: Web,
    runs: Mutex<Option<Runs>>,
}

/// The folders of the current runs of every task.
#[derive(Debug)]
struct Runs {
    database: (u64, u64),
    sequence: u64,
    folders: Vec<PathBuf>,
}

impl Web {
    /// Finds open requests; cheap enough to be asked every second.
    pub fn watch_requests(&self) -> RequestWatch {
        RequestWatch {
            web: self.clone(),
            runs: Mutex::default(),
        }
    }
}

impl RequestWatch {
    /// The requests that wait for an answer now.
    pub fn open(&self) -> Result<Vec<RequestId>, DriverError> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let store = match self.web.context.read_store() {
            Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
            store => store?,
        };
        let (database, sequence) = (store.identity(), store.sequence()?);
        let is_current = |it: &Runs| it.database == database && it.sequence == sequence;
        if !runs.as_ref().is_some_and(is_current) {
            let found = store.rows(&RowFilter::default())?;
            let mut folders = Vec::new();
            for row in found.rows {
                for run in row.runs.values() {
                    let context = &self.web.context;
                    folders.push(context.run_directory(&row.project, &row.id, &run.id)?);
                }
            }
            *runs = Some(Runs {
                database,
                sequence: found.sequence,
                folders,
            });
        }
        let folders = runs.iter().flat_map(|it| &it.folders);
        let requests = folders.flat_map(|it| permission_requests(it));
        let open = requests.filter(|it| it.is_open);
        Ok(open.map(|it| it.request.id).collect())
    }
}
