//! Joining a fleet, leaving it, and what a runner says about itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_config::clock;
use orange_effects::fleet::{FleetClient, FleetMethod};
use orange_effects::private_file;
use orange_fleet::chain::Sha;
use orange_fleet::ids::{HomeId, Incarnation, RunnerId};
use orange_fleet::link::{LeaseTerms, Phase, RunnerLink};
use orange_fleet::time::Period;
use orange_store::Membership;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::error::FleetError;
use crate::context::{Context, ids};
use crate::{Driver, DriverError};

/// What a one-time code begins with.
const CODE: &str = "orc_";

/// How long the server may take to exchange a code.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The longest token.
const MOST_BYTES: u64 = 4096;

/// How much of the lease remains when agents are frozen, at most.
const MARGIN: Period = Period::seconds(30);

/// A home that is to work for a fleet.
#[derive(Clone, Debug)]
pub struct JoinRequest {
    pub server: String,
    pub runner: String,
    /// A one-time code of the server, or the token of a runner.
    pub token: String,
    /// After how many seconds without a beat the server may give its tasks to others.
    pub lost_after: u64,
}

/// A code, and the token that it is exchanged for.
#[derive(Deserialize, Serialize)]
struct Exchange {
    code: String,
    token: String,
}

/// The part of the server's answer that says whose token it is.
#[derive(Deserialize)]
struct Joined {
    runner: String,
}

/// What a runner does.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct RunnerStatus {
    /// The address of the server.
    pub server: String,
    /// The name of this runner.
    pub runner: String,
    /// Whether a process works for the fleet.
    pub is_running: bool,
    /// Whether it takes no more tasks.
    pub is_draining: bool,
    /// What agents may do: `running`, `frozen` or `expired`.
    pub lease: String,
    /// The tasks that this machine holds.
    pub tasks: Vec<HeldTask>,
}

/// A task that this machine holds.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct HeldTask {
    /// The task.
    pub task: String,
    /// How many of its events the server has.
    pub acknowledged: u64,
    /// How many it has.
    pub version: u64,
    /// Whether its copy here and the server's log disagree, so that it was stopped.
    pub is_halted: bool,
}

impl Driver {
    /// Makes this home a runner. The token is stored first: a home that has joined can always reach
    /// its server.
    pub fn join_fleet(&self, request: &JoinRequest) -> Result<(), DriverError> {
        self.callers.require_user("join a fleet")?;
        let lost_after = Period::seconds(request.lost_after);
        let margin = MARGIN.min(Period(lost_after.0 / 3));
        let terms = LeaseTerms {
            margin,
            ..LeaseTerms::default()
        };
        let home = HomeId::new(ids::session()?);
        let membership = Membership {
            server: request.server.clone(),
            runner: RunnerId::new(&request.runner),
            boot: clock::boot_id().map(str::to_owned),
            link: RunnerLink::new(home, Incarnation(0), terms),
            lost_after,
            dropped: std::collections::BTreeMap::new(),
            is_draining: false,
        };
        if !is_private(&request.server) {
            return Err(FleetError::NotPrivate(request.server.clone()).into());
        }
        let mut store = self.context.store()?;
        let is_new = store.membership()?.is_none();
        if is_new {
            let token = match request.token.strip_prefix(CODE) {
                Some(_) => self.exchange_code(request)?,
                None => request.token.clone(),
            };
            write_private(&token_file(&self.context), &token)?;
        }
        if let Err(error) = store.join_fleet(&membership) {
            if is_new {
                // A home that has not joined keeps no token.
                let _kept = private_file::remove(&token_file(&self.context));
            }
            return Err(error.into());
        }
        let _absent = private_file::remove(&exchange_file(&self.context));
        Ok(())
    }

