//! One forge client per host, and the answers that it remembers.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use orange_config::{ORANGE_CALLER, ORANGE_FORGE_API, clock};
use orange_effects::forge::client::Client;
use orange_effects::forge::error::Trouble;
use orange_effects::forge::github::Repository;
use orange_effects::forge::github::accounts::fetch_own_account;
use orange_effects::forge::host::{ApiBase, Host, RepositoryAddress};
use orange_effects::forge::pacing::Clock;
use orange_effects::forge::token::TokenSource;
use orange_engine::forge::account::{Account, Permission, Permissions};
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pace::{ChunkSize, Heat, PaceSettings, Quota};
use orange_engine::names::{BranchName, TaskId};
use orange_engine::time::Timestamp;

use crate::DriverError;
use crate::forge::{Forge, ForgeFailure};

/// How many pull requests one look asks about.
const LARGEST_CHUNK: usize = 50;

/// For how many seconds a permission or a rule that was read is reused; it may change.
const KNOWN_SECONDS: u64 = 600;

/// The clients of this process, by host.
#[derive(Clone, Default)]
pub(crate) struct Sessions(Arc<Mutex<BTreeMap<Host, Session>>>);

impl fmt::Debug for Sessions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sessions")
    }
}

/// What was spent of each quota, and what is left of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spending {
    spent: BTreeMap<String, u64>,
    left: BTreeMap<String, Quota>,
}

impl Spending {
    /// When to spend as much again as since `before`, so that every quota keeps its share.
    pub(crate) fn next(
        &self,
        before: &Spending,
        settings: &PaceSettings,
        now: Timestamp,
    ) -> Timestamp {
        let kinds = self.left.iter().map(|(kind, left)| {
            let spent = |it: &Spending| it.spent.get(kind).copied().unwrap_or_default();
            let cost = spent(self).saturating_sub(spent(before));
            let quota = Knowledge::Known(*left);
            settings.next_look(Heat::Hot, now, cost, quota).at
        });
        let wanted = settings.next_look(Heat::Hot, now, 1, Knowledge::Unknown).at;
        kinds.fold(wanted, Timestamp::max)
    }
}

/// The checks that a branch requires, and when that was read.
type RequiredChecks = (Knowledge<BTreeSet<String>>, Timestamp);

/// A client, and the answers that it remembers.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) chunk: ChunkSize,
    own: Option<Account>,
    permissions: BTreeMap<(String, Account), (Permission, Timestamp)>,
    required: BTreeMap<(String, BranchName), RequiredChecks>,
}

impl Forge {
    /// Does some work with the client of a host. Other threads wait, because the forge wants one
    /// request at a time.
    pub(crate) fn with_session<T>(
        &self,
        host: &Host,
        work: impl FnOnce(&mut Session) -> Result<T, ForgeFailure>,
    ) -> Result<T, ForgeFailure> {
        if self.context.is_called_by_agent() {
            return Err(ForgeFailure::Agent);
        }
        let sessions = self.sessions.0.lock();
        let mut sessions = sessions.unwrap_or_else(PoisonError::into_inner);
        let session = match sessions.entry(host.clone()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(self.open_session(host)?),
        };
        work(session)
    }

    /// What this process has spent of each quota of a host; nothing if it has not asked yet.
    pub(crate) fn spending(&self, host: &Host) -> Spending {
        let sessions = self.sessions.0.lock();
        let sessions = sessions.unwrap_or_else(PoisonError::into_inner);
        let Some(session) = sessions.get(host) else {
            return Spending::default();
        };
        Spending {
            spent: session.client.spent().clone(),
            left: session.client.quotas().clone(),
        }
    }

