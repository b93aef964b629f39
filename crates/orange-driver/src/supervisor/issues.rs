//! Reads issues at each project's polling interval, and creates tasks.

use std::collections::BTreeMap;

use orange_config::{Project, clock};
use orange_engine::names::ProjectName;
use orange_engine::time::Timestamp;

use super::poller::pace_of;
use super::scheduling::FailureLog;
use crate::{Driver, DriverError};

/// When to read the issues of a project.
struct Due {
    next: Timestamp,
    /// When to retry issues that could not be judged, or whose task could not be created.
    retry: Timestamp,
}

pub(super) struct IssueSync {
    driver: Driver,
    failures: FailureLog,
    due: BTreeMap<ProjectName, Due>,
}

impl IssueSync {
    pub(super) fn new(driver: Driver) -> IssueSync {
        IssueSync {
            failures: FailureLog::new(driver.clone(), "issues.failed"),
            driver,
            due: BTreeMap::new(),
        }
    }

    /// Reads the issues of each project that is due. A failure with one does not stop the others.
    pub(super) fn sync_due(&mut self) {
        let mut result = Ok(());
        match self.driver.context.all_projects() {
            Ok(projects) => {
                for project in &projects {
                    if let Err(error) = self.sync(project) {
                        result = Err(error);
                    }
                }
            }
            Err(error) => result = Err(error),
        }
        self.failures.note(result);
    }

    fn sync(&mut self, project: &Project) -> Result<(), DriverError> {
        let now = clock::now();
        let due = self.due.get(&project.name);
        if due.is_some_and(|it| it.next > now) {
            return Ok(());
        }
        let settings = self.driver.context.settings(Some(project))?.forge;
        let retries = due.is_none_or(|it| it.retry <= now);
        let retry = match due {
            Some(due) if !retries => due.retry,
            _ => clock::after(settings.cold),
        };
        let next = clock::after(settings.poll);
        self.due.insert(project.name.clone(), Due { next, retry });
        let forge = &self.driver.forge;
        let (Some(_), Some(address)) = (&settings.issues.label, forge.repository(project)?) else {
            return Ok(());
        };
        let before = forge.spending(&address.host);
        let steps = self.driver.with_user_variables().steps;
        let result = self.driver.requests.sync_issues(project, retries, &steps);
        let pause = match &result {
            Ok(_) => settings.poll,
            Err(_) => (settings.poll * 5).min(settings.cold).max(settings.poll),
        };
        let spending = self.driver.forge.spending(&address.host);
        let affordable = spending.next(&before, &pace_of(&settings), clock::now());
        let next = clock::after(pause).max(affordable);
        self.due.insert(project.name.clone(), Due { next, retry });
        result.map(|_| ())
    }
}
