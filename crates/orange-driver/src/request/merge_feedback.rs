//! Tells an agent what prevents the merge of its work.

use orange_effects::git::MergeObstacle;
use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use orange_store::Store;

use crate::DriverError;
use crate::request::Requests;
use crate::workspaces::merge_forecast::MergeForecast;

impl Requests {
    /// The message for the agent: the files in conflict, or how the last verification ended.
    pub fn merge_feedback(&self, task: &TaskId) -> Result<String, DriverError> {
        let MergeForecast { into, preview, .. } = self.workspaces.forecast_merge(task)?;
        if let Some(obstacle @ MergeObstacle::Conflicts(_)) = &preview.obstacle {
            let task = Store::open_read_only(&self.context.home)?
                .require(task)?
                .task;
            let (_, git) = self.workspaces.repository_of(&task)?;
            let upstream = git.upstream(&into, &preview.base)?;
            return Ok(format!(
                "the branch cannot be merged into `{into}` (at {}): {obstacle}. Run `git merge \
                 {upstream}`, resolve the conflicts, test and commit.",
                preview.base.short()
            ));
        }
        let store = Store::open_read_only(&self.context.home)?;
        let entered = store.require(task)?.task.entered.version;
        let events = store.events(task, entered)?.into_iter().rev();
        let mut feedback = events.filter_map(|it| match it.event.fact {
            Fact::EffectFailed { feedback, .. } => feedback,
            _ => None,
        });
        feedback.next().ok_or_else(|| DriverError::NoMergeFailure {
            task: task.clone(),
            into,
        })
    }
}