    /// Exchanges a code for a token that is drawn here. Both are kept until the home has joined, so
    /// that the same code works again after an interruption.
    fn exchange_code(&self, request: &JoinRequest) -> Result<String, DriverError> {
        let path = exchange_file(&self.context);
        let known = private_file::read(&path, MOST_BYTES).ok();
        let known: Option<Exchange> = known.and_then(|it| serde_json::from_slice(&it).ok());
        let exchange = match known.filter(|it| it.code == request.token) {
            Some(known) => known,
            None => Exchange {
                code: request.token.clone(),
                token: ids::runner_token()?,
            },
        };
        write_private(&path, &serde_json::to_string(&exchange).unwrap_or_default())?;
        let client = FleetClient::new(
            &self.context.environment,
            &request.server,
            &exchange.code,
            TIMEOUT,
        );
        let sha = Sha::of(exchange.token.as_bytes());
        let body = json!({ "code": exchange.code, "token_sha256": sha });
        let answer = client.call(FleetMethod::Post, "join", body.to_string().into_bytes());
        let attempt = "exchange the code";
        let answer = answer.map_err(|source| FleetError::Call {
            attempt,
            server: request.server.clone(),
            source,
        })?;
        let answer = serde_json::from_slice(&answer);
        let joined: Joined = answer.map_err(|error| FleetError::Answer {
            attempt,
            server: request.server.clone(),
            reason: error.to_string(),
        })?;
        if joined.runner != request.runner {
            let error = FleetError::OtherRunner {
                given: request.runner.clone(),
                runner: joined.runner,
            };
            return Err(error.into());
        }
        Ok(exchange.token)
    }

    /// Takes no more tasks, or takes them again.
    pub fn drain_runner(&self, is_draining: bool) -> Result<(), DriverError> {
        self.callers.require_user("drain the runner")?;
        let mut store = self.context.store()?;
        store.update_membership(|known| known.is_draining = is_draining)?;
        Ok(())
    }

    /// Makes this home independent again; fails while it holds a task.
    pub fn leave_fleet(&self) -> Result<(), DriverError> {
        self.callers.require_user("leave the fleet")?;
        let _lock = self.context.take_runner()?;
        self.context.store()?.leave_fleet()?;
        let path = token_file(&self.context);
        private_file::remove(&path).map_err(|error| FleetError::Token {
            path,
            reason: error.to_string(),
        })?;
        Ok(())
    }

    pub fn runner_status(&self) -> Result<RunnerStatus, DriverError> {
        let store = self.context.store()?;
        let known = store.membership()?.ok_or(FleetError::NotJoined)?;
        let mut tasks = Vec::new();
        for (task, link) in known.link.tasks() {
            let stored = store.load(&super::engine_task(task))?;
            tasks.push(HeldTask {
                task: task.to_string(),
                acknowledged: link.acknowledged().version.0,
                version: stored.map_or(0, |it| it.task.version),
                is_halted: link.is_halted(),
            });
        }
        Ok(RunnerStatus {
            server: known.server.clone(),
            runner: known.runner.to_string(),
            is_running: self.context.has_runner(),
            is_draining: known.is_draining,
            lease: String::from(match known.phase() {
                Phase::Running => "running",
                Phase::Frozen => "frozen",
                Phase::Expired => "expired",
            }),
            tasks,
        })
    }
}

/// Whether nobody on the network can read what is sent to this address.
fn is_private(address: &str) -> bool {
    if address.starts_with("https://") {
        return true;
    }
    let host = address.strip_prefix("http://").unwrap_or_default();
    let host = host.split('/').next().unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _port)| name);
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

/// The file with the runner's token. Only the user can read it, and no sandbox shows it.
pub(crate) fn token_file(context: &Context) -> PathBuf {
    context.home.path().join("runner/token")
}

/// The file with a code that is being exchanged.
fn exchange_file(context: &Context) -> PathBuf {
    context.home.path().join("runner/exchange.json")
}

fn write_private(path: &Path, text: &str) -> Result<(), FleetError> {
    private_file::write(path, text.as_bytes()).map_err(|error| FleetError::Token {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

pub(super) fn read_token(context: &Context) -> Result<String, DriverError> {
    let path = token_file(context);
    let read = private_file::read(&path, MOST_BYTES).map_err(|error| error.to_string());
    let text = read.and_then(|it| String::from_utf8(it).map_err(|error| error.to_string()));
    let text = text.map_err(|reason| FleetError::Token { path, reason })?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::is_private;

    #[test]
    fn a_token_is_sent_encrypted_or_to_this_machine() {
        for private in [
            "https://box:7878",
            "http://127.0.0.1:7878",
            "http://localhost/",
            "http://[::1]:7878",
        ] {
            assert!(is_private(private), "{private}");
        }
        for open in [
            "http://box:7878",
            "http://127.0.0.1.box",
            "http://127.0.0.1@box",
            "http://localhost:1@box:2",
            "ftp://127.0.0.1",
            "box:7878",
            "",
        ] {
            assert!(!is_private(open), "{open}");
        }
    }
}
