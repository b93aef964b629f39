//! Every read, once: it finds what is there and changes nothing.

use std::collections::BTreeSet;

use orange_effects::forge::client::Conditional;
use orange_effects::forge::error::ForgeError;
use orange_effects::forge::github::{accounts, details, glance, issues};
use orange_engine::forge::account::{Account, Permission};
use orange_engine::forge::checks::{CheckOutcome, Rollup};
use orange_engine::forge::issue::IssueEventKind;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pace::ChunkSize;
use orange_engine::forge::pull_request::{Mergeability, ReviewDecision};
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::BranchName;
use orange_engine::time::Timestamp;
use scripted_forge::Protection;

use crate::stage::{ISSUE, PULL, REPOSITORY, Stage, changed};

/// Reads, and compares what was read with the forge.
pub struct Read {
    pub name: &'static str,
    run: fn(&mut Stage) -> Result<(), ForgeError>,
}

fn main_branch() -> BranchName {
    BranchName::new("main")
}

fn read_checks(stage: &mut Stage) -> Result<(), ForgeError> {
    stage
        .forge
        .status(REPOSITORY, PULL, "legacy", "success", "octo");
    let head = stage.head();
    let found = stage.repository().fetch_checks(&head)?;
    let names = found.items.iter().map(|it| (it.name.as_str(), it.outcome));
    let names: Vec<_> = names.collect();
    let expected = [
        ("test", CheckOutcome::Failed),
        ("legacy", CheckOutcome::Passed),
    ];
    assert_eq!((names.as_slice(), found.is_complete), (&expected[..], true));
    Ok(())
}

fn read_glance(stage: &mut Stage) {
    let ids = [stage.pull_id(), stage.forge.node_id(REPOSITORY, ISSUE)];
    let mut chunk = ChunkSize::new(50, Timestamp::from_millis(0));
    let found = glance::fetch_glance(&mut stage.client, &ids, &mut chunk);
    assert_eq!((found.failure, found.requests, found.cost), (None, 1, 1));
    assert_eq!(found.unknown, [ids[1].clone()]);
    let seen = &found.seen[&ids[0]];
    assert_eq!((seen.number, &seen.head), (PULL, &stage.head()));
    assert_eq!(seen.rollup, Knowledge::Known(Rollup::Failure));
    assert_eq!(seen.mergeability, Knowledge::Known(Mergeability::Clean));
    assert_ne!(seen.review, Knowledge::Known(ReviewDecision::Required));
    assert!(found.quota.known().unwrap().remaining < 5000);
}

fn read_details(stage: &mut Stage) -> Result<(), ForgeError> {
    let id = stage.pull_id();
    let found = details::fetch_details(&mut stage.client, &id)?;
    assert_eq!(found.head, stage.head());
    assert_eq!(found.rollup, Knowledge::Known(Rollup::Failure));
    assert!(found.are_checks_complete && found.discussion.is_complete);
    assert_eq!(
        (
            found.checks[0].name.as_str(),
            found.checks[0].group.as_str()
        ),
        ("test", "ci")
    );
    let thread = &found.discussion.threads[0];
    let (id, comment) = stage.thread();
    assert_eq!((&thread.id, thread.is_resolved), (&id, false));
    assert_eq!(thread.comments[0].reply_id, Some(comment));
    assert_eq!(found.discussion.reviews.len(), 2);
    Ok(())
}

fn read_required_checks(stage: &mut Stage) -> Result<(), ForgeError> {
    let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
    // Which branches are protected is hidden behind the answer for one that is not.
    let none = stage.repository().fetch_required_checks(&main_branch())?;
    assert_eq!(none, Knowledge::Unknown);
    let protection = Protection {
        required_checks: names(&["test"]),
        ruleset_checks: names(&["lint"]),
        ..Protection::default()
    };
    stage.forge.protect(REPOSITORY, "main", protection);
    let both = stage.repository().fetch_required_checks(&main_branch())?;
    let expected: BTreeSet<String> = ["lint", "test"].map(String::from).into();
    assert_eq!(both, Knowledge::Known(expected));
    stage
        .forge
        .protect(REPOSITORY, "main", Protection::default());
    Ok(())
}

