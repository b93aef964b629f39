//! What answers requests: the database, the waiting calls, the limits of callers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use orange_fleet::chain::Sha;
use orange_fleet::ids::{Label, OrgId, PersonId, RunnerId};
use serde::{Deserialize, Serialize};

use crate::access::{Caller, Person, Place, Places, Rates, Runner, Scope, Secret, SecretKind};
use crate::database::{Database, DatabaseError, ErrorKind, Token};
use crate::http::body::BodyRoom;
use crate::http::limits::{APPEND_RATE, MOST_WAITING, PERSON_RATE, RUNNER_RATE};
use crate::http::refusal::Refusal;
use crate::metrics::Metrics;
use crate::waiting::Waiting;

/// Shows a message to the operator of the server.
pub type Report = Arc<dyn Fn(&str) + Send + Sync>;

pub struct App {
    pub(super) database: Database,
    pub(super) waiting: Arc<Waiting>,
    pub(super) metrics: Metrics,
    pub(super) room: BodyRoom,
    pub(super) appends: Rates<(OrgId, RunnerId)>,
    people: Rates<(OrgId, PersonId)>,
    waits: Arc<Places<(OrgId, PersonId)>>,
    runners: Rates<(OrgId, RunnerId)>,
    report: Report,
}

impl fmt::Debug for App {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("App").finish_non_exhaustive()
    }
}

/// What a request brings besides its caller.
#[derive(Debug)]
pub struct Input {
    /// The named parts of the path.
    pub path: BTreeMap<String, String>,
    pub query: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Input {
    pub fn path(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }
}

impl App {
    pub fn new(database: Database, waiting: Arc<Waiting>, report: Report) -> Self {
        Self {
            database,
            waiting,
            metrics: Metrics::default(),
            room: BodyRoom::default(),
            appends: Rates::new(APPEND_RATE),
            people: Rates::new(PERSON_RATE),
            waits: Places::new(MOST_WAITING),
            runners: Rates::new(RUNNER_RATE),
            report,
        }
    }

    /// The caller whose token a request has. Every token that does not work is the same.
    pub(super) async fn caller(&self, parts: &Parts) -> Result<Option<Caller>, Refusal> {
        let Some(secret) = secret(parts) else {
            return Ok(None);
        };
        let sha = Sha::of(secret.reveal().as_bytes());
        let found = self.database.token(&sha).await;
        let found = found.map_err(|error| self.refuse(&error))?;
        let token = found.filter(Token::is_valid);
        Ok(token.and_then(|it| caller_of(secret.kind(), it)))
    }

    /// Counts a request of a caller.
    pub(super) fn count(&self, caller: &Caller) -> Result<(), Refusal> {
        let (is_admitted, most) = match caller {
            Caller::Runner(it) => {
                let caller = (it.org.clone(), it.id.clone());
                (self.runners.admit(caller, 1), RUNNER_RATE)
            }
            Caller::Person(it) => {
                let caller = (it.org.clone(), it.id.clone());
                (self.people.admit(caller, 1), PERSON_RATE)
            }
        };
        if is_admitted {
            return Ok(());
        }
        let message = format!("more than {} requests per second", most.0);
        Err(Refusal::too_many(message).hint("wait a second, then continue more slowly"))
    }

    /// A place for a call that waits.
    pub(super) fn place(&self, person: &Person) -> Result<Place<(OrgId, PersonId)>, Refusal> {
        let place = self.waits.take((person.org.clone(), person.id.clone()));
        place.ok_or_else(|| {
            let message = format!("more than {MOST_WAITING} of your calls wait");
            Refusal::too_many(message).hint("let one of them end, or ask without `wait`")
        })
    }

    /// The answer to a call that the database refused or could not make. What only the operator can
    /// do something about is not told to callers.
    pub(super) fn refuse(&self, error: &DatabaseError) -> Refusal {
        match error.kind() {
            ErrorKind::Caller => Refusal::invalid(error.to_string()),
            ErrorKind::TooLarge => Refusal::too_large(error.to_string()),
            ErrorKind::Unavailable => {
                (self.report)(&error.to_string());
                Refusal::busy("the server cannot reach its database; try again")
            }
            ErrorKind::Operator => {
                (self.report)(&error.to_string());
                let message = "the server cannot do this; its operator sees why";
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                Refusal::new(status, "system-failed", message)
            }
        }
    }

    pub fn count_amnesty(&self) {
        self.metrics.count_amnesty();
    }

    pub fn report(&self, message: &str) {
        (self.report)(message);
    }
}

/// The token of a request, if it has exactly one of the right form.
fn secret(parts: &Parts) -> Option<Secret> {
    let mut values = parts.headers.get_all(AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    if values.next().is_some() {
        return None;
    }
    Secret::parse(value.strip_prefix("Bearer ")?)
}

/// A code is no token: it is exchanged for one.
fn caller_of(kind: SecretKind, token: Token) -> Option<Caller> {
    match (kind, token.kind.as_str()) {
        (SecretKind::Runner, RUNNER_KIND) => {
            let scope = scope_of(&token)?;
            Some(Caller::Runner(Runner {
                org: token.org,
                id: RunnerId::new(token.subject),
                scope,
            }))
        }
        (SecretKind::Person, PERSON_KIND) => Some(Caller::Person(Person {
            org: token.org,
            id: PersonId::new(token.subject),
            roles: serde_json::from_str(token.roles.as_str()).ok()?,
        })),
        _ => None,
    }
}

/// The kinds of tokens in the database.
pub const RUNNER_KIND: &str = "runner";
pub const PERSON_KIND: &str = "person";

/// The labels of a runner's token; its projects are a column of their own.
#[derive(Default, Deserialize, Serialize)]
pub struct Labels {
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<Label>,
}

/// What the token of a runner allows.
fn scope_of(token: &Token) -> Option<Scope> {
    let found: Labels = serde_json::from_str(token.roles.as_str()).ok()?;
    let projects = token.projects.as_ref();
    Some(Scope {
        projects: projects.map(|it| it.iter().cloned().collect()),
        labels: found.labels,
    })
}
