//! The real `gh` and orange's client must report the same state.
//!
//! Compared are all the facts that both read. `gh` has no word for a merge queue, for threads and
//! for required checks.

use orange_effects::forge::client::Client;
use orange_effects::forge::github::Repository;
use orange_effects::forge::github::details::{Details, fetch_details};
use orange_effects::forge::github::glance::fetch_glance;
use orange_effects::forge::host::{Host, RepositoryAddress};
use orange_engine::forge::account::Account;
use orange_engine::forge::checks::CheckOutcome;
use orange_engine::forge::feedback::ReviewVerdict;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pace::ChunkSize;
use orange_engine::forge::pull_request::{Mergeability, PullRequest, ReviewDecision};
use orange_engine::language::gates::PullRequestState;
use orange_engine::time::Timestamp;
use scripted_forge::Forge;
use scripted_forge::gh::Gh;
use serde_json::Value;

use crate::gh_states::{REPOSITORIES, State, make};
use crate::stage::{client, environment};

const PULL_FIELDS: &str = "number,state,isDraft,headRefOid,headRefName,headRepository,\
     headRepositoryOwner,baseRefName,mergeable,mergeStateStatus,reviewDecision,statusCheckRollup,\
     reviews,comments";

const ISSUE_FIELDS: &str = "number,title,body,state,labels,author";

/// What is compared about a pull request.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    number: u64,
    state: PullRequestState,
    is_draft: bool,
    head: String,
    branch: String,
    /// The repository of the head; absent when it was deleted.
    source: Option<String>,
    base: String,
    is_mergeable: Option<bool>,
    is_blocked: Option<bool>,
    review: Option<ReviewDecision>,
    /// Each name with its outcome.
    checks: Vec<(String, CheckOutcome)>,
    /// The author, the verdict, the text and the commit.
    reviews: Vec<(Option<String>, ReviewVerdict, String, Option<String>)>,
    comments: Vec<(Option<String>, String)>,
}

/// The author of a review or comment as `gh` prints it: without a name if the account was deleted.
fn gh_author(value: &Value) -> Option<String> {
    let login = value["author"]["login"].as_str().unwrap();
    let login = login.strip_prefix("app/").unwrap_or(login);
    (!login.is_empty()).then(|| login.to_owned())
}

fn text(value: &Value, key: &str) -> String {
    let text = value[key].as_str();
    text.unwrap_or_else(|| panic!("no {key} in {value}"))
        .to_owned()
}

fn list<T>(value: &Value, read: impl Fn(&Value) -> T) -> Vec<T> {
    value.as_array().unwrap().iter().map(read).collect()
}

fn gh_check(value: &Value) -> (String, CheckOutcome) {
    if value["__typename"] == "StatusContext" {
        let outcome = match text(value, "state").as_str() {
            "SUCCESS" => CheckOutcome::Passed,
            "PENDING" => CheckOutcome::Running,
            "FAILURE" | "ERROR" => CheckOutcome::Failed,
            other => panic!("{other}"),
        };
        return (text(value, "context"), outcome);
    }
    let conclusion = text(value, "conclusion");
    let outcome = match (text(value, "status").as_str(), conclusion.as_str()) {
        ("QUEUED" | "IN_PROGRESS", "") => CheckOutcome::Running,
        ("COMPLETED", "SUCCESS" | "NEUTRAL") => CheckOutcome::Passed,
        ("COMPLETED", "SKIPPED") => CheckOutcome::Skipped,
        ("COMPLETED", "CANCELLED") => CheckOutcome::Cancelled,
        ("COMPLETED", "FAILURE" | "TIMED_OUT" | "ACTION_REQUIRED") => CheckOutcome::Failed,
        other => panic!("{other:?}"),
    };
    (text(value, "name"), outcome)
}

fn gh_review(value: &Value) -> (Option<String>, ReviewVerdict, String, Option<String>) {
    let verdict = match text(value, "state").as_str() {
        "APPROVED" => ReviewVerdict::Approved,
        "CHANGES_REQUESTED" => ReviewVerdict::ChangesRequested,
        "COMMENTED" => ReviewVerdict::Commented,
        "DISMISSED" => ReviewVerdict::Dismissed,
        other => panic!("{other}"),
    };
    let commit = value["commit"]["oid"].as_str().map(str::to_owned);
    (gh_author(value), verdict, text(value, "body"), commit)
}

