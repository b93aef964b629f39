//! Jobs that need the user.

use orange_config::{Jobs, clock};
use orange_engine::attention::Item;
use orange_engine::names::ProjectName;
use orange_store::Store;

use crate::DriverError;
use crate::jobs::has_failed_too_often;
use crate::views::Views;

impl Views {
    /// The paused jobs, of one project or of all.
    pub(super) fn job_items(
        &self,
        store: &Store,
        project: Option<&ProjectName>,
    ) -> Result<Vec<Item>, DriverError> {
        // An invalid file is reported by the commands about jobs, and must not hide everything else.
        let jobs = Jobs::load(&self.context.home, clock::now()).unwrap_or_default();
        let mut items = Vec::new();
        for job in jobs.jobs.iter().filter(|it| it.is_enabled) {
            let is_shown = project.is_none_or(|project| *project == job.project);
            if !is_shown || !has_failed_too_often(store, job)? {
                continue;
            }
            let last = store.job_runs(&job.name, 1)?;
            let since = last.first().map(|run| run.instant).unwrap_or_default();
            let failures = job.rules.pause_after;
            items.push(Item::from_paused_job(&job.name, failures, since));
        }
        Ok(items)
    }
}
