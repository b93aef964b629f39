//! Requests to tasks, and their answers.

pub(crate) mod answer;
pub(crate) mod ask;
mod create_many;
pub(crate) mod delete;
pub(crate) mod drafts;
pub(crate) mod edit;
mod issue_sync;
pub(crate) mod issue_task;
pub(crate) mod issues;
pub(crate) mod jobs;
pub(crate) mod look;
pub(crate) mod merge_feedback;
mod notes;
pub(crate) mod permission;
pub(crate) mod post;
pub(crate) mod recover;
pub(crate) mod registration;
pub(crate) mod retry;
mod review_task;
pub(crate) mod start;
pub(crate) mod wait;

use std::sync::Arc;

use orange_fleet::ids::MailId;

use crate::agents::Agents;
use crate::callers::Callers;
use crate::context::Context;
use crate::forge::Forge;
use crate::perform::Performer;
use crate::steps::Steps;
use crate::workspaces::Workspaces;

/// Changes tasks on request: observes the world, imports the document, decides, records, performs.
#[derive(Clone, Debug)]
pub struct Requests {
    context: Arc<Context>,
    callers: Callers,
    workspaces: Workspaces,
    forge: Forge,
    steps: Steps,
    agents: Agents,
    pub(crate) performer: Performer,
}

impl Requests {
    pub(crate) fn new(
        context: &Arc<Context>,
        callers: &Callers,
        workspaces: &Workspaces,
        forge: &Forge,
        steps: &Steps,
        agents: &Agents,
        performer: &Performer,
    ) -> Requests {
        Requests {
            context: Arc::clone(context),
            callers: callers.clone(),
            workspaces: workspaces.clone(),
            forge: forge.clone(),
            steps: steps.clone(),
            agents: agents.clone(),
            performer: performer.clone(),
        }
    }

    /// The same, for a request that came as mail of a fleet's server.
    pub(crate) fn for_mail(&self, mail: &MailId) -> Requests {
        Requests {
            steps: self.steps.for_mail(mail),
            ..self.clone()
        }
    }
}
