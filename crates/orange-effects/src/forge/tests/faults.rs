//! Every operation × every fault: the expected error, no write sent twice.

use orange_engine::forge::account::Account;
use orange_engine::names::{BranchName, CommitId};

use super::server::{Reply, Server, answer, answer_with};
use super::{client, repository};
use crate::forge::client::Client;
use crate::forge::error::{ForgeError, Trouble};
use crate::forge::github::issues::{self, CloseReason};
use crate::forge::github::pull_requests::{MergeMethod, NewPullRequest, PullRequestEdit};
use crate::forge::github::{Repository, accounts, details, mutations};
use crate::forge::redact::{Outbound, Redactor};

type Run = fn(&mut Client) -> Result<(), ForgeError>;

struct Operation {
    name: &'static str,
    is_write: bool,
    /// Whether the operation parses the answer of a success.
    is_read: bool,
    run: Run,
}

const fn read(name: &'static str, run: Run) -> Operation {
    Operation {
        name,
        is_write: false,
        is_read: true,
        run,
    }
}

const fn write(name: &'static str, is_read: bool, run: Run) -> Operation {
    Operation {
        name,
        is_write: true,
        is_read,
        run,
    }
}

fn text() -> Outbound {
    Redactor::default().body("text")
}

fn in_repository<T>(
    client: &mut Client,
    run: impl FnOnce(&mut Repository<'_>) -> Result<T, ForgeError>,
) -> Result<(), ForgeError> {
    run(&mut Repository::new(client, &repository())).map(drop)
}

const OPERATIONS: &[Operation] = &[
    read("own account", |it| {
        accounts::fetch_own_account(it).map(drop)
    }),
    read("quotas", |it| accounts::fetch_quotas(it).map(drop)),
    read("repository", |it| {
        in_repository(it, |it| it.fetch_repository().map(drop))
    }),
    read("permission", |it| {
        in_repository(it, |it| it.fetch_permission(&Account::new("ada", false)))
    }),
    read("pull requests", |it| {
        in_repository(it, |it| {
            it.fetch_pull_requests_of("ada", &BranchName::new("x"))
        })
    }),
    read("pull request", |it| {
        in_repository(it, |it| it.fetch_pull_request(1))
    }),
    read("issues", |it| {
        in_repository(it, |it| it.fetch_issues(None, None, 1))
    }),
    read("issue", |it| in_repository(it, |it| it.fetch_issue(1))),
    read("issue events", |it| {
        in_repository(it, |it| it.fetch_issue_events(1))
    }),
    read("last edit", |it| {
        issues::fetch_last_edit(it, "I_1").map(drop)
    }),
    read("comments", |it| {
        in_repository(it, |it| it.fetch_comments(1))
    }),
    read("label", |it| in_repository(it, |it| it.fetch_label("x"))),
    read("checks", |it| {
        in_repository(it, |it| it.fetch_checks(&CommitId::new("aaa")))
    }),
    read("runs", |it| {
        in_repository(it, |it| it.fetch_runs(&CommitId::new("aaa")))
    }),
    read("jobs", |it| in_repository(it, |it| it.fetch_jobs(1))),
    read("branch probe", |it| {
        in_repository(it, |it| it.probe_branch(&BranchName::new("x")))
    }),
    read("details", |it| details::fetch_details(it, "PR_1").map(drop)),
    write("create pull request", true, |it| {
        in_repository(it, |it| {
            it.create_pull_request(&NewPullRequest {
                title: text(),
                body: text(),
                head: String::from("x"),
                base: String::from("main"),
                draft: true,
            })
        })
    }),
    write("edit pull request", true, |it| {
        in_repository(it, |it| {
            it.edit_pull_request(1, &PullRequestEdit::default())
        })
    }),
    write("merge", true, |it| {
        let head = CommitId::new("aaa");
        in_repository(it, |it| {
            it.merge_pull_request(1, &head, MergeMethod::Squash, None)
        })
    }),
    write("close issue", true, |it| {
        in_repository(it, |it| it.close_issue(1, CloseReason::Completed))
    }),
    write("comment", true, |it| {
        in_repository(it, |it| it.create_comment(1, &text()))
    }),
    write("edit comment", true, |it| {
        in_repository(it, |it| it.edit_comment(1, &text()))
    }),
    write("delete comment", false, |it| {
        in_repository(it, |it| it.delete_comment(1))
    }),
    write("create label", true, |it| {
        in_repository(it, |it| it.ensure_label(&text(), "ffa500", &text()))
    }),
    write("add labels", false, |it| {
        in_repository(it, |it| it.add_labels(1, &[text()]))
    }),
    write("remove label", false, |it| {
        in_repository(it, |it| it.remove_label(1, "x"))
    }),
    write("rerun", false, |it| {
        in_repository(it, |it| it.rerun_failed_jobs(1))
    }),
    write("mark ready", true, |it| mutations::mark_ready(it, "PR_1")),
    write("enqueue", true, |it| {
        mutations::enqueue(it, "PR_1", &CommitId::new("aaa"))
    }),
    write("linked branch", true, |it| {
        let branch = BranchName::new("x");
        mutations::create_linked_branch(it, "I_1", &CommitId::new("aaa"), &branch)
    }),
];

struct Fault {
    name: &'static str,
    reply: fn() -> Reply,
    is_expected: fn(&Trouble) -> bool,
}

macro_rules! fault {
    ($name:literal, $reply:expr, $expected:pat) => {
        Fault {
            name: $name,
            reply: || $reply,
            is_expected: |trouble| matches!(trouble, $expected),
        }
    };
}

const FAULTS: &[Fault] = &[
    fault!(
        "cut",
        Reply::Cut,
        Trouble::Unreachable {
            may_have_arrived: true,
            ..
        }
    ),
    fault!(
        "cut inside",
        Reply::CutInside,
        Trouble::Unreachable { .. } | Trouble::Malformed { .. }
    ),
    fault!(
        "401",
        answer(401, "{\"message\":\"m\"}"),
        Trouble::Unauthorised { .. }
    ),
    fault!(
        "403",
        answer(403, "{\"message\":\"m\"}"),
        Trouble::Forbidden { .. }
    ),
    fault!(
        "404",
        answer(404, "{\"message\":\"m\"}"),
        Trouble::AbsentOrNotAllowed { .. }
    ),
    fault!(
        "405",
        answer(405, "{\"message\":\"m\"}"),
        Trouble::NotMergeable { .. }
    ),
    fault!(
        "410",
        answer(410, "{\"message\":\"m\"}"),
        Trouble::Gone { .. }
    ),
    fault!(
        "422",
        answer(
            422,
            "{\"message\":\"m\",\"errors\":[{\"code\":\"invalid\"}]}"
        ),
        Trouble::Unprocessable { .. }
    ),
    fault!(
        "429",
        answer_with(429, &[("retry-after", "5")], "{\"message\":\"m\"}"),
        Trouble::QuotaUsedUp { .. }
    ),
    fault!("500", answer(500, ""), Trouble::ServerTrouble { .. }),
    fault!("502", answer(502, "<html>"), Trouble::ServerTrouble { .. }),
    fault!(
        "redirect elsewhere",
        answer_with(307, &[("location", "http://127.0.0.1:1/x")], ""),
        Trouble::Moved { .. }
    ),
    fault!("no JSON", answer(200, "{"), Trouble::Malformed { .. }),
];

#[test]
fn lesson_90_every_fault_is_sorted_and_no_write_is_sent_twice() {
    let mut cases = 0;
    for operation in OPERATIONS {
        for fault in FAULTS {
            let is_silent = !operation.is_read && fault.name == "no JSON";
            if is_silent {
                continue;
            }
            let case = format!("{} × {}", operation.name, fault.name);
            let reply = fault.reply;
            let server = Server::start(move |_| reply());
            let error = (operation.run)(&mut client(&server)).expect_err(&case);
            assert!((fault.is_expected)(&error.trouble), "{case}: {error:?}");
            let sent = server.received();
            assert_eq!(sent.len(), 1, "{case}");
            let is_change = operation.is_write && sent[0].method != "GET";
            assert_eq!(is_change, operation.is_write, "{case}");
            cases += 1;
        }
    }
    assert_eq!(cases, OPERATIONS.len() * FAULTS.len() - 4);
}

#[test]
fn lesson_68_a_merge_names_its_head_and_another_head_is_a_conflict() {
    let server = Server::start(|request| {
        let conflict = answer(409, "{\"message\":\"Head branch was modified\"}");
        let merged = answer(200, "{\"merged\":true,\"sha\":\"ccc\"}");
        let is_head = request.body.contains("\"sha\":\"aaa\"");
        if is_head { merged } else { conflict }
    });
    let mut client = client(&server);
    let mut repository = Repository::new(&mut client, &repository());
    let mut merge = |head: &str| {
        let head = CommitId::new(head);
        repository.merge_pull_request(1, &head, MergeMethod::Squash, None)
    };
    assert_eq!(merge("aaa").unwrap().commit, Some(CommitId::new("ccc")));
    let error = merge("bbb").unwrap_err();
    assert!(matches!(error.trouble, Trouble::Conflict { .. }));
    assert!(!error.may_have_taken_effect());
}
