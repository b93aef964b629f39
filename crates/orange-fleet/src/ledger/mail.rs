//! Mail: requests on their way to the holder, each decided once.

use crate::chain::Commit;
use crate::ids::{MailId, PersonId, RequestKey, RunnerId, TaskId, Version};
use crate::json::Json;
use crate::ledger::Ledger;
use crate::message::{
    MailAnswer, MailResult, PostRequest, RequestState, RequestStatus, Sender, TaskAppend,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MailRecord {
    pub task: TaskId,
    pub from: Sender,
    /// With the task and the sender, what makes a repeated request the same one.
    pub key: RequestKey,
    pub ask: Json,
    pub state: MailState,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MailState {
    Open,
    /// Decided by the commit that ends with this version.
    Recorded(Version),
    /// Decided without a commit.
    Answered(Json),
}

impl MailRecord {
    pub fn is_open(&self) -> bool {
        self.state == MailState::Open
    }
}

impl Ledger {
    /// Post a person's request. The same key again is the same request. `None` without the task.
    pub fn post(
        &mut self,
        person: &PersonId,
        task: &TaskId,
        call: &PostRequest,
    ) -> Option<RequestState> {
        let from = Sender::Person(person.clone());
        let before = self.mail.len();
        let id = self.add_mail(task, from, call.key.clone(), call.ask.clone())?;
        if self.mail.len() > before {
            self.tasks.get_mut(task)?.attempts = 0;
        }
        self.request(&id)
    }

    pub fn request(&self, id: &MailId) -> Option<RequestState> {
        let record = self.mail.get(id)?;
        let (status, version, answer) = match &record.state {
            MailState::Open => (RequestStatus::Open, None, None),
            MailState::Recorded(version) => (RequestStatus::Recorded, Some(*version), None),
            MailState::Answered(answer) => (RequestStatus::Answered, None, Some(answer.clone())),
        };
        Some(RequestState {
            id: id.clone(),
            status,
            version,
            answer,
        })
    }

    /// Decide mail without a commit.
    pub fn answer_mail(&mut self, runner: &RunnerId, id: &MailId, call: &MailAnswer) -> MailResult {
        if self.held(runner, &call.task, call.epoch).is_none() {
            return MailResult::Fenced;
        }
        match self.mail.get_mut(id) {
            Some(record) if record.task != call.task => MailResult::Fenced,
            Some(record) if record.is_open() => {
                record.state = MailState::Answered(call.answer.clone());
                MailResult::Ok
            }
            Some(_) => MailResult::Decided,
            None => MailResult::Fenced,
        }
    }

    pub(super) fn has_open_mail(&self, task: &TaskId) -> bool {
        let mut mail = self.mail.values();
        mail.any(|it| it.task == *task && it.is_open())
    }

    /// Whether each mail that the commits name is open, of this task, and named once.
    pub(super) fn may_decide(&self, append: &TaskAppend, commits: &[Commit]) -> bool {
        let named = || commits.iter().filter_map(|it| it.request.as_ref());
        named().all(|id| {
            let mut record = self.mail.get(id).into_iter();
            let is_open = record.any(|it| it.is_open() && it.task == append.task);
            is_open && named().filter(|it| *it == id).count() == 1
        })
    }

    pub(super) fn decide_mail(&mut self, task: &TaskId, commit: &Commit) {
        let record = commit.request.as_ref().and_then(|it| self.mail.get_mut(it));
        if let Some(record) = record.filter(|it| it.is_open() && it.task == *task) {
            record.state = MailState::Recorded(commit.last);
        }
    }

    /// The end of a child is mail to its parent. A child that was reopened may end again, with a
    /// later version.
    pub(super) fn post_child_end(
        &mut self,
        parent: &TaskId,
        child: &TaskId,
        version: Version,
        status: &str,
    ) {
        let ask = child_end(status);
        let key = RequestKey::new(format!("ended-{version}"));
        self.add_mail(parent, Sender::Child(child.clone()), key, ask);
    }

    /// The id of the mail with this sender and key. `None` without the task.
    ///
    /// The id has the timeline, so that a commit which decides mail that a failover has lost never
    /// decides other mail.
    fn add_mail(
        &mut self,
        task: &TaskId,
        from: Sender,
        key: RequestKey,
        ask: Json,
    ) -> Option<MailId> {
        let same = |it: &MailRecord| it.task == *task && it.from == from && it.key == key;
        let mut all = self.mail.iter();
        if let Some((id, _)) = all.find(|(_, it)| same(it)) {
            return Some(id.clone());
        }
        let record = self.tasks.get_mut(task)?;
        record.letters = record.letters.saturating_add(1);
        let id = MailId::new(format!("{task}-{}-{}", self.timeline, record.letters));
        let record = MailRecord {
            task: task.clone(),
            from,
            key,
            ask,
            state: MailState::Open,
        };
        self.mail.insert(id.clone(), record);
        Some(id)
    }
}

/// What the parent of an ended task is told.
pub fn child_end(status: &str) -> Json {
    let ask = serde_json::to_string(&ChildEnd { status });
    ask.ok().and_then(Json::new).unwrap_or_else(Json::null)
}

#[derive(serde::Serialize)]
struct ChildEnd<'a> {
    status: &'a str,
}