fn gh_pull(value: &Value) -> Seen {
    let owner = value["headRepositoryOwner"]["login"].as_str();
    let repository = value["headRepository"]["name"].as_str();
    let source = owner.zip(repository).filter(|it| !it.1.is_empty());
    let mut checks = list(&value["statusCheckRollup"], gh_check);
    checks.sort();
    Seen {
        number: value["number"].as_u64().unwrap(),
        state: match text(value, "state").as_str() {
            "OPEN" => PullRequestState::Open,
            "CLOSED" => PullRequestState::Closed,
            "MERGED" => PullRequestState::Merged,
            other => panic!("{other}"),
        },
        is_draft: value["isDraft"].as_bool().unwrap(),
        head: text(value, "headRefOid"),
        branch: text(value, "headRefName"),
        source: source.map(|(owner, name)| format!("{owner}/{name}")),
        base: text(value, "baseRefName"),
        is_mergeable: match text(value, "mergeable").as_str() {
            "MERGEABLE" => Some(true),
            "CONFLICTING" => Some(false),
            "UNKNOWN" => None,
            other => panic!("{other}"),
        },
        is_blocked: match text(value, "mergeStateStatus").as_str() {
            "CLEAN" | "UNSTABLE" => Some(false),
            "BLOCKED" | "BEHIND" | "DIRTY" => Some(true),
            "DRAFT" | "UNKNOWN" => None,
            other => panic!("{other}"),
        },
        review: match text(value, "reviewDecision").as_str() {
            "" => None,
            "APPROVED" => Some(ReviewDecision::Approved),
            "CHANGES_REQUESTED" => Some(ReviewDecision::ChangesRequested),
            "REVIEW_REQUIRED" => Some(ReviewDecision::Required),
            other => panic!("{other}"),
        },
        checks,
        reviews: list(&value["reviews"], gh_review),
        comments: list(&value["comments"], |it| (gh_author(it), text(it, "body"))),
    }
}

fn author(account: Option<&Account>) -> Option<String> {
    account.map(|it| it.name().to_owned())
}

/// What orange reads about a pull request, cheaply and in detail.
fn orange_pull(client: &mut Client, forge: &Forge, state: &State) -> (PullRequest, Details) {
    let name = if state.name == "renamed" {
        "octo/new"
    } else {
        state.repository
    };
    let id = forge.node_id(name, state.number);
    let mut chunk = ChunkSize::new(50, Timestamp::default());
    let mut glance = fetch_glance(client, std::slice::from_ref(&id), &mut chunk);
    assert_eq!(glance.failure, None, "{}", state.name);
    let details = fetch_details(client, &id).unwrap();
    assert!(
        details.are_checks_complete && details.discussion.is_complete,
        "{details:?}"
    );
    (glance.seen.remove(&id).unwrap(), details)
}

fn orange_seen(client: &mut Client, forge: &Forge, state: &State) -> Seen {
    let (facts, details) = orange_pull(client, forge, state);
    let (source, rest) = repository(client, state.repository)
        .fetch_pull_request(state.number)
        .unwrap();
    // The two ways to read a pull request agree on what both of them state. About a draft, GraphQL
    // says that it is blocked, and REST only that it is a draft.
    let of_both = |it: &PullRequest| {
        let commits = (it.head.clone(), it.base.clone());
        let is_blocked = (!it.is_draft).then_some(it.is_blocked);
        let merge = (it.mergeability, is_blocked);
        (
            it.id.clone(),
            it.number,
            it.state,
            it.is_draft,
            commits,
            merge,
        )
    };
    assert_eq!(of_both(&facts), of_both(&rest), "{}", state.name);
    assert_eq!(facts.head, details.head, "{}", state.name);
    let checks = details.checks.iter();
    let mut checks: Vec<_> = checks.map(|it| (it.name.clone(), it.outcome)).collect();
    checks.sort();
    let discussion = details.discussion;
    let reviews = discussion.reviews.iter().map(|it| {
        let commit = it.commit.as_ref().map(ToString::to_string);
        (
            author(it.author.as_ref()),
            it.verdict,
            it.body.clone(),
            commit,
        )
    });
    let comments = discussion.comments.iter();
    let comments = comments.map(|it| (author(it.author.as_ref()), it.body.clone()));
    Seen {
        number: facts.number,
        state: facts.state,
        is_draft: facts.is_draft,
        head: facts.head.to_string(),
        branch: source.branch.to_string(),
        source: source.repository,
        base: facts.base.to_string(),
        is_mergeable: facts
            .mergeability
            .known()
            .map(|it| *it == Mergeability::Clean),
        is_blocked: facts.is_blocked.known().copied(),
        review: match facts.review {
            Knowledge::Known(decision) => Some(decision),
            Knowledge::None => None,
            Knowledge::Unknown => panic!("{}: the review is unknown", state.name),
        },
        checks,
        reviews: reviews.collect(),
        comments: comments.collect(),
    }
}