fn read_issues(stage: &mut Stage) -> Result<(), ForgeError> {
    let mut repository = stage.repository();
    let found = changed(repository.fetch_issues(None, None, 1)?);
    let issues = found.items.iter().filter(|it| !it.is_pull_request);
    let numbers: Vec<u64> = issues.map(|it| it.number).collect();
    assert_eq!(
        (numbers.as_slice(), found.is_complete),
        (&[ISSUE][..], true)
    );
    let again = repository.fetch_issues(None, found.etag.as_deref(), 1)?;
    assert_eq!(again, Conditional::Unchanged);
    Ok(())
}

pub const READS: &[Read] = &[
    Read {
        name: "fetch_own_account",
        run: |it| {
            let own = accounts::fetch_own_account(&mut it.client)?;
            assert_eq!(own, Account::new("octo", false));
            Ok(())
        },
    },
    Read {
        name: "fetch_quotas",
        run: |it| {
            let quotas = accounts::fetch_quotas(&mut it.client)?;
            assert_eq!(
                (quotas["core"].limit, quotas["graphql"].limit),
                (5000, 5000)
            );
            Ok(())
        },
    },
    Read {
        name: "fetch_repository",
        run: |it| {
            let facts = it.repository().fetch_repository()?;
            assert_eq!(facts.full_name, REPOSITORY);
            assert_eq!(facts.default_branch, main_branch());
            assert_eq!(facts.may_push, Knowledge::Known(true));
            let state = (facts.is_archived, facts.has_issues);
            assert_eq!(state, (Knowledge::Known(false), Knowledge::Known(true)));
            Ok(())
        },
    },
    Read {
        name: "fetch_required_checks",
        run: read_required_checks,
    },
    Read {
        name: "fetch_permission",
        run: |it| {
            let mut repository = it.repository();
            let owner = repository.fetch_permission(&Account::new("octo", false))?;
            assert_eq!(owner, Knowledge::Known(Permission::Admin));
            let reader = repository.fetch_permission(&Account::new("ada", false))?;
            assert_eq!(reader, Knowledge::Known(Permission::Read));
            Ok(())
        },
    },
    Read {
        name: "fetch_pull_requests_of",
        run: |it| {
            let branch = BranchName::new("feature");
            let found = it.repository().fetch_pull_requests_of("octo", &branch)?;
            assert_eq!((found.items[0].1.number, found.is_complete), (PULL, true));
            assert_eq!(found.items[0].0.repository.as_deref(), Some(REPOSITORY));
            Ok(())
        },
    },
    Read {
        name: "fetch_pull_request",
        run: |it| {
            let (source, found) = it.repository().fetch_pull_request(PULL)?;
            assert_eq!((found.head, found.id), (it.head(), it.pull_id()));
            assert_eq!(found.state, PullRequestState::Open);
            assert_eq!(source.branch.as_str(), "feature");
            Ok(())
        },
    },
    Read {
        name: "fetch_open_heads",
        run: |it| {
            let found = changed(it.repository().fetch_open_heads(None)?);
            let mut heads = found.items.iter().map(|it| it.branch.as_str());
            assert!(heads.any(|it| it == "feature"), "{found:?}");
            let again = it.repository().fetch_open_heads(found.etag.as_deref())?;
            assert_eq!(again, Conditional::Unchanged);
            Ok(())
        },
    },
    Read {
        name: "probe_branch",
        run: |it| {
            let found = it.repository().probe_branch(&BranchName::new("feature"))?;
            assert_eq!((found.items.len(), found.is_complete), (1, true));
            let none = it.repository().probe_branch(&BranchName::new("second"))?;
            assert_eq!((none.items.len(), none.is_complete), (0, true));
            Ok(())
        },
    },
    Read {
        name: "fetch_issues",
        run: read_issues,
    },
    Read {
        name: "fetch_issue",
        run: |it| {
            let issue = it.repository().fetch_issue(ISSUE)?;
            assert_eq!((issue.title.as_str(), issue.is_open), ("A bug", true));
            assert_eq!(issue.labels, ["bug"]);
            Ok(())
        },
    },
    Read {
        name: "fetch_issue_events",
        run: |it| {
            let events = it.repository().fetch_issue_events(ISSUE)?.items;
            let label = IssueEventKind::Labeled(String::from("bug"));
            assert!(events.iter().any(|it| it.kind == label), "{events:?}");
            Ok(())
        },
    },
    Read {
        name: "fetch_last_edit",
        run: |it| {
            let id = it.forge.node_id(REPOSITORY, ISSUE);
            let edited = issues::fetch_last_edit(&mut it.client, &id)?;
            assert_eq!(edited, Knowledge::None);
            Ok(())
        },
    },
    Read {
        name: "fetch_comments",
        run: |it| {
            let comments = it.repository().fetch_comments(ISSUE)?;
            assert_eq!(comments.items[0].reply_id, Some(it.comment()));
            assert_eq!(comments.items[0].author, Some(Account::new("ada", false)));
            Ok(())
        },
    },
    Read {
        name: "fetch_changed_comments",
        run: |it| {
            let id = it.comment();
            let since = Timestamp::default();
            let found = it.repository().fetch_changed_comments(since, None, 1)?;
            let found = changed(found);
            let listed = found.items.iter().find(|it| it.id == id).unwrap();
            assert_eq!((listed.number, listed.is_by_app), (ISSUE, false));
            assert_eq!(listed.author, Some(Account::new("ada", false)));
            assert_eq!(listed.created, listed.updated);
            let etag = found.etag.as_deref();
            let again = it.repository().fetch_changed_comments(since, etag, 1)?;
            assert_eq!(again, Conditional::Unchanged);
            Ok(())
        },
    },
    Read {
        name: "fetch_label",
        run: |it| {
            assert_eq!(it.repository().fetch_label("BUG")?, "bug");
            Ok(())
        },
    },
    Read {
        name: "fetch_checks",
        run: read_checks,
    },
    Read {
        name: "fetch_runs",
        run: |it| {
            let (head, run) = (it.head(), it.run().0);
            let found = it.repository().fetch_runs(&head)?.items;
            assert_eq!((found[0].id, found[0].attempt), (run, 1));
            assert_eq!(found[0].outcome, CheckOutcome::Failed);
            Ok(())
        },
    },
    Read {
        name: "fetch_jobs",
        run: |it| {
            let run = it.run().0;
            let found = it.repository().fetch_jobs(run)?.items;
            assert_eq!(found[0].failed_steps, ["Run test"]);
            Ok(())
        },
    },
    Read {
        name: "fetch_job_log",
        run: |it| {
            let job = it.run().1;
            let log = it.repository().fetch_job_log(job)?;
            assert_eq!(log.text, "a line\nthe end\n");
            Ok(())
        },
    },
    Read {
        name: "fetch_glance",
        run: |it| {
            read_glance(it);
            Ok(())
        },
    },
    Read {
        name: "fetch_details",
        run: read_details,
    },
];

#[test]
fn every_read_finds_what_is_there_and_changes_nothing() {
    for read in READS {
        let mut stage = Stage::new();
        let before = stage.picture();
        let result = (read.run)(&mut stage);
        assert!(result.is_ok(), "{}: {result:?}", read.name);
        assert!(stage.forge.writes().is_empty(), "{}", read.name);
        // Only what the test itself has set may differ.
        let expected: &[&str] = match read.name {
            "fetch_checks" | "fetch_required_checks" => &[REPOSITORY],
            _ => &[],
        };
        assert_eq!(stage.changes(&before), expected, "{}", read.name);
        stage.forge.finish();
    }
}
