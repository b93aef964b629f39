//! Reads an object with one of our types, and compares the two.

use std::collections::BTreeSet;
use std::fmt::Debug;

use orange_engine::forge::account::Account;
use orange_engine::forge::issue::IssueEventKind;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::CommitId;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::accounts::{PermissionAnswer, Quotas};
use super::super::checks::{CheckRunAnswer, CheckRunsPage, StatusAnswer, StatusPage};
use super::super::comments::{CommentAnswer, ListedAnswer};
use super::super::issues::{EventAnswer, IssueAnswer};
use super::super::labels::LabelAnswer;
use super::super::pull_requests::{MergeAnswer, PullRequestAnswer};
use super::super::repository::{RepositoryAnswer, RequiredChecksAnswer, RuleAnswer};
use super::super::runs::{JobAnswer, JobsPage, RunAnswer, RunsPage};
use super::super::wire::{RestAccount, rest_account};

type Result<T = ()> = std::result::Result<T, String>;

/// One of our types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    Account,
    CheckRun,
    CheckRuns,
    Comment,
    Event,
    Issue,
    Job,
    Jobs,
    Label,
    ListedComment,
    Merge,
    Permission,
    PullRequest,
    Quotas,
    Repository,
    RequiredChecks,
    Rule,
    Run,
    Runs,
    Status,
    Statuses,
}

impl Reader {
    pub fn name(self) -> &'static str {
        match self {
            Reader::Account => "account",
            Reader::CheckRun => "check run",
            Reader::CheckRuns => "check runs",
            Reader::Comment => "comment",
            Reader::Event => "event",
            Reader::Issue => "issue",
            Reader::Job => "job",
            Reader::Jobs => "jobs",
            Reader::Label => "label",
            Reader::ListedComment => "listed comment",
            Reader::Merge => "merge",
            Reader::Permission => "permission",
            Reader::PullRequest => "pull request",
            Reader::Quotas => "quotas",
            Reader::Repository => "repository",
            Reader::RequiredChecks => "required checks",
            Reader::Rule => "rule",
            Reader::Run => "run",
            Reader::Runs => "runs",
            Reader::Status => "status",
            Reader::Statuses => "statuses",
        }
    }

    /// Reads the object; the error says what our type cannot read or reads as something else.
    pub fn read(self, value: &Value) -> Result {
        match self {
            Reader::Account => account(value),
            Reader::CheckRun => check_run(value),
            Reader::CheckRuns => check_runs(value),
            Reader::Comment => comment(value),
            Reader::Event => event(value),
            Reader::Issue => issue(value),
            Reader::Job => job(value),
            Reader::Jobs => jobs(value),
            Reader::Label => label(value),
            Reader::ListedComment => listed_comment(value),
            Reader::Merge => merge(value),
            Reader::Permission => permission(value),
            Reader::PullRequest => pull_request(value),
            Reader::Quotas => quotas(value),
            Reader::Repository => repository(value),
            Reader::RequiredChecks => required_checks(value),
            Reader::Rule => rule(value),
            Reader::Run => run(value),
            Reader::Runs => runs(value),
            Reader::Status => status(value),
            Reader::Statuses => statuses(value),
        }
    }
}

fn answer<T: DeserializeOwned>(value: &Value) -> Result<T> {
    T::deserialize(value).map_err(|error| error.to_string())
}

fn same<T: PartialEq + Debug>(what: &str, ours: T, theirs: T) -> Result {
    let both = [ours, theirs];
    if both[0] == both[1] {
        return Ok(());
    }
    Err(format!(
        "{what}: we read the first, not the second: {both:?}"
    ))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_default()
}

/// The named text of each object of a list.
fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    let list = list.as_array().into_iter().flatten();
    list.map(|it| text(it, key)).collect()
}

fn same_account(ours: Option<&Account>, theirs: &Value) -> Result {
    let login = text(theirs, "login").to_lowercase();
    let is_bot = text(theirs, "type") == "Bot" || login.ends_with("[bot]");
    let name = login.trim_end_matches("[bot]");
    let theirs = (!theirs.is_null()).then_some((name, is_bot));
    same("account", ours.map(|it| (it.name(), it.is_bot())), theirs)
}

