//! Creating tasks, and appending commits to their logs.

use crate::chain::{Commit, Head};
use crate::ids::{Epoch, ProjectId, RunnerId, TaskId};
use crate::ledger::{Ledger, TaskRecord};
use crate::message::{
    Append, AppendAnswer, AppendResult, CreateAnswer, CreateTask, Rest, Summary, TaskAppend,
    TaskResult, Text,
};
use crate::time::Timestamp;

/// A commit in the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    pub epoch: Epoch,
    /// Its place in the feed of all tasks.
    pub sequence: u64,
    pub commit: Commit,
}

/// Where the commits of an append belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// The first so many are in the log already; the rest come next.
    Next { known: usize },
    /// Nowhere: this is the answer.
    Refused(AppendResult),
}

impl Ledger {
    pub fn create(&mut self, now: Timestamp, call: &CreateTask) -> CreateAnswer {
        if let Some(task) = self.tasks.get(&call.task) {
            let known = task.log.iter().map(|it| &it.commit);
            let is_repeated = known.take(call.commits.len()).eq(call.commits.iter());
            return if is_repeated {
                CreateAnswer::Ok
            } else {
                CreateAnswer::Taken
            };
        }
        if call.commits.is_empty() || !is_chain(Head::default(), &call.commits) {
            return CreateAnswer::Invalid;
        }
        let record = TaskRecord {
            needs: call.needs.clone(),
            priority: call.priority,
            after: call.after.clone(),
            parent: call.parent.clone(),
            log: Vec::new(),
            epoch: Epoch::default(),
            holder: None,
            owner: None,
            rest: Rest::Offered,
            returns: 0,
            attempts: 0,
            since: now,
            summary: call.summary.clone(),
            wip: None,
            letters: 0,
        };
        self.tasks.insert(call.task.clone(), record);
        self.store_texts(&call.needs.project, &call.commits, &call.texts);
        self.write(&call.task, Epoch::default(), &call.commits, &call.summary);
        CreateAnswer::Ok
    }

    /// Each task is judged and written alone.
    pub fn append(&mut self, now: Timestamp, runner: &RunnerId, call: &Append) -> AppendAnswer {
        let results = call.tasks.iter().map(|append| TaskResult {
            task: append.task.clone(),
            epoch: append.epoch,
            result: self.append_task(now, runner, append),
        });
        AppendAnswer {
            tasks: results.collect(),
        }
    }

    fn append_task(
        &mut self,
        now: Timestamp,
        runner: &RunnerId,
        append: &TaskAppend,
    ) -> AppendResult {
        let known = match self.place(runner, append) {
            Placement::Next { known } => known,
            Placement::Refused(answer) => return answer,
        };
        let new = append.commits.get(known..).unwrap_or_default();
        if !new.is_empty() {
            let project = self
                .tasks
                .get(&append.task)
                .map(|it| it.needs.project.clone());
            if let Some(project) = project {
                self.store_texts(&project, &append.commits, &append.texts);
            }
            self.write(&append.task, append.epoch, new, &append.summary);
            if append.summary.ended {
                self.end(now, &append.task);
            }
        }
        let last = append.commits.last().map(|it| it.last);
        AppendResult::Ok {
            version: last.unwrap_or(append.base),
        }
    }

    /// The rule of the log: only the holder extends it, at its end, and a repetition is no
    /// extension.
    pub fn place(&self, runner: &RunnerId, append: &TaskAppend) -> Placement {
        use Placement::Refused;
        let Some(task) = self.tasks.get(&append.task) else {
            return Refused(AppendResult::Fenced);
        };
        let head = task.head();
        if self.forgot(runner, task, append.epoch) {
            // A failover has lost the claim. The next beat leads to an adoption.
            return Refused(AppendResult::Behind { head });
        }
        if !task.is_holding_of(runner, append.epoch) {
            return Refused(AppendResult::Fenced);
        }
        if head.version < append.base {
            return Refused(AppendResult::Behind { head });
        }
        let from = task.log.partition_point(|it| it.commit.last <= append.base);
        let rows = task.log.get(from..).unwrap_or_default();
        let pairs = rows.iter().zip(&append.commits);
        let known = pairs.take_while(|(row, commit)| row.commit == **commit);
        let known = known.count();
        let new = append.commits.get(known..).unwrap_or_default();
        if new.is_empty() {
            Placement::Next { known }
        } else if task.owner.is_none() {
            Refused(AppendResult::Fenced)
        } else if known == rows.len() && is_chain(head, new) && self.may_decide(append, new) {
            Placement::Next { known }
        } else {
            Refused(AppendResult::Conflict)
        }
    }

    /// Write commits to the end of a task's log, and decide the mail that they name.
    pub fn write(&mut self, id: &TaskId, epoch: Epoch, commits: &[Commit], summary: &Summary) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        for commit in commits {
            self.sequence = self.sequence.saturating_add(1);
            task.log.push(Row {
                epoch,
                sequence: self.sequence,
                commit: commit.clone(),
            });
        }
        if task.summary.status != summary.status {
            task.attempts = 0;
        }
        task.summary = summary.clone();
        for commit in commits {
            self.decide_mail(id, commit);
        }
    }

    /// The end releases the task and tells its parent.
    fn end(&mut self, now: Timestamp, id: &TaskId) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        task.release(now);
        task.rest = Rest::Idle;
        let (parent, status) = (task.parent.clone(), task.summary.status.clone());
        let version = task.head().version;
        if let Some(parent) = parent {
            self.post_child_end(&parent, id, version, &status);
        }
    }

    /// Only texts that the commits name. The caller has compared them with their hashes.
    fn store_texts(&mut self, project: &ProjectId, commits: &[Commit], texts: &[Text]) {
        for text in texts {
            if commits.iter().any(|it| it.texts.contains(&text.sha)) {
                let key = (project.clone(), text.sha);
                self.texts.insert(key, text.content.clone());
            }
        }
    }
}

fn is_chain(mut head: Head, commits: &[Commit]) -> bool {
    commits.iter().all(|commit| {
        let follows = commit.follows(head);
        head = commit.head();
        follows
    })
}
