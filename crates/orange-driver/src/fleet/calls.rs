//! The runner's calls, with their requests and answers.

use std::time::Duration;

use orange_effects::fleet::{FleetClient, FleetMethod};
use orange_fleet::ids::{MailId, RunnerId, TaskId};
use orange_fleet::message::{
    Adopt, AdoptAnswer, Append, AppendAnswer, Beat, BeatAnswer, GiveBack, HoldingAnswer,
    MailAnswer, MailResult, Register, RegisterAnswer, Wip, WorkAnswer, WorkRequest,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::FleetError;
use crate::context::Context;

/// How long the server may take for an ordinary call.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The server answers a wait for work after 25 seconds at the latest.
const WORK_TIMEOUT: Duration = Duration::from_secs(40);

/// The server of a fleet, as one runner sees it.
#[derive(Debug)]
pub(super) struct Server {
    address: String,
    runner: RunnerId,
    quick: FleetClient,
    waiting: FleetClient,
}

impl Server {
    pub(super) fn new(context: &Context, address: &str, runner: &RunnerId, token: &str) -> Server {
        let client = |timeout| FleetClient::new(&context.environment, address, token, timeout);
        Server {
            address: address.to_owned(),
            runner: runner.clone(),
            quick: client(TIMEOUT),
            waiting: client(WORK_TIMEOUT),
        }
    }

    pub(super) fn register(&self, call: &Register) -> Result<RegisterAnswer, FleetError> {
        self.post("register the runner", "runners", call)
    }

    pub(super) fn beat(&self, call: &Beat) -> Result<BeatAnswer, FleetError> {
        self.post("send a beat", &self.own("beat"), call)
    }

    pub(super) fn work(&self, call: &WorkRequest) -> Result<WorkAnswer, FleetError> {
        let attempt = "wait for work";
        self.send(
            &self.waiting,
            FleetMethod::Post,
            attempt,
            &self.own("work"),
            call,
        )
    }

    pub(super) fn append(&self, call: &Append) -> Result<AppendAnswer, FleetError> {
        self.post("append commits", "append", call)
    }

    pub(super) fn give_back(&self, call: &GiveBack) -> Result<HoldingAnswer, FleetError> {
        let path = format!("tasks/{}/give-back", call.task);
        self.post("give a task back", &path, call)
    }

    pub(super) fn adopt(&self, call: &Adopt) -> Result<AdoptAnswer, FleetError> {
        self.post("adopt a task", &format!("tasks/{}/adopt", call.task), call)
    }

    pub(super) fn save_work(&self, task: &TaskId, call: &Wip) -> Result<HoldingAnswer, FleetError> {
        let (attempt, path) = ("save uncommitted work", format!("tasks/{task}/wip"));
        self.send(&self.quick, FleetMethod::Put, attempt, &path, call)
    }

    pub(super) fn answer_mail(
        &self,
        mail: &MailId,
        call: &MailAnswer,
    ) -> Result<MailResult, FleetError> {
        self.post("answer a request", &format!("mail/{mail}/answer"), call)
    }

    fn own(&self, call: &str) -> String {
        format!("runners/{}/{call}", self.runner)
    }

    fn post<A: DeserializeOwned>(
        &self,
        attempt: &'static str,
        path: &str,
        call: &impl Serialize,
    ) -> Result<A, FleetError> {
        self.send(&self.quick, FleetMethod::Post, attempt, path, call)
    }

    fn send<A: DeserializeOwned>(
        &self,
        client: &FleetClient,
        method: FleetMethod,
        attempt: &'static str,
        path: &str,
        call: &impl Serialize,
    ) -> Result<A, FleetError> {
        let malformed = |error: &serde_json::Error| FleetError::Answer {
            attempt,
            server: self.address.clone(),
            reason: error.to_string(),
        };
        let json = serde_json::to_vec(call).map_err(|error| malformed(&error))?;
        let answer = client.call(method, path, json);
        let answer = answer.map_err(|source| FleetError::Call {
            attempt,
            server: self.address.clone(),
            source,
        })?;
        serde_json::from_slice(&answer).map_err(|error| malformed(&error))
    }
}
