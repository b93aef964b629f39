//! Shows the policy of a repository, and allows or revokes it.

use orange_config::{Environment, PolicyRule, Setting, SettingOrigin, Value, policy_keys};
use orange_driver::{Driver, PolicyProposal};
use orange_engine::names::{BranchName, CommitId, ProjectName};
use serde::Serialize;

use super::page;
use crate::cli::request::requests::{Consent, ask_consent, driver};
use crate::cli::{Error, Exit, Shape, narrate_hint};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.policy/1");

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    project: &'a ProjectName,
    outcome: Outcome,
    /// The policy; absent if one was revoked.
    policy: Option<PolicyBody<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "PolicyOutcome")]
enum Outcome {
    /// It is used from now on.
    Allowed,
    /// You had allowed this very policy.
    Already,
    /// It was only shown: `--yes` is missing.
    NotConfirmed,
    /// The one that you had allowed is not used any more.
    Revoked,
    /// None was allowed.
    NoneAllowed,
}

#[derive(Serialize, schemars::JsonSchema)]
struct PolicyBody<'a> {
    branch: &'a BranchName,
    commit: &'a CommitId,
    hash: &'a str,
    /// What it sets.
    settings: Vec<PolicySetting<'a>>,
    workflows: Vec<PolicyWorkflowBody<'a>>,
}

/// A setting of a policy.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct PolicySetting<'a> {
    pub(super) key: &'a str,
    pub(super) value: &'a Value,
    /// Whether you set it yourself, so that your value counts.
    pub(super) is_overridden: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct PolicyWorkflowBody<'a> {
    name: &'a str,
    text: &'a str,
}

/// What to do with the policy of a project.
#[derive(Clone, Copy, Debug)]
pub struct PolicyOptions<'a> {
    pub project: Option<&'a str>,
    pub is_confirmed: bool,
    /// The hash that it must have, or the beginning of it.
    pub hash: Option<&'a str>,
    pub revokes: bool,
}

pub fn run(
    options: PolicyOptions<'_>,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let name = options.project.map(ProjectName::new);
    let project = driver.callers.project_for(name.as_ref())?;
    if options.revokes {
        let outcome = if driver.admin.revoke_policy(&project.name)? {
            Outcome::Revoked
        } else {
            Outcome::NoneAllowed
        };
        return print(&project.name, outcome, None, output);
    }
    let proposal = driver.admin.propose_policy(&project)?;
    if let Some(hash) = options.hash {
        proposal.require_hash(hash)?;
    }
    let settings = driver.context.settings(Some(&project));
    let settings = settings.map(|it| it.all().to_vec()).unwrap_or_default();
    let settings = policy_settings(&proposal, &settings);
    if !output.is_json() {
        output.answer(&page::text(&proposal, &settings))?;
    }
    if proposal.is_allowed() {
        let body = output.is_json().then(|| body(&proposal, settings));
        return print(&project.name, Outcome::Already, body, output);
    }
    if !options.is_confirmed {
        let question = format!("Allow this policy for project {}?", project.name);
        match ask_consent(&question, output)? {
            Consent::Given => {}
            Consent::Denied => return Err(not_confirmed(&proposal, "you answered no")),
            Consent::NotAsked if output.is_json() => {
                let body = body(&proposal, settings);
                print(&project.name, Outcome::NotConfirmed, Some(body), output)?;
                return Ok(Exit::Refused);
            }
            Consent::NotAsked => {
                let (name, hash) = (&project.name, page::short_hash(&proposal));
                let hint = format!("run `orange allow --project {name} --yes --hash {hash}`");
                let error = not_confirmed(&proposal, "this needs your confirmation");
                return Err(error.hint(hint));
            }
        }
    }
    allow(&driver, &proposal, settings, output)
}

fn allow(
    driver: &Driver,
    proposal: &PolicyProposal,
    settings: Vec<PolicySetting<'_>>,
    output: &mut Output,
) -> Result<Exit, Error> {
    driver.admin.allow_policy(proposal)?;
    let body = output.is_json().then(|| body(proposal, settings));
    let exit = print(&proposal.project.name, Outcome::Allowed, body, output)?;
    let hint = "new tasks use it; tasks keep the workflow that they were created with";
    narrate_hint(hint, output);
    Ok(exit)
}

fn print(
    project: &ProjectName,
    outcome: Outcome,
    policy: Option<PolicyBody<'_>>,
    output: &mut Output,
) -> Result<Exit, Error> {
    if output.is_json() {
        let body = Body {
            project,
            outcome,
            policy,
        };
        return SHAPE.print(&body, output);
    }
    let message = match outcome {
        Outcome::Allowed => "policy allowed",
        Outcome::Already => "this policy is already allowed",
        Outcome::NotConfirmed => "policy not allowed",
        Outcome::Revoked => "policy revoked; it is not used any more",
        Outcome::NoneAllowed => "no policy was allowed",
    };
    let mut text = Text::new();
    text.push(Style::Bold, project.as_str());
    text.push(Style::Plain, &format!(": {message}"));
    text.end_line();
    output.answer(&text)?;
    Ok(Exit::Ok)
}

/// What the policy sets, and which of it the user sets too.
fn policy_settings<'a>(
    proposal: &'a PolicyProposal,
    current: &[Setting],
) -> Vec<PolicySetting<'a>> {
    let settings = proposal.policy.values().map(|(key, value)| {
        let setting = current.iter().find(|it| it.key == key);
        let rule = policy_keys().find(|it| it.name == key).map(|it| it.policy);
        let is_overridden = setting.is_some_and(|setting| match setting.origin {
            SettingOrigin::Environment { .. } | SettingOrigin::Project { .. } => true,
            SettingOrigin::File { .. } => match rule {
                Some(PolicyRule::Stricter) => !proposal.is_stricter(key, setting.value.as_ref()),
                _ => true,
            },
            SettingOrigin::Policy { .. } | SettingOrigin::Default => false,
        });
        PolicySetting {
            key,
            value,
            is_overridden,
        }
    });
    settings.collect()
}

fn body<'a>(proposal: &'a PolicyProposal, settings: Vec<PolicySetting<'a>>) -> PolicyBody<'a> {
    let workflows = proposal.policy.workflows().iter();
    PolicyBody {
        branch: &proposal.project.default_branch,
        commit: &proposal.committed.commit,
        hash: &proposal.committed.hash,
        settings,
        workflows: workflows
            .map(|it| PolicyWorkflowBody {
                name: &it.name,
                text: &it.text,
            })
            .collect(),
    }
}

fn not_confirmed(proposal: &PolicyProposal, reason: &str) -> Error {
    let name = &proposal.project.name;
    let message = format!("cannot allow the policy of project `{name}`: {reason}");
    Error::new(Exit::Refused, "not-confirmed", message)
}