    /// Whether this process has no token because an agent's call started it, without the user's
    /// variables.
    pub(crate) fn lacks_token_of_user(&self, task: &TaskId) -> bool {
        if self.context.environment.variable(ORANGE_CALLER).is_none() {
            return false;
        }
        let address = self.context.store().map_err(ForgeFailure::from);
        let address = address.and_then(|store| {
            let stored = store.require(task).map_err(DriverError::from)?;
            let projects = self.context.projects()?;
            let project = projects.require(&stored.task.project);
            Ok(self.repository(project.map_err(DriverError::from)?)?)
        });
        let Ok(Some(address)) = address else {
            return false;
        };
        let asked = self.with_session(&address.host, |session| {
            let token = session.client.token().map(|_| ());
            token.map_err(ForgeFailure::Token)
        });
        matches!(asked, Err(ForgeFailure::Token(_)))
    }

    fn open_session(&self, host: &Host) -> Result<Session, ForgeFailure> {
        let environment = self.context.environment.clone();
        let base = match environment.variable(ORANGE_FORGE_API) {
            Some(address) => ApiBase::loopback(&address.to_string_lossy())?,
            None => host.api(),
        };
        let command = self.context.settings(None)?.forge.token_command;
        let source = TokenSource {
            host: host.clone(),
            named_hosts: self.named_hosts()?,
            command: command.map(|it| vec![String::from("sh"), String::from("-c"), it]),
            environment,
        };
        Ok(Session {
            client: Client::new(source, base, Clock::system()),
            chunk: ChunkSize::new(LARGEST_CHUNK, clock::now()),
            own: None,
            permissions: BTreeMap::new(),
            required: BTreeMap::new(),
        })
    }
}

impl Session {
    pub(crate) fn repository(&mut self, address: &RepositoryAddress) -> Repository<'_> {
        Repository::new(&mut self.client, address)
    }

    /// The account of the token. The token of an app has none; then no comment counts as orange's
    /// own.
    pub(crate) fn own_account(&mut self) -> Result<Account, ForgeFailure> {
        if let Some(own) = &self.own {
            return Ok(own.clone());
        }
        let own = match fetch_own_account(&mut self.client) {
            Ok(own) => own,
            Err(error) => match error.trouble {
                Trouble::Forbidden { .. } | Trouble::AbsentOrNotAllowed { .. } => {
                    Account::new("", true)
                }
                _ => return Err(error.into()),
            },
        };
        Ok(self.own.insert(own).clone())
    }

    /// What each of these accounts may do. Leaves out an account whose permission the forge does
    /// not reveal.
    pub(crate) fn permissions<'a>(
        &mut self,
        address: &RepositoryAddress,
        accounts: impl IntoIterator<Item = &'a Account>,
    ) -> Result<Permissions, ForgeFailure> {
        let now = clock::now();
        let mut permissions = Permissions::new();
        for account in accounts {
            let key = (address.full_name(), account.clone());
            if let Some((permission, at)) = self.permissions.get(&key)
                && now.seconds_since(*at) < KNOWN_SECONDS
            {
                permissions.insert(account.clone(), *permission);
                continue;
            }
            let found = match self.repository(address).fetch_permission(account) {
                Ok(found) => found,
                Err(error) => match error.trouble {
                    Trouble::Forbidden { .. } | Trouble::AbsentOrNotAllowed { .. } => continue,
                    _ => return Err(error.into()),
                },
            };
            if let Knowledge::Known(permission) = found {
                self.permissions.insert(key, (permission, now));
                permissions.insert(account.clone(), permission);
            }
        }
        Ok(permissions)
    }

    /// The checks that a branch requires.
    pub(crate) fn required_checks(
        &mut self,
        address: &RepositoryAddress,
        branch: &BranchName,
    ) -> Result<Knowledge<BTreeSet<String>>, ForgeFailure> {
        let now = clock::now();
        let key = (address.full_name(), branch.clone());
        if let Some((required, at)) = self.required.get(&key)
            && now.seconds_since(*at) < KNOWN_SECONDS
        {
            return Ok(required.clone());
        }
        let required = self.repository(address).fetch_required_checks(branch)?;
        self.required.insert(key, (required.clone(), now));
        Ok(required)
    }
}
