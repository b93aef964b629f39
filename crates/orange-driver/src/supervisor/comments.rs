//! Reads commands in comments at each project's polling interval.

use std::collections::BTreeMap;

use orange_config::{Project, clock};
use orange_engine::names::ProjectName;
use orange_engine::time::Timestamp;
use orange_store::StoreError;

use super::poller::pace_of;
use super::scheduling::FailureLog;
use crate::chat::github::{CommentedProject, UnseenAnswers};
use crate::{Driver, DriverError};

pub(super) struct CommentSync {
    driver: Driver,
    failures: FailureLog,
    /// When to read the comments of each project.
    due: BTreeMap<ProjectName, Timestamp>,
    unseen: UnseenAnswers,
}

impl CommentSync {
    pub(super) fn new(driver: Driver) -> CommentSync {
        CommentSync {
            failures: FailureLog::new(driver.clone(), "chat.failed"),
            driver,
            due: BTreeMap::new(),
            unseen: UnseenAnswers::new(),
        }
    }

    /// Reads the comments of each project that is due, obeys the commands and answers. A failure
    /// with one project does not stop the others.
    pub(super) fn sync_due(&mut self) {
        let result = match self.sync() {
            Err(DriverError::Store(StoreError::Missing { .. })) => Ok(()),
            result => result.map_err(|error| format!("GitHub: {error}")),
        };
        self.failures.note(result);
    }

    fn sync(&mut self) -> Result<(), DriverError> {
        let driver = self.driver.clone();
        let wanted = driver.context.settings(None)?.chat.github_projects;
        if wanted.is_empty() {
            return Ok(());
        }
        let all = driver.context.all_projects()?;
        let mut projects = Vec::new();
        for project in all.iter().filter(|it| wanted.contains(&it.name)) {
            if let Some(address) = driver.forge.repository(project)? {
                projects.push(CommentedProject {
                    project,
                    address,
                    needed: driver
                        .context
                        .settings(Some(project))?
                        .forge
                        .issues
                        .permission,
                });
            }
        }
        let now = clock::now();
        let is_due = |it: &&CommentedProject<'_>| {
            let next = self.due.get(&it.project.name);
            next.is_none_or(|next| *next <= now)
        };
        let due: Vec<&CommentedProject<'_>> = projects.iter().filter(is_due).collect();
        if due.is_empty() {
            return Ok(());
        }
        let mut result = Ok(());
        for it in due {
            if let Err(error) = self.receive(it.project, it) {
                result = Err(error);
            }
        }
        let steps = driver.with_user_variables().steps;
        driver.chat.obey_comments(&projects, &steps)?;
        driver.chat.answer_comments(&projects, &mut self.unseen)?;
        result
    }

    /// Reads the comments of a project, and sets when to read them again.
    fn receive(&mut self, project: &Project, it: &CommentedProject<'_>) -> Result<(), DriverError> {
        let settings = self.driver.context.settings(Some(project))?.forge;
        let host = &it.address.host;
        let before = self.driver.forge.spending(host);
        let result = self.driver.chat.receive_comments(it);
        let pause = match &result {
            Ok(()) => settings.poll,
            Err(_) => (settings.poll * 5).min(settings.cold).max(settings.poll),
        };
        let spending = self.driver.forge.spending(host);
        let affordable = spending.next(&before, &pace_of(&settings), clock::now());
        let next = clock::after(pause).max(affordable);
        self.due.insert(project.name.clone(), next);
        result
    }
}
