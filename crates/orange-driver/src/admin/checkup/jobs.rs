//! Finds jobs that do not run.

use orange_config::{Jobs, clock};
use orange_store::Store;

use super::{Checkup, Health};
use crate::admin::Admin;
use crate::jobs::{find_problem, has_failed_too_often};

impl Admin {
    /// Reports mistakes in `jobs.toml`, and jobs that failed too often.
    pub(super) fn check_jobs(&self, found: &mut Vec<Checkup>) {
        let jobs = match Jobs::load(&self.context.home, clock::now()) {
            Ok(jobs) => jobs,
            Err(error) => {
                let fix = "correct the file; until then, no job runs";
                found.push(Checkup::new("jobs", Health::Error, error.to_string()).with_fix(fix));
                return;
            }
        };
        for problem in &jobs.problems {
            let name = problem.name.as_deref().unwrap_or("without a name");
            let message = format!("jobs.toml, line {}: {}", problem.line, problem.reason);
            found.push(Checkup::new(format!("job {name}"), Health::Error, message));
        }
        // Another check reports problems with the database.
        let store = Store::open_read_only(&self.context.home).ok();
        for job in jobs.jobs.iter().filter(|it| it.is_enabled) {
            let subject = format!("job {}", job.name);
            if let Some(problem) = find_problem(&self.context, job) {
                let fix = format!("correct `{}` in jobs.toml", job.name);
                found.push(Checkup::new(subject, Health::Error, problem).with_fix(fix));
            } else if let Some(store) = &store
                && has_failed_too_often(store, job).unwrap_or(false)
            {
                let message = String::from("paused: too many runs failed in a row");
                let fix = format!(
                    "see why with `orange job list --runs 5`; then run `orange job enable {}`",
                    job.name
                );
                found.push(Checkup::new(subject, Health::Warning, message).with_fix(fix));
            }
        }
    }
}
