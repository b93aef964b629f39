//! Pull requests and issues in every state that matters.

use scripted_forge::world::merge::{Method, Request};
use scripted_forge::{Forge, Permission, Protection, ReviewState};

/// Without CI and without rules.
const PLAIN: &str = "octo/plain";
/// With a workflow of two jobs.
const CI: &str = "octo/ci";
/// Requires a check and an approval.
const GUARDED: &str = "octo/guarded";
/// Requires that the head contains the newest base.
const STRICT: &str = "octo/strict";
/// Merges through a queue.
const QUEUE: &str = "octo/queue";
/// Renamed at the end; everything asks for its old name.
const OLD: &str = "octo/old";

pub const REPOSITORIES: [&str; 6] = [PLAIN, CI, GUARDED, STRICT, QUEUE, OLD];

/// A pull request or an issue, and where it is.
pub struct State {
    pub name: &'static str,
    pub repository: &'static str,
    pub number: u64,
}

type Change = fn(&Forge, u64);

/// Each pull request is from a branch with the name of its state.
const PULLS: [(&str, &str, Change); 43] = [
    ("clean", PLAIN, |_, _| {}),
    ("draft", PLAIN, |it, number| {
        it.set_draft(PLAIN, number, "octo", true);
    }),
    ("conflict", PLAIN, |it, _| clash(it, "conflict")),
    ("conflicting-draft", PLAIN, |it, number| {
        clash(it, "conflicting-draft");
        it.set_draft(PLAIN, number, "octo", true);
    }),
    ("closed", PLAIN, |it, number| {
        it.close(PLAIN, number, "octo");
    }),
    ("closed-with-its-branch", PLAIN, |it, _| {
        it.delete_branch(PLAIN, "closed-with-its-branch");
    }),
    ("reopened", PLAIN, |it, number| {
        it.close(PLAIN, number, "octo");
        it.reopen(PLAIN, number, "octo");
    }),
    ("merged", PLAIN, |it, number| {
        merge(it, number, Method::Merge);
    }),
    ("squashed", PLAIN, |it, number| {
        merge(it, number, Method::Squash);
    }),
    ("rebased", PLAIN, |it, number| {
        merge(it, number, Method::Rebase);
    }),
    ("merged-and-deleted", PLAIN, |it, number| {
        merge(it, number, Method::Merge);
        it.delete_branch(PLAIN, "merged-and-deleted");
    }),
    ("pushed-again", PLAIN, |it, number| {
        it.review(PLAIN, number, "ada", ReviewState::Approved, "Good.");
        it.commit(PLAIN, "pushed-again", &[("more.txt", "more\n")]);
    }),
    ("edited", PLAIN, |it, number| {
        it.rewrite(PLAIN, number, "octo", "Another title", "A body");
    }),
    ("labelled", PLAIN, |it, number| {
        it.label(PLAIN, number, "octo", "bug");
    }),
    ("unknown", PLAIN, |it, number| {
        it.configure(PLAIN, |repository| {
            let issue = repository.issues.iter().find(|it| it.number == number);
            let pull = issue.and_then(|it| it.pull.as_ref()).unwrap();
            pull.unknown_reads.set(1000);
        });
    }),
    ("commented", PLAIN, |it, number| comment(it, number, "ada")),
    ("commented-by-bot", PLAIN, |it, number| {
        comment(it, number, "renovate");
    }),
    ("commented-by-deleted", PLAIN, |it, number| {
        comment(it, number, "ghost-to-be");
    }),
    ("reviewed", PLAIN, |it, number| {
        review(it, PLAIN, number, ReviewState::Commented);
    }),
    ("approved", PLAIN, |it, number| {
        review(it, PLAIN, number, ReviewState::Approved);
    }),
    ("changes-requested", PLAIN, |it, number| {
        review(it, PLAIN, number, ReviewState::ChangesRequested);
    }),
    ("approved-after-changes", PLAIN, |it, number| {
        review(it, PLAIN, number, ReviewState::ChangesRequested);
        review(it, PLAIN, number, ReviewState::Approved);
    }),
    ("dismissed", PLAIN, |it, number| {
        review(it, PLAIN, number, ReviewState::Dismissed);
    }),
    ("thread", PLAIN, |it, number| {
        it.thread(PLAIN, number, "ada", ("thread.txt", 1), "Why?");
    }),
    ("jobs-queued", CI, |_, _| {}),
    ("job-running", CI, |it, number| {
        it.start_job(CI, number, "test");
    }),
    ("jobs-passed", CI, |it, number| {
        end(it, number, "success", "success");
    }),
    ("job-failed", CI, |it, number| {
        end(it, number, "success", "failure");
    }),
    ("job-cancelled", CI, |it, number| {
        end(it, number, "success", "cancelled");
    }),
    ("job-skipped", CI, |it, number| {
        end(it, number, "success", "skipped");
    }),
    ("job-timed-out", CI, |it, number| {
        end(it, number, "success", "timed_out");
    }),
    ("one-job-running", CI, |it, number| {
        it.finish_job(CI, number, "lint", "success", "");
    }),
    ("check-neutral", PLAIN, |it, number| {
        it.check(PLAIN, number, "scan", Some("neutral"));
    }),
    ("check-needs-action", PLAIN, |it, number| {
        it.check(PLAIN, number, "scan", Some("action_required"));
    }),
    ("status-pending", PLAIN, |it, number| {
        it.status(PLAIN, number, "ci", "pending", "ada");
    }),
    ("status-success", PLAIN, |it, number| {
        it.status(PLAIN, number, "ci", "success", "ada");
    }),
    ("status-error", PLAIN, |it, number| {
        it.status(PLAIN, number, "ci", "error", "ada");
    }),
    ("review-required", GUARDED, |_, _| {}),
    ("check-required", GUARDED, |it, number| {
        review(it, GUARDED, number, ReviewState::Approved);
    }),
    ("allowed", GUARDED, |it, number| {
        review(it, GUARDED, number, ReviewState::Approved);
        it.check(GUARDED, number, "test", Some("success"));
    }),
    ("changes-required", GUARDED, |it, number| {
        review(it, GUARDED, number, ReviewState::ChangesRequested);
        it.check(GUARDED, number, "test", Some("failure"));
    }),
    ("behind", STRICT, |it, _| {
        it.commit(STRICT, "main", &[("newer.txt", "newer\n")]);
    }),
    ("in-the-queue", QUEUE, |it, number| {
        it.change(|world| {
            let id = world.repository("octo", "queue").unwrap().id;
            world.enqueue(id, number, "octo");
        });
    }),
];

