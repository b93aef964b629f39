//! Does what a command asks for, once.

use std::time::Duration;

use orange_engine::chat::answer::{
    help, help_in_comments, origin_line, sent_back, told, unknown_task,
};
use orange_engine::chat::channel::Channel;
use orange_engine::chat::command::Command;
use orange_engine::chat::message::{Addressing, Incoming, Reaction, react};
use orange_engine::effect::Effect;
use orange_engine::event::Fact;
use orange_engine::input::{Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::names::{ProjectName, TaskId};
use orange_engine::role::Role;
use orange_store::{ChatRecord, ChatState, Store, StoreError};

use super::Chat;
use super::scope::Scope;
use crate::DriverError;
use crate::request::answer::Answer;
use crate::request::ask::TaskRequest;
use crate::request::issues::request_of;
use crate::request::wait::WaitPolicy;
use crate::steps::Steps;
use crate::steps::create::{CreateResult, NewTaskRequest};

impl Chat {
    /// Obeys the commands of a channel that were received and not obeyed. `steps` creates tasks,
    /// with the user's latest variables.
    pub(crate) fn obey(
        &self,
        channel: Channel,
        scope: impl Fn(&ChatRecord) -> Result<Scope, DriverError>,
        steps: &Steps,
    ) -> Result<(), DriverError> {
        let open = Store::open_read_only(&self.context.home)?.open_chat(channel)?;
        for record in open.iter().filter(|it| it.state == ChatState::Received) {
            if let Some(answer) = self.obey_one(record, &scope(record)?, steps)? {
                let mut store = self.context.store()?;
                store.answer_chat(&record.key, &answer)?;
            }
        }
        Ok(())
    }

    /// Obeys one command; returns the answer, unless the message was marked as done meanwhile.
    fn obey_one(
        &self,
        record: &ChatRecord,
        scope: &Scope,
        steps: &Steps,
    ) -> Result<Option<String>, DriverError> {
        let help = || match scope.here.as_slice() {
            [] => help(),
            _ => help_in_comments(),
        };
        let Some(text) = &record.text else {
            return Ok(Some(help()));
        };
        let command = match react(&again(record, text, scope)) {
            Reaction::Act(command) => command,
            Reaction::Answer(words) => return Ok(Some(words)),
            Reaction::Ignore(_) | Reaction::None => return Ok(Some(help())),
        };
        let done = match command {
            Command::Help => Ok(Some(help())),
            Command::List => self.list(scope).map(Some),
            Command::Show { task } => self.with_task(scope, &task, |id| self.show(scope, id)),
            Command::Why { task } => self.with_task(scope, &task, |id| self.why(scope, id)),
            Command::New {
                project,
                summary,
                context,
            } => self.create(record, scope, project, (summary, context), steps),
            Command::Tell { task, text } => {
                self.with_task(scope, &task, |id| self.tell(record, id, &text))
            }
            Command::RequestChanges { task, text } => {
                self.with_task(scope, &task, |id| self.send_back(record, id, &text))
            }
        };
        match done {
            // The database is busy or was replaced: try again.
            Err(DriverError::Store(
                error @ (StoreError::Busy { .. } | StoreError::Replaced { .. }),
            )) => Err(error.into()),
            Err(error) => Ok(Some(error.to_string())),
            done => done,
        }
    }

    fn with_task(
        &self,
        scope: &Scope,
        name: &str,
        work: impl FnOnce(&TaskId) -> Result<String, DriverError>,
    ) -> Result<Option<String>, DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        let Some(task) = scope.find(&store, name)? else {
            return Ok(Some(unknown_task(name)));
        };
        work(&task).map(Some)
    }

    fn create(
        &self,
        record: &ChatRecord,
        scope: &Scope,
        project: Option<String>,
        (summary, context): (String, Option<String>),
        steps: &Steps,
    ) -> Result<Option<String>, DriverError> {
        let project = match self.project(scope, project)? {
            Ok(project) => project,
            Err(words) => return Ok(Some(words)),
        };
        let new = NewTaskRequest {
            summary,
            context,
            ..request_of(&project)
        };
        let created = match steps.create_for(&new, Some(&record.key)) {
            Ok(created) => created,
            Err(DriverError::Store(StoreError::ChatMessageTaken(_))) => return Ok(None),
            Err(error) => return Err(error),
        };
        match created.created {
            CreateResult::Recorded(recorded) => {
                // If this process dies here, the task exists already, and the scheduler starts it.
                self.context
                    .leave_to_performer(&created.store, &recorded.task)?;
                Ok(None)
            }
            CreateResult::Refused(refusal) => Ok(Some(refusal.to_string())),
        }
    }

    /// The project of a new task, or the words that ask for it.
    fn project(
        &self,
        scope: &Scope,
        name: Option<String>,
    ) -> Result<Result<ProjectName, String>, DriverError> {
        let projects = self.context.all_projects()?.into_iter().map(|it| it.name);
        let known: Vec<ProjectName> = projects.filter(|it| scope.has_project(it)).collect();
        let names: Vec<&str> = known.iter().map(ProjectName::as_str).collect();
        let names = names.join(", ");
        if let Some(name) = name {
            let found = known.into_iter().find(|it| it.as_str() == name);
            return Ok(found.ok_or_else(|| format!("there is no project `{name}` here: {names}")));
        }
        let first = scope.projects.first().filter(|it| known.contains(it));
        Ok(match (first, known.as_slice()) {
            (Some(first), _) => Ok(first.clone()),
            (None, [only]) => Ok(only.clone()),
            (None, []) => Err(String::from("there is no project")),
            (None, _) => Err(format!(
                "name the project: `new --project NAME TEXT` with one of {names}"
            )),
        })
    }

    /// Sends a message to the agent of a task, unless that was done before.
    fn tell(&self, record: &ChatRecord, id: &TaskId, text: &str) -> Result<String, DriverError> {
        let is_told = |fact: &Fact, line: &str| match fact {
            Fact::EffectPlanned(planned) => match &planned.effect {
                Effect::NotifyRole(notify) => notify.message.starts_with(line),
                _ => false,
            },
            _ => false,
        };
        let request = Request::new(Role::Engine, RequestKind::Tell { role: None });
        let refusal = self.ask_once(record, id, text, request, is_told)?;
        Ok(refusal.unwrap_or_else(|| told(id)))
    }

    /// Sends the work of a task back, unless that was done before. It counts as the user's request:
    /// a workflow lets only the user send work back, and this can neither approve nor merge.
    fn send_back(
        &self,
        record: &ChatRecord,
        id: &TaskId,
        text: &str,
    ) -> Result<String, DriverError> {
        let is_sent_back = |fact: &Fact, line: &str| match fact {
            Fact::StatusChanged(change) => {
                let message = change.message.as_deref().unwrap_or_default();
                message.starts_with(line)
            }
            _ => false,
        };
        let request = Request::new(Role::Human, RequestKind::Verb(Verb::RequestChanges));
        let refusal = self.ask_once(record, id, text, request, is_sent_back)?;
        Ok(refusal.unwrap_or_else(|| sent_back(id)))
    }

    /// Makes a request with the text as its message, unless an event shows that it was made for
    /// this chat message before; returns the words of a refusal.
    fn ask_once(
        &self,
        record: &ChatRecord,
        id: &TaskId,
        text: &str,
        mut request: Request,
        is_done: impl Fn(&Fact, &str) -> bool,
    ) -> Result<Option<String>, DriverError> {
        let line = origin_line(record.key.channel, &record.sender, &record.key.id);
        let events = Store::open_read_only(&self.context.home)?.events(id, 0)?;
        if events.iter().any(|it| is_done(&it.event.fact, &line)) {
            return Ok(None);
        }
        request.message = Some(format!("{line}\n{text}"));
        let answer = self.requests.ask(&TaskRequest {
            task: id.clone(),
            request,
            waiting: WaitPolicy::Detached(Duration::ZERO),
        })?;
        Ok(match answer {
            Answer::Refused(refusal) => Some(refusal.to_string()),
            _ => None,
        })
    }
}

/// A recorded message, whose sender was found to be allowed before it was recorded.
fn again(record: &ChatRecord, text: &str, scope: &Scope) -> Incoming {
    Incoming {
        id: record.key.id.clone(),
        room: record.room.clone(),
        sender: record.sender.clone(),
        text: text.to_owned(),
        addressing: Addressing::Any,
        here: scope.here.iter().map(ToString::to_string).collect(),
        is_allowed: true,
        ..Incoming::default()
    }
}
