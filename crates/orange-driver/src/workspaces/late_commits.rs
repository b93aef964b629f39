//! Commits that came after the one that was merged.

use orange_engine::Task;
use orange_engine::effect::EffectOutcome;
use orange_engine::event::Fact;
use orange_engine::language::workflow::Trigger;
use orange_store::Store;

use crate::DriverError;
use crate::workspaces::Workspaces;

impl Workspaces {
    /// A notice about commits that an agent made while its task was being merged. Its agents have
    /// been ended, so no more will follow.
    pub(crate) fn late_commits(
        &self,
        store: &Store,
        task: &Task,
    ) -> Result<Option<String>, DriverError> {
        if !matches!(task.entered.trigger, Some(Trigger::Merged)) {
            return Ok(None);
        }
        let events = store.events(&task.id, 0)?;
        let merged = events.iter().rev().find_map(|it| match &it.event.fact {
            Fact::EffectDone {
                outcome: EffectOutcome::Merged(merged),
                ..
            } => Some(merged),
            _ => None,
        });
        let Some((merged, head)) = merged.and_then(|it| Some((it, it.head.as_ref()?))) else {
            return Ok(None);
        };
        let (_, git) = self.repository_of(task)?;
        let branch = &task.branch;
        let Some(tip) = git.branch(branch)? else {
            return Ok(None);
        };
        let later = git.commits_since(head, &tip)?.unwrap_or_default();
        if later <= merged.left_out.commits {
            return Ok(None);
        }
        let commits = if later == 1 { "commit" } else { "commits" };
        Ok(Some(format!(
            "{later} {commits} on `{branch}` came after the merged one and are not merged: `git log \
             {}..{branch}` shows them, `orange new {branch} SUMMARY` continues with them",
            head.short()
        )))
    }
}
