//! Answers questions about tasks; changes nothing.

use orange_engine::chat::answer::{TaskLine, list};
use orange_engine::names::TaskId;
use orange_store::Store;

use super::Chat;
use super::scope::Scope;
use crate::DriverError;
use crate::views::list::ListFilter;

impl Chat {
    /// The unfinished tasks, those that need the user first.
    pub(super) fn list(&self, scope: &Scope) -> Result<String, DriverError> {
        let overview = self.views.list(&ListFilter::default())?;
        let store = Store::open_read_only(&self.context.home)?;
        let mut lines = Vec::new();
        for row in &overview.tasks {
            let task = store.require(&row.id)?.task;
            if scope.shows(&task) {
                lines.push(TaskLine {
                    id: row.id.to_string(),
                    status: row.status_text(),
                    summary: row.summary.clone(),
                    needs_user: row.need.is_some() || !row.attention.is_empty(),
                });
            }
        }
        Ok(list(&lines))
    }

    /// What a task is and where it stands.
    pub(super) fn show(&self, scope: &Scope, id: &TaskId) -> Result<String, DriverError> {
        let details = self.views.show(id)?;
        let task = &details.stored.task;
        let mut lines = vec![
            format!("{} {}: {}", task.id, task.status, task.summary),
            format!("project {}, branch {}", task.project, task.branch),
        ];
        let agents = task.runs.keys().filter(|role| task.is_live(role));
        lines.extend(agents.map(|role| format!("its {role} is running")));
        lines.extend(task.issue.as_ref().map(|it| it.url.clone()));
        lines.extend(task.pull_request.as_ref().map(|it| it.url.clone()));
        if !scope.is_public() {
            lines.extend(task.attention.iter().cloned());
        }
        Ok(lines.join("\n"))
    }

    /// Why a task is in its status. In public, messages and the output of programs are left out.
    pub(super) fn why(&self, scope: &Scope, id: &TaskId) -> Result<String, DriverError> {
        let details = self.views.show(id)?;
        let mut explanation = self.views.why(id)?;
        if let Some(explanation) = explanation.as_mut().filter(|_| scope.is_public()) {
            explanation.evidence.clear();
            explanation.events_since.clear();
            explanation.message = None;
        }
        let mut lines: Vec<String> = explanation.iter().map(ToString::to_string).collect();
        if !scope.is_public() {
            lines.extend(details.waits.iter().map(ToString::to_string));
            lines.extend(details.stored.task.attention.iter().cloned());
        }
        Ok(lines.join("\n"))
    }
}
