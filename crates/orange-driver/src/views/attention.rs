//! Everything that needs the user, over all tasks.
//!
//! Each source is read once for all tasks: rows, raised reasons, unread messages. Only the events
//! of live agents are read agent by agent, each from the end of a small file.

use orange_config::clock;
use orange_engine::activity::ActivityState;
use orange_engine::attention::{
    Agent, Item, Need, Reason, TaskAttention, WaitingMessage, items, question, sort_items,
};
use orange_engine::language::workflow::Kind;
use orange_engine::names::ProjectName;
use orange_engine::task::RunState;
use orange_engine::time::Timestamp;
use orange_store::{
    AttentionEvent, ImportResult, RowFilter, Store, StoreError, TaskRow, UnreadMessage,
};

use super::list::AgentState;
use crate::DriverError;
use crate::agents::activity::RunActivity;
use crate::perform::warn_unperformed::add_warnings;
use crate::views::Views;

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
        let store = match Store::open_read_only(&self.context.home) {
            // Without a database nothing needs the user.
            Err(StoreError::Missing { .. }) => return Ok(Attention::default()),
            opened => opened?,
        };
        let unperformed = self.performer.unperformed_tasks(&store).unwrap_or_default();
        let mut listed = store.rows(&RowFilter {
            project: project.cloned(),
            status: None,
            without_ended: true,
            extra_tasks: unperformed.clone(),
        })?;
        add_warnings(&mut listed.rows, &unperformed);
        let (raised, unread) = (store.attention_events()?, store.all_unread()?);
        let now = clock::now();
        let mut all: Vec<Item> = store
            .parkings(now)?
            .iter()
            .map(Item::from_parking)
            .collect();
        let activities =
            |row: &TaskRow| self.agents.activities_of(&row.project, &row.id, &row.runs);
        let mut activities: Vec<Vec<RunActivity>> = listed.rows.iter().map(activities).collect();
        let agent_states = self.agents_in(&store, &listed.rows);
        let is_supervised = self.context.is_supervised();
        for (row, activities) in listed.rows.iter().zip(&mut activities) {
            let is_dead = agent_states.get(&row.id) == Some(&AgentState::Dead);
            if is_dead {
                // A dead agent is silent too, so its silence needs no entry of its own.
                activities.retain(|it| it.activity.state != ActivityState::Silent);
                for activity in activities.iter_mut() {
                    activity.requests.clear();
                }
            }
            let mut task_attention = attention_of(row, &raised, &unread, activities);
            if row.need == Some(Need::Question)
                && let ImportResult::Read(imported) = orange_store::peek(&store, &row.id)?
            {
                task_attention.question = question(&imported.document);
            }
            if is_dead && !is_supervised {
                let alive = row
                    .runs
                    .iter()
                    .filter(|(_, run)| run.state == RunState::Alive);
                task_attention.exited = alive.map(|(role, run)| (role, &run.id)).collect();
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
        entered_at,
        need: row.need,
        question: None,
        is_queued: row.kind == Some(Kind::Queued),
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
    Reason {
        text,
        since: own.peek().map_or(entered_at, |it| it.at),
        // Check all events, not only the latest: a failed start is raised again in the status that
        // it leads back to.
        is_failed_effect: own.any(|it| it.is_effect_failure),
    }
}