fn account(value: &Value) -> Result {
    let found = rest_account(Some(answer::<RestAccount>(value)?));
    same_account(found.as_ref(), value)
}

fn check_run(value: &Value) -> Result {
    let found = answer::<CheckRunAnswer>(value)?.into_facts();
    let app = text(&value["app"], "slug");
    same(
        "check",
        (&*found.name, &*found.group),
        (text(value, "name"), app),
    )?;
    same(
        "start",
        found.started.is_some(),
        value["started_at"].is_string(),
    )
}

fn check_runs(value: &Value) -> Result {
    let found = answer::<CheckRunsPage>(value)?.into_checks();
    let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
    same("checks", names, texts(&value["check_runs"], "name"))
}

fn comment(value: &Value) -> Result {
    let found = answer::<CommentAnswer>(value)?.into_facts();
    same(
        "id",
        (&*found.id, found.reply_id),
        (text(value, "node_id"), value["id"].as_u64()),
    )?;
    same("body", found.body.as_str(), text(value, "body"))?;
    same_account(found.author.as_ref(), &value["user"])
}

fn listed_comment(value: &Value) -> Result {
    let found = answer::<ListedAnswer>(value)?.into_facts();
    let issue = text(value, "issue_url").rsplit('/').next();
    let issue = issue.and_then(|it| it.parse().ok());
    same("issue", Some(found.number), issue)?;
    same("id", found.id, number(value, "id"))?;
    same("body", found.body.as_str(), text(value, "body"))?;
    let is_by_app = !value["performed_via_github_app"].is_null();
    same("app", found.is_by_app, is_by_app)?;
    same_account(found.author.as_ref(), &value["user"])
}

fn event(value: &Value) -> Result {
    let found = answer::<EventAnswer>(value)?.into_facts();
    let label = text(&value["label"], "name").to_owned();
    let kind = match text(value, "event") {
        "labeled" => IssueEventKind::Labeled(label),
        "unlabeled" => IssueEventKind::Unlabeled(label),
        _ => found.kind.clone(),
    };
    same("event", found.kind, kind)?;
    same_account(found.actor.as_ref(), &value["actor"])
}

fn issue(value: &Value) -> Result {
    let found = answer::<IssueAnswer>(value)?.into_facts();
    same(
        "id",
        (&*found.id, found.number),
        (text(value, "node_id"), number(value, "number")),
    )?;
    let texts_of = (text(value, "title"), text(value, "body"));
    same("text", (&*found.title, &*found.body), texts_of)?;
    same("open", found.is_open, value["state"] == "open")?;
    same(
        "pull request",
        found.is_pull_request,
        value["pull_request"].is_object(),
    )?;
    let labels: Vec<&str> = found.labels.iter().map(String::as_str).collect();
    same("labels", labels, texts(&value["labels"], "name"))?;
    same_account(found.author.as_ref(), &value["user"])
}

fn job(value: &Value) -> Result {
    let found = answer::<JobAnswer>(value)?.into_facts();
    same(
        "job",
        (found.id, &*found.name),
        (number(value, "id"), text(value, "name")),
    )?;
    let steps = value["steps"].as_array().into_iter().flatten();
    let failed = steps.filter(|it| it["conclusion"] == "failure");
    same("failed steps", found.failed_steps.len(), failed.count())
}

fn jobs(value: &Value) -> Result {
    let found = answer::<JobsPage>(value)?.into_jobs();
    let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
    same("jobs", names, texts(&value["jobs"], "name"))
}

fn label(value: &Value) -> Result {
    let found = answer::<LabelAnswer>(value)?;
    same("name", found.name.as_str(), text(value, "name"))
}

fn merge(value: &Value) -> Result {
    let found = answer::<MergeAnswer>(value)?;
    same("merged", found.merged, value["merged"] == true)?;
    same(
        "commit",
        found.commit.as_ref().map(CommitId::as_str),
        value["sha"].as_str(),
    )
}

