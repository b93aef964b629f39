//! The merge queue: entries wait until they are tested and merged.

use super::World;
use super::merge::{Method, Request};

#[derive(Clone, Debug)]
pub struct QueueEntry {
    pub id: u64,
    pub at: i64,
    pub by: String,
}

impl World {
    /// Puts a pull request at the end of the queue; one that is already queued keeps its place.
    pub fn enqueue(&mut self, repository: u64, number: u64, by: &str) {
        let id = self.new_id();
        self.change_issue(repository, number, |issue, at, event| {
            let Some(pull) = issue.pull.as_mut() else {
                return;
            };
            if pull.queued.is_none() {
                pull.queued = Some(QueueEntry {
                    id,
                    at,
                    by: by.to_owned(),
                });
                issue.record(super::issue::event(event, "added_to_merge_queue", by, at));
            }
        });
    }

    /// Numbers of the queued pull requests of a branch, the next one first.
    pub fn queue(&self, repository: u64, base: &str) -> Vec<u64> {
        let issues = self
            .repository_by_id(repository)
            .map(|it| it.issues.as_slice());
        let mut entries: Vec<(u64, u64)> = issues
            .unwrap_or_default()
            .iter()
            .filter_map(|issue| {
                let pull = issue.pull.as_ref().filter(|it| it.base_ref == base)?;
                pull.queued.as_ref().map(|it| (it.id, issue.number))
            })
            .collect();
        entries.sort_unstable();
        entries.into_iter().map(|(_, number)| number).collect()
    }

    /// Merges the next entry, or removes it as failed unless `passes`; returns its number.
    pub fn advance_queue(&mut self, repository: u64, base: &str, passes: bool) -> Option<u64> {
        let number = *self.queue(repository, base).first()?;
        let mut by = String::new();
        self.change_issue(repository, number, |issue, at, id| {
            let entry = issue.pull.as_mut().and_then(|it| it.queued.take());
            by = entry.map(|it| it.by).unwrap_or_default();
            issue.record(super::issue::event(id, "removed_from_merge_queue", &by, at));
        });
        if passes {
            let request = Request {
                method: Method::Merge,
                title: None,
                message: None,
                by: &by,
            };
            let _conflict = self.merge(repository, number, &request);
        }
        Some(number)
    }
}
