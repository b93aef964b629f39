//! Codes and tokens: made by an admin, exchanged once, listed, revoked.
//!
//! The client draws its token and sends only the hash of it with the code. So the same exchange may
//! be repeated when an answer is lost, and the server never has the token before its first use.

use std::collections::BTreeSet;

use orange_fleet::chain::Sha;
use orange_fleet::ids::{Label, PersonId, ProjectId, RunnerId};
use orange_fleet::json::Json;
use orange_fleet::time::Period;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::access::{Person, Roles, Secret, SecretKind};
use crate::database::{NewToken, Token};
use crate::http::App;
use crate::http::app::{Input, Labels, PERSON_KIND, RUNNER_KIND};
use crate::http::body::parse;
use crate::http::endpoints::Call;
use crate::http::names::check_name;
use crate::http::refusal::{Answer, Refusal, json_answer};

pub const CODE_KIND_JOIN: &str = "join";
pub const CODE_KIND_PERSON: &str = "invitation";

/// How long codes work.
pub const JOIN_LIFETIME: Period = Period::seconds(15 * 60);
pub const INVITATION_LIFETIME: Period = Period::seconds(24 * 60 * 60);

/// How long the token of a person works.
const PERSON_LIFETIME: Period = Period::seconds(90 * 24 * 60 * 60);

/// Who may use a code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum CodeRequest {
    Runner {
        runner: RunnerId,
        /// Absent for all projects of the organisation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        projects: Option<BTreeSet<ProjectId>>,
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        labels: BTreeSet<Label>,
    },
    Person {
        person: PersonId,
        roles: Roles,
    },
}

/// A code, and the hash of the token that its owner has drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    pub code: String,
    pub token_sha256: Sha,
}

impl CodeRequest {
    /// A new code, and what the database has of it.
    pub fn draw(&self) -> Result<(Secret, NewToken), getrandom::Error> {
        let code = Secret::draw(SecretKind::Code)?;
        let sha = Sha::of(code.reveal().as_bytes());
        let token = match self {
            Self::Runner {
                runner,
                projects,
                labels,
            } => NewToken {
                sha,
                kind: CODE_KIND_JOIN.to_owned(),
                subject: runner.as_str().to_owned(),
                roles: stored(&Labels {
                    labels: labels.clone(),
                }),
                projects: projects.as_ref().map(|it| it.iter().cloned().collect()),
                lifetime: Some(JOIN_LIFETIME),
            },
            Self::Person { person, roles } => NewToken {
                sha,
                kind: CODE_KIND_PERSON.to_owned(),
                subject: person.as_str().to_owned(),
                roles: stored(roles),
                projects: None,
                lifetime: Some(INVITATION_LIFETIME),
            },
        };
        Ok((code, token))
    }

    fn check(&self) -> Result<(), Refusal> {
        match self {
            Self::Runner {
                runner,
                projects,
                labels,
            } => {
                check_name("the runner", runner.as_str())?;
                for project in projects.iter().flatten() {
                    check_name("a project", project.as_str())?;
                }
                for label in labels {
                    check_name("a label", label.as_str())?;
                }
            }
            Self::Person { person, roles } => {
                check_name("the person", person.as_str())?;
                for project in roles.projects.keys() {
                    check_name("a project", project.as_str())?;
                }
            }
        }
        Ok(())
    }
}

fn stored<T: Serialize>(value: &T) -> Json {
    let text = serde_json::to_string(value).ok();
    text.and_then(Json::new).unwrap_or_else(Json::null)
}

impl App {
    pub(super) async fn answer_anyone(&self, call: Call, input: &Input) -> Result<Answer, Refusal> {
        match call {
            Call::Health => json_answer(&json!({ "status": "ok" })),
            Call::Ready => self.ready().await,
            Call::Join => self.exchange(input, CODE_KIND_JOIN).await,
            Call::Login => self.exchange(input, CODE_KIND_PERSON).await,
            _ => Err(Refusal::unauthorized()),
        }
    }

    async fn exchange(&self, input: &Input, kind: &str) -> Result<Answer, Refusal> {
        let call: Exchange = parse(&input.body)?;
        let code = Secret::parse(&call.code).filter(|it| it.kind() == SecretKind::Code);
        let code = code.ok_or_else(Refusal::code_invalid)?;
        let sha = Sha::of(code.reveal().as_bytes());
        let found = self.database.token(&sha).await;
        let found = found.map_err(|it| self.refuse(&it))?;
        let found = found.filter(|it| it.kind == kind);
        let found = found.ok_or_else(Refusal::code_invalid)?;
        let (token_kind, lifetime) = match kind {
            CODE_KIND_JOIN => (RUNNER_KIND, None),
            _ => (PERSON_KIND, Some(PERSON_LIFETIME)),
        };
        let token = NewToken {
            sha: call.token_sha256,
            kind: token_kind.to_owned(),
            subject: found.subject,
            roles: found.roles,
            projects: found.projects,
            lifetime,
        };
        let made = self.database.exchange_token(&sha, kind, &token).await;
        let made = made.map_err(|it| self.refuse(&it))?;
        let made = made.ok_or_else(Refusal::code_invalid)?;
        let whose = match kind {
            CODE_KIND_JOIN => "runner",
            _ => "person",
        };
        json_answer(&json!({
            "org": made.org,
            whose: token.subject,
            "allows": token.roles,
            "projects": token.projects,
        }))
    }

    pub(super) async fn create_code(
        &self,
        admin: &Person,
        input: &Input,
    ) -> Result<Answer, Refusal> {
        let call: CodeRequest = parse(&input.body)?;
        call.check()?;
        let (code, token) = call.draw().map_err(|error| {
            self.report(&format!("cannot draw random numbers: {error}"));
            Refusal::busy("the server has no random numbers; try again")
        })?;
        let stored = self.database.insert_token(&admin.org, &token).await;
        stored.map_err(|it| self.refuse(&it))?;
        json_answer(&json!({
            "code": code.reveal(),
            "seconds": token.lifetime.map(|it| it.0 / 1000),
        }))
    }

    pub(super) async fn tokens(&self, admin: &Person) -> Result<Answer, Refusal> {
        let found = self.database.tokens(&admin.org).await;
        let found = found.map_err(|it| self.refuse(&it))?;
        let rows = found.iter().map(row);
        json_answer(&json!({ "tokens": rows.collect::<Vec<_>>() }))
    }

    pub(super) async fn revoke_token(
        &self,
        admin: &Person,
        input: &Input,
    ) -> Result<Answer, Refusal> {
        let missing = || Refusal::not_found("token");
        let sha = Sha::parse(input.path("sha")).ok_or_else(missing)?;
        let known = self.database.tokens(&admin.org).await;
        let known = known.map_err(|it| self.refuse(&it))?;
        if !known.iter().any(|it| it.sha == sha) {
            return Err(missing());
        }
        let revoked = self.database.revoke_token(&admin.org, &sha).await;
        revoked.map_err(|it| self.refuse(&it))?;
        json_answer(&json!({ "revoked": sha }))
    }
}

fn row(token: &Token) -> serde_json::Value {
    json!({
        "sha256": token.sha,
        "kind": token.kind,
        "subject": token.subject,
        "allows": token.roles,
        "projects": token.projects,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "used_at": token.used_at,
        "revoked_at": token.revoked_at,
    })
}