fn repository<'a>(client: &'a mut Client, name: &str) -> Repository<'a> {
    let (owner, name) = name.split_once('/').unwrap();
    let address = RepositoryAddress {
        host: Host::github(),
        owner: owner.to_owned(),
        name: name.to_owned(),
    };
    Repository::new(client, &address)
}

fn compare_issue(client: &mut Client, gh: &Gh, state: &State) {
    let number = state.number.to_string();
    let theirs = gh.json(&[
        "issue",
        "view",
        &number,
        "-R",
        state.repository,
        "--json",
        ISSUE_FIELDS,
    ]);
    let ours = repository(client, state.repository)
        .fetch_issue(state.number)
        .unwrap();
    assert!(!ours.is_pull_request, "{}", state.name);
    let mut labels = list(&theirs["labels"], |it| text(it, "name"));
    labels.sort();
    let mut own_labels = ours.labels.clone();
    own_labels.sort();
    assert_eq!(own_labels, labels, "{}", state.name);
    assert_eq!(
        ours.is_open,
        text(&theirs, "state") == "OPEN",
        "{}",
        state.name
    );
    let own_text = (ours.number, ours.title.clone(), ours.body.clone());
    let their_text = (state.number, text(&theirs, "title"), text(&theirs, "body"));
    assert_eq!(own_text, their_text, "{}", state.name);
    assert_eq!(
        author(ours.author.as_ref()),
        gh_author(&theirs),
        "{}",
        state.name
    );
}

/// Compares every state of a repository, on a forge of its own; returns how many there were.
fn compare_repository(test: &str, repository: &'static str) -> Option<(usize, usize)> {
    let forge = Forge::start();
    forge.unknown_reads(0);
    forge.lift_secondary_limits();
    let gh = Gh::find(test, &forge, &forge.user("octo"))?;
    let mut client = client(&forge, &environment(&forge));
    let (pulls, issues) = make(&forge, repository);
    for state in &pulls {
        let number = state.number.to_string();
        let arguments = [
            "pr",
            "view",
            &number,
            "-R",
            repository,
            "--json",
            PULL_FIELDS,
        ];
        let theirs = gh.json(&arguments);
        let ours = orange_seen(&mut client, &forge, state);
        assert_eq!(ours, gh_pull(&theirs), "{}", state.name);
    }
    for state in &issues {
        compare_issue(&mut client, &gh, state);
    }
    assert!(forge.writes().is_empty());
    // About a deleted fork, GitHub answers what its own description forbids.
    let violations = forge.take_violations();
    let is_known = |it: &String| it.contains("`/head/repo`: null");
    assert!(violations.iter().all(is_known), "{violations:?}");
    let deleted = pulls.iter().filter(|it| it.name == "deleted-fork");
    assert_eq!(violations.len(), deleted.count());
    forge.finish();
    Some((pulls.len(), issues.len()))
}

#[test]
fn gh_and_orange_read_the_same_of_55_states() {
    let test = "gh_and_orange_read_the_same_of_55_states";
    let (mut pulls, mut issues) = (0, 0);
    for repository in REPOSITORIES {
        let Some(compared) = compare_repository(test, repository) else {
            return;
        };
        pulls += compared.0;
        issues += compared.1;
    }
    assert_eq!((pulls, issues), (46, 9));
}
