//! Everything that needs the user, over all tasks.
//!
//! Each source is read once for all tasks: rows, raised reasons, unread messages. Only the events
//! of live agents are read agent by agent, each from the end of a small file.

use orange_config::clock;
use orange_engine::attention::{
    Agent, Item, Need, Reason, TaskAttention, WaitingMessage, items, question, sort_items,
};
use orange_engine::evidence::Evidence;
use orange_engine::language::workflow::Kind;
use orange_engine::names::{ProjectName, TaskId};
use orange_engine::time::Timestamp;
use orange_store::{
    AttentionEvent, ImportResult, RowFilter, Store, StoreError, TaskRow, UnreadMessage,
};

use crate::DriverError;
use crate::agents::activity::RunActivity;
use crate::agents::run_check::is_dead;
use crate::perform::warn_unperformed::add_warnings;
use crate::views::Views;
use crate::views::missing_worktrees::add_missing_worktrees;
use crate::workspaces::kept::KeptWorktree;

/// Everything that needs the user, longest waiting first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attention {
    /// The last commit that it includes.
    pub sequence: u64,
    pub items: Vec<AttentionEntry>,
}

/// Something that needs the user, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttentionEntry {
    pub item: Item,
    /// The project of the item's task, if the item is about a task.
    pub project: Option<ProjectName>,
    /// The task's summary.
    pub summary: Option<String>,
}

impl Views {
    /// Everything that needs the user, in one project or in all; writes nothing.
    ///
    /// Includes parked harnesses in either case, because they matter to every project.
    pub fn attention(&self, project: Option<&ProjectName>) -> Result<Attention, DriverError> {
        let store = match self.context.read_store() {
            // Without a database nothing needs the user.
            Err(StoreError::Missing { .. }) => return Ok(Attention::default()),
            opened => opened?,
        };
        let unperformed = self.performer.unperformed_tasks(&store).unwrap_or_default();
        let kept = self.kept_worktrees(&store, project)?;
        let mut shown = unperformed.clone();
        shown.extend(kept.iter().map(|(task, _)| task.clone()));
        let mut listed = store.rows(&RowFilter {
            project: project.cloned(),
            status: None,
            without_ended: true,
            extra_tasks: shown,
        })?;
        add_warnings(&mut listed.rows, &unperformed);
        add_missing_worktrees(&store, &mut listed.rows)?;
        for row in &mut listed.rows {
            let own = kept.iter().filter(|(task, _)| *task == row.id);
            row.attention.extend(own.map(|(_, kept)| kept.notice()));
        }
        let (raised, unread) = (store.attention_events()?, store.all_unread()?);
        let now = clock::now();
        let mut all: Vec<Item> = store
            .parkings(now)?
            .iter()
            .filter(|parking| !parking.is_brief())
            .map(Item::from_parking)
            .collect();
        all.extend(self.budget_items(&store, project)?);
        all.extend(self.note_items(project));
        all.extend(self.job_items(&store, project)?);
        all.extend(self.policy_items(project)?);
        let observations = self.observations_in(&store, &listed.rows);
        let is_supervised = self.context.is_supervised();
        for row in &listed.rows {
            let observations = observations.get(&row.id).map_or(&[][..], Vec::as_slice);
            let mut activities = self.agents.row_activities(row);
            // An agent that is found dead waits for nothing, whatever it reported last.
            activities.retain(|it| !is_dead(observations, &it.run));
            let mut task_attention = attention_of(row, &raised, &unread, &activities);
            if row.need == Some(Need::Question)
                && let ImportResult::Read(imported) = orange_store::peek(&store, &row.id)?
            {
                task_attention.question = question(&imported.document);
            }
            if !is_supervised {
                let dead = observations.iter().filter(|it| it.is_dead());
                task_attention.exited = dead.map(|it| (&it.role, &it.run)).collect();
            }
            all.extend(items(&task_attention, now));
        }
        sort_items(&mut all);
        let entries = all.into_iter().map(|item| {
            let mut rows = listed.rows.iter();
            let row = rows.find(|row| item.task.as_ref() == Some(&row.id));
            AttentionEntry {
                project: row.map(|row| row.project.clone()),
                summary: row.map(|row| row.summary.clone()),
                item,
            }
        });
        Ok(Attention {
            sequence: listed.sequence,
            items: entries.collect(),
        })
    }
}

impl Views {
    /// The worktrees that could not be released without losing work, in one project or in all.
    fn kept_worktrees(
        &self,
        store: &Store,
        project: Option<&ProjectName>,
    ) -> Result<Vec<(TaskId, KeptWorktree)>, DriverError> {
        let mut projects = self.context.projects()?.projects;
        projects.retain(|it| project.is_none_or(|project| it.name == *project));
        let kept = projects.iter().map(|it| {
            let kept = self.workspaces.kept_in_project(store, &it.name, None);
            // A repository that cannot be read must not hide everything else.
            kept.unwrap_or_default()
        });
        Ok(kept.flatten().collect())
    }
}

fn attention_of<'a>(
    row: &'a TaskRow,
    raised: &'a [AttentionEvent],
    unread: &'a [UnreadMessage],
    activities: &'a [RunActivity],
) -> TaskAttention<'a> {
    let entered_at = row.entered_at.unwrap_or_default();
    // A finished task does not read messages any more.
    let unread = unread
        .iter()
        .filter(|it| it.task == row.id && row.kind != Some(Kind::Terminal));
    TaskAttention {
        task: &row.id,
        status: &row.status,
        entered_at,
        need: row.need,
        question: None,
        is_queued: row.kind == Some(Kind::Queued),
        is_agent_missing: row.is_agent_missing(),
        reasons: row
            .attention
            .iter()
            .map(|reason| since(row, reason, raised, entered_at))
            .collect(),
        unread: unread
            .map(|UnreadMessage { entry, .. }| WaitingMessage {
                id: entry.id,
                to: &entry.to,
                written_at: entry.written_at,
                problem: entry.delivery.problem.as_deref(),
                is_confirmed: entry.delivery.confirmed_at.is_some(),
            })
            .collect(),
        agents: activities
            .iter()
            .map(|it| Agent {
                role: &it.role,
                run: &it.run,
                activity: &it.activity,
                requests: &it.requests,
            })
            .collect(),
        exited: Vec::new(),
    }
}

/// A reason, and when it was raised: the time of the latest event whose text the reason ends with.
fn since<'a>(
    row: &TaskRow,
    text: &'a str,
    raised: &[AttentionEvent],
    entered_at: Timestamp,
) -> Reason<'a> {
    let own = raised.iter().filter(|it| it.task == row.id);
    let mut own = own.filter(|it| text.ends_with(&it.text)).peekable();
    let mut runs = row.runs.iter();
    Reason {
        text,
        since: own.peek().map_or(entered_at, |it| it.at),
        // Check all events, not only the latest: a failed start is raised again in the status that
        // it leads back to.
        is_failed_effect: own.any(|it| it.is_effect_failure),
        is_stop: runs.any(|(role, run)| {
            run.state.is_stopped() && text == format!("the {role} {}", Evidence::Stopped)
        }),
    }
}