fn permission(value: &Value) -> Result {
    let found = answer::<PermissionAnswer>(value)?.into_facts();
    same("known", matches!(found, Knowledge::Known(_)), true)
}

fn pull_request(value: &Value) -> Result {
    let (source, found) = answer::<PullRequestAnswer>(value)?.into_facts();
    same(
        "id",
        (&*found.id, found.number),
        (text(value, "node_id"), number(value, "number")),
    )?;
    let (head, base) = (&value["head"], &value["base"]);
    same("head", found.head.as_str(), text(head, "sha"))?;
    same("branch", source.branch.as_str(), text(head, "ref"))?;
    let repository = source.repository.as_deref();
    same("repository", repository, head["repo"]["full_name"].as_str())?;
    same("base", found.base.as_str(), text(base, "ref"))?;
    same("draft", found.is_draft, value["draft"] == true)?;
    let state = match (value["merged_at"].is_string(), text(value, "state")) {
        (true, _) => PullRequestState::Merged,
        (false, "closed") => PullRequestState::Closed,
        (false, _) => PullRequestState::Open,
    };
    same("state", found.state, state)
}

fn quotas(value: &Value) -> Result {
    let found = answer::<Quotas>(value)?.into_facts();
    let theirs = value["resources"].as_object().into_iter().flatten();
    for (name, theirs) in theirs {
        let ours = found.get(name).map(|it| (it.limit, it.remaining));
        let theirs = (number(theirs, "limit"), number(theirs, "remaining"));
        same(name, ours, Some(theirs))?;
    }
    Ok(())
}

fn repository(value: &Value) -> Result {
    let found = answer::<RepositoryAnswer>(value)?.into_facts();
    same("id", found.id, number(value, "id"))?;
    same("name", found.full_name.as_str(), text(value, "full_name"))?;
    let branch = found.default_branch.as_str();
    same("default branch", branch, text(value, "default_branch"))?;
    let push = found.may_push.known().copied();
    same("push", push, value["permissions"]["push"].as_bool())
}

fn required_checks(value: &Value) -> Result {
    let found = answer::<RequiredChecksAnswer>(value)?.into_names();
    let contexts = value["contexts"].as_array().into_iter().flatten();
    let contexts = contexts.filter_map(Value::as_str);
    let theirs = contexts.chain(texts(&value["checks"], "context"));
    same(
        "checks",
        found.iter().map(String::as_str).collect(),
        theirs.collect::<BTreeSet<_>>(),
    )
}

fn rule(value: &Value) -> Result {
    let found = answer::<RuleAnswer>(value)?.into_names();
    let names: Vec<&str> = found.iter().map(String::as_str).collect();
    let checks = &value["parameters"]["required_status_checks"];
    same("checks", names, texts(checks, "context"))
}

fn run(value: &Value) -> Result {
    let found = answer::<RunAnswer>(value)?.into_facts();
    same(
        "run",
        (found.id, &*found.name),
        (number(value, "id"), text(value, "name")),
    )?;
    same("commit", found.commit.as_str(), text(value, "head_sha"))?;
    same(
        "attempt",
        found.attempt,
        value["run_attempt"].as_u64().unwrap_or(1),
    )
}

fn runs(value: &Value) -> Result {
    let found = answer::<RunsPage>(value)?.into_runs();
    let commits: Vec<&str> = found.iter().map(|it| it.commit.as_str()).collect();
    same("runs", commits, texts(&value["workflow_runs"], "head_sha"))
}

fn status(value: &Value) -> Result {
    let found = answer::<StatusAnswer>(value)?.into_facts();
    same("context", found.name.as_str(), text(value, "context"))?;
    same(
        "time",
        found.started.is_some(),
        value["created_at"].is_string(),
    )
}

fn statuses(value: &Value) -> Result {
    let found = answer::<StatusPage>(value)?.into_checks();
    let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
    same("statuses", names, texts(&value["statuses"], "context"))
}