const ISSUES: [(&str, Change); 8] = [
    ("open", |_, _| {}),
    ("closed", |it, number| it.close(PLAIN, number, "octo")),
    ("reopened", |it, number| {
        it.close(PLAIN, number, "octo");
        it.reopen(PLAIN, number, "octo");
    }),
    ("edited", |it, number| {
        it.rewrite(PLAIN, number, "octo", "Another", "é 🍊\n- [ ] x");
    }),
    ("labelled", |it, number| {
        it.label(PLAIN, number, "octo", "bug");
        it.label(PLAIN, number, "octo", "agent: claude");
    }),
    ("unlabelled", |it, number| {
        it.label(PLAIN, number, "octo", "bug");
        it.unlabel(PLAIN, number, "octo", "bug");
    }),
    ("locked", |it, number| it.lock(PLAIN, number)),
    ("commented", |it, number| comment(it, number, "ada")),
];

fn clash(forge: &Forge, branch: &str) {
    let file = format!("{branch}-clash.txt");
    forge.commit(PLAIN, branch, &[(&file, "ours\n")]);
    forge.commit(PLAIN, "main", &[(&file, "theirs\n")]);
}

fn merge(forge: &Forge, number: u64, method: Method) {
    let merged = forge.change(|world| {
        let id = world.repository("octo", "plain").unwrap().id;
        let request = Request {
            method,
            title: None,
            message: None,
            by: "octo",
        };
        world.merge(id, number, &request)
    });
    assert!(merged.is_some(), "it conflicts");
}

fn comment(forge: &Forge, number: u64, by: &str) {
    forge.comment(PLAIN, number, by, "See é 🍊");
}

fn review(forge: &Forge, repository: &str, number: u64, state: ReviewState) {
    forge.review(repository, number, "ada", state, "I have read it.");
}

fn end(forge: &Forge, number: u64, lint: &str, test: &str) {
    forge.finish_job(CI, number, "lint", lint, "");
    forge.finish_job(CI, number, "test", test, "");
}

/// The repository, and people who may write to it.
fn set_up(forge: &Forge, repository: &str) {
    forge.repository(repository);
    forge.user("ada");
    forge.allow(repository, "ada", Permission::Write);
    forge.bot("renovate");
    forge.user("ghost-to-be");
    let protection = match repository {
        GUARDED => Protection {
            required_checks: vec![String::from("test")],
            required_approvals: 1,
            ..Protection::default()
        },
        STRICT => Protection {
            strict: true,
            ..Protection::default()
        },
        QUEUE => Protection {
            queue: true,
            ..Protection::default()
        },
        _ => Protection::default(),
    };
    forge.protect(repository, "main", protection);
    if repository == CI {
        forge.workflow(CI, "ci", &["lint", "test"]);
    }
}

/// Makes all states of a repository; returns the pull requests and the issues.
pub fn make(forge: &Forge, repository: &'static str) -> (Vec<State>, Vec<State>) {
    set_up(forge, repository);
    let state = |name, number| State {
        name,
        repository,
        number,
    };
    let mut pulls = Vec::new();
    for (name, _, change) in PULLS.iter().filter(|it| it.1 == repository) {
        let number = forge.pull(repository, name);
        change(forge, number);
        pulls.push(state(name, number));
    }
    let mut issues = Vec::new();
    match repository {
        PLAIN => {
            for (name, change) in ISSUES {
                let number = forge.issue(PLAIN, "octo", "A bug", "It fails.");
                change(forge, number);
                issues.push(state(name, number));
            }
            let number = forge.issue(PLAIN, "ghost-to-be", "By someone", "");
            issues.push(state("author-deleted", number));
            forge.delete_user("ghost-to-be");
            for (name, owner) in [("fork", "eve"), ("deleted-fork", "mallory")] {
                let fork = format!("{owner}/plain");
                forge.fork(PLAIN, owner);
                forge.commit(&fork, name, &[("fork.txt", "from a fork\n")]);
                pulls.push(state(name, forge.pull_from_fork(PLAIN, owner, name)));
            }
            forge.delete_repository("mallory/plain");
        }
        OLD => {
            pulls.push(state("renamed", forge.pull(OLD, "renamed")));
            forge.rename(OLD, "new");
        }
        _ => {}
    }
    (pulls, issues)
}
