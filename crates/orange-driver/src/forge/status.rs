//! Whether orange can work with the forge of a project.

use orange_config::Project;
use orange_effects::forge::github::accounts::fetch_quotas;
use orange_effects::forge::host::RepositoryAddress;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::names::ProjectName;
use orange_engine::time::Timestamp;
use orange_store::{Store, StoreError, TaskFilter};
use serde::Serialize;

use crate::DriverError;
use crate::forge::sessions::Session;
use crate::forge::{Forge, ForgeFailure};

/// The quotas that orange uses.
const QUOTAS: [&str; 2] = ["core", "graphql"];

/// The scopes of a classic token, one of which it needs to push, and to read checks and Actions.
/// The second is enough for public repositories.
const NEEDED_SCOPES: [&str; 2] = ["repo", "public_repo"];

/// Whether orange can work with the forge of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ForgeStatus {
    /// The project.
    pub project: ProjectName,
    /// The host; absent if the project has no repository on GitHub.
    pub host: Option<String>,
    /// The repository, as `owner/name`.
    pub repository: Option<String>,
    /// Where the token comes from.
    pub token: Option<String>,
    /// The account that the token belongs to; absent for the token of an app.
    pub account: Option<String>,
    /// Whether the token may push; absent while unknown.
    pub may_push: Option<bool>,
    /// What a classic token allows; absent for other tokens, about which GitHub says nothing.
    pub scopes: Option<Vec<String>>,
    /// What is left of each quota.
    pub quotas: Vec<QuotaStatus>,
    /// How many seconds the forge's clock is ahead of yours.
    pub clock_skew: Option<i64>,
    /// When the forge last answered about the pull requests of the project.
    pub last_look: Option<Timestamp>,
    /// When the forge last said something new about a pull request of the project.
    pub last_news: Option<Timestamp>,
    /// Why orange cannot work with it.
    pub problem: Option<String>,
}

/// What is left of a quota.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct QuotaStatus {
    /// Which one.
    pub kind: String,
    /// How much is left.
    pub remaining: u64,
    /// How much there is in all.
    pub limit: u64,
    /// When all of it is available again.
    pub resets: Timestamp,
}

impl Forge {
    /// Asks the forge of a project whether orange can work with it.
    pub fn status(&self, project: &Project) -> Result<ForgeStatus, DriverError> {
        let address = self.repository(project)?;
        let mut status = ForgeStatus {
            project: project.name.clone(),
            host: address.as_ref().map(|it| it.host.to_string()),
            repository: address.as_ref().map(RepositoryAddress::full_name),
            token: None,
            account: None,
            may_push: None,
            scopes: None,
            quotas: Vec::new(),
            clock_skew: None,
            last_look: address.as_ref().and_then(|it| self.last_look(it)),
            last_news: self.last_news(&project.name)?,
            problem: None,
        };
        let Some(address) = address else {
            return Ok(status);
        };
        let asked = self.with_session(&address.host, |session| {
            let asked = ask(session, &address, &mut status);
            status.clock_skew = session.client.clock_skew();
            status.scopes = session.client.scopes().map(<[String]>::to_vec);
            asked
        });
        match asked {
            Err(ForgeFailure::Driver(error)) => return Err(error),
            asked => status.problem = asked.err().map(|it| it.to_string()),
        }
        Ok(status)
    }

    fn last_news(&self, project: &ProjectName) -> Result<Option<Timestamp>, DriverError> {
        let store = match Store::open_read_only(&self.context.home) {
            Err(StoreError::Missing { .. }) => return Ok(None),
            store => store?,
        };
        let filter = TaskFilter {
            project: Some(project.clone()),
            ..TaskFilter::default()
        };
        let tasks = store.list(&filter)?.tasks;
        let mut last = None;
        for (task, record) in store.pull_requests()? {
            if tasks.iter().any(|it| it.task.id == task) {
                last = last.max(Some(record.as_of));
            }
        }
        Ok(last)
    }
}

fn ask(
    session: &mut Session,
    address: &RepositoryAddress,
    status: &mut ForgeStatus,
) -> Result<(), ForgeFailure> {
    let token = session.client.token();
    let token = token.map_err(ForgeFailure::Token)?;
    status.token = Some(token.origin.to_string());
    let account = session.own_account()?;
    status.account = Some(account.to_string()).filter(|_| !account.name().is_empty());
    let quotas = fetch_quotas(&mut session.client)?;
    let used = quotas.into_iter();
    let used = used.filter(|(kind, _)| QUOTAS.contains(&kind.as_str()));
    status.quotas = used
        .map(|(kind, quota)| QuotaStatus {
            kind,
            remaining: quota.remaining,
            limit: quota.limit,
            resets: quota.resets,
        })
        .collect();
    let repository = session.repository(address).fetch_repository()?;
    status.may_push = match repository.may_push {
        Knowledge::Known(may) => Some(may),
        Knowledge::None | Knowledge::Unknown => None,
    };
    let name = &repository.full_name;
    if repository.is_archived == Knowledge::Known(true) {
        let problem = format!("`{name}` is archived, so nothing can be pushed or merged");
        return Err(ForgeFailure::Unclear(problem));
    }
    if !name.eq_ignore_ascii_case(&address.full_name()) {
        status.repository = Some(name.clone());
    }
    if repository.may_push == Knowledge::Known(false) {
        let problem = format!("the token does not allow to push to `{name}`; use another one");
        return Err(ForgeFailure::Unclear(problem));
    }
    // The permission above is that of the account, and a classic token may allow less.
    let scopes = session.client.scopes();
    if scopes.is_some_and(|it| !it.iter().any(|it| NEEDED_SCOPES.contains(&it.as_str()))) {
        let problem = "the token lacks the scope `repo`; add it, or use another token";
        return Err(ForgeFailure::Unclear(problem.to_owned()));
    }
    Ok(())
}
