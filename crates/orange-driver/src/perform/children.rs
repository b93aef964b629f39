//! Creates the child tasks that a report asks for.
//!
//! A child's key, made of the parent, the effect and the position in the report, is recorded with
//! the child. A repeat finds the children that exist and creates the others.

use std::collections::BTreeMap;

use orange_engine::Task;
use orange_engine::delegation::DelegationLink;
use orange_engine::effect::{EffectId, EffectOutcome};
use orange_engine::names::{BranchName, CommitId, HarnessName, TaskId};
use orange_engine::report::{Delegation, creation_order, predecessors};
use orange_engine::role::Role;
use orange_engine::task::{AgentSettings, Queueing};
use orange_store::Store;

use crate::DriverError;
use crate::failure::Failure;
use crate::perform::Performer;
use crate::steps::create::{CreateResult, NewTaskRequest};

/// What the children of one attempt have in common.
struct Family<'a> {
    parent: &'a Task,
    attempt: EffectId,
    /// The commit at which their branches start.
    start: Option<CommitId>,
}

impl Performer {
    /// Makes sure that each delegation has its task.
    pub(crate) fn create_children(
        &self,
        store: &mut Store,
        task: &Task,
        effect: EffectId,
        delegations: &[Delegation],
    ) -> Result<EffectOutcome, Failure> {
        let order = creation_order(delegations).map_err(Failure::permanent)?;
        let mut children = store
            .delegated_children(&task.id, effect)
            .map_err(Failure::temporary)?;
        let start = self.start_of_children(store, task, &children);
        let family = Family {
            parent: task,
            attempt: effect,
            start: start.map_err(Failure::temporary)?,
        };
        for index in order {
            if let Some(child) = children.get(&index) {
                // The process that created it may have died before it wrote the files.
                self.steps
                    .log_failure(child, self.steps.sync_files(store, child));
                continue;
            }
            let after = predecessors(delegations, index).map_err(Failure::permanent)?;
            let after = after.iter().filter_map(|it| children.get(it).cloned());
            let queueing = Queueing {
                after: after.collect(),
                ..Queueing::default()
            };
            let child = self.create_child(&family, index, &delegations[index], queueing)?;
            children.insert(index, child);
        }
        let children: Vec<TaskId> = children.into_values().collect();
        self.scheduler
            .start_if_unsupervised(store, &children)
            .map_err(Failure::temporary)?;
        Ok(EffectOutcome::Children(children))
    }

    /// The head of the parent's branch, else of the default branch, when the first of these
    /// children was created.
    fn start_of_children(
        &self,
        store: &Store,
        parent: &Task,
        children: &BTreeMap<usize, TaskId>,
    ) -> Result<Option<CommitId>, DriverError> {
        if let Some(first) = children.values().next() {
            let link = store.require(first)?.task.queueing.delegation;
            return Ok(link.and_then(|link| link.start));
        }
        let (project, git) = self.workspaces.repository_of(parent)?;
        if let Some(head) = git.branch(&parent.branch)? {
            return Ok(Some(head));
        }
        // The run that planned the children had no worktree, so there is no branch yet.
        Ok(Some(git.base(&project.default_branch)?.commit))
    }

    /// Creates one child. Performs none of its effects: the child has its own performer.
    fn create_child(
        &self,
        family: &Family<'_>,
        index: usize,
        delegation: &Delegation,
        queueing: Queueing,
    ) -> Result<TaskId, Failure> {
        let (task, number) = (family.parent, index + 1);
        let branch = format!("orange-tasks/{}-{}-{number}", task.id, family.attempt);
        let (harness, harness_note) = self
            .choose_harness(task, delegation)
            .map_err(Failure::temporary)?;
        let is_same = harness == task.harness;
        let new = NewTaskRequest {
            project: Some(task.project.clone()),
            by: Role::Worker,
            summary: title(task, number, delegation),
            context: context(delegation),
            branch: Some(BranchName::new(branch)),
            workflow: Some(task.workflow.to_string()),
            harness: Some(harness),
            review_harness: Some(task.review_harness.clone()),
            status: None,
            agent_settings: if is_same {
                task.agent_settings.clone()
            } else {
                AgentSettings::default()
            },
            labels: delegation.labels.clone(),
            queueing: Queueing {
                priority: task.queueing.priority,
                parent: Some(task.id.clone()),
                delegation: Some(DelegationLink {
                    attempt: family.attempt,
                    index: u64::try_from(index).unwrap_or(u64::MAX),
                    start: family.start.clone(),
                    harness_note,
                }),
                starts_automatically: true,
                ..queueing
            },
            issue: None,
            job: None,
            pull_request: None,
        };
        let mut result = self.steps.create(&new).map_err(Failure::temporary)?;
        match result.created {
            CreateResult::Recorded(recorded) => {
                if recorded.copies.is_err() {
                    let synced = self.steps.sync_files(&mut result.store, &recorded.task);
                    self.steps.log_failure(&recorded.task, synced);
                }
                Ok(recorded.task)
            }
            CreateResult::Refused(refusal) => Err(Failure::permanent(refusal)),
        }
    }

    /// The suggested harness if its program is installed, else the parent's and a sentence that
    /// says why.
    fn choose_harness(
        &self,
        parent: &Task,
        delegation: &Delegation,
    ) -> Result<(HarnessName, Option<String>), DriverError> {
        let own = &parent.harness;
        let Some(suggested) = delegation.suggested_agent.as_ref() else {
            return Ok((own.clone(), None));
        };
        if suggested == own {
            return Ok((own.clone(), None));
        }
        let harnesses = self.context.harnesses()?;
        let path = self.context.environment.variable("PATH");
        let found = harnesses.require(suggested);
        let found = found.and_then(|harness| harness.locate(path));
        Ok(match found {
            Ok(_) => (suggested.clone(), None),
            Err(error) => {
                let note = format!(
                    "it runs on `{own}` like its parent; the report suggested another harness, \
                     but {error}"
                );
                (own.clone(), Some(note))
            }
        })
    }
}

/// The title of a child: one line, without NUL, which no file or argument can hold.
fn title(task: &Task, number: usize, delegation: &Delegation) -> String {
    let clean = delegation.title.replace('\0', " ");
    let title = clean.split_whitespace().collect::<Vec<&str>>().join(" ");
    if title.is_empty() {
        return format!("Part {number} of: {}", task.summary);
    }
    title
}

fn context(delegation: &Delegation) -> Option<String> {
    let mut text = delegation.body.replace('\0', " ").trim().to_owned();
    if !delegation.labels.is_empty() {
        let labels = delegation.labels.join(", ").replace('\0', " ");
        text.push_str("\n\nLabels: ");
        text.push_str(&labels);
    }
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
