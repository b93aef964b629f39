//! Merged commits were reviewed, and done tasks are merged.
//!
//! Commits, edits, verdicts and merges come in any order, by any role. After every step each commit
//! of the default branch is the user's own, part of a commit that was passed or named, or made by
//! orange from exactly such a commit; and a task that is done has its commit there. `REVIEWED_RUNS`
//! sets how many random histories are tried.

use std::collections::BTreeSet;
use std::fs;

use orange_driver::{Answer, TaskRequest, WaitPolicy};
use orange_engine::effect::{Effect, MergeStrategy};
use orange_engine::event::Fact;
use orange_engine::input::{Request, RequestKind};
use orange_engine::names::{CommitId, Status, TaskId};
use orange_engine::role::Role;
use orange_engine::task::Workspace;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::home_fixture::HomeFixture;

const RUNS: u32 = 20;

#[derive(Clone, Copy, Debug)]
enum Step {
    Commit,
    Edit,
    Ignore,
    TidyUp,
    Rewind,
    Handoff(Caller),
    Verdict(Caller, bool, NamedCommit),
    RequestChanges,
    CommitToMain,
    MergeByHand,
    Merge(MergeStrategy, NamedCommit, bool),
    Cancel,
}

#[derive(Clone, Copy, Debug)]
enum Caller {
    Worker,
    Reviewer,
    Human,
}

/// Which commit a request names.
#[derive(Clone, Copy, Debug)]
enum NamedCommit {
    None,
    Head,
    Parent,
    Main,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let caller = prop_oneof![
        2 => Just(Caller::Worker),
        3 => Just(Caller::Reviewer),
        1 => Just(Caller::Human),
    ];
    let named = prop_oneof![
        5 => Just(NamedCommit::None),
        2 => Just(NamedCommit::Head),
        1 => Just(NamedCommit::Parent),
        1 => Just(NamedCommit::Main),
    ];
    let strategy = prop_oneof![
        Just(MergeStrategy::Auto),
        Just(MergeStrategy::Ff),
        Just(MergeStrategy::Merge),
        Just(MergeStrategy::Rebase),
        Just(MergeStrategy::Squash),
    ];
    let step = prop_oneof![
        6 => Just(Step::Commit),
        1 => Just(Step::Edit),
        1 => Just(Step::Ignore),
        2 => Just(Step::TidyUp),
        1 => Just(Step::Rewind),
        5 => caller.clone().prop_map(Step::Handoff),
        5 => (caller, prop::bool::weighted(0.8), named.clone())
            .prop_map(|(caller, passes, named)| Step::Verdict(caller, passes, named)),
        1 => Just(Step::RequestChanges),
        1 => Just(Step::CommitToMain),
        1 => Just(Step::MergeByHand),
        6 => (strategy, named, any::<bool>())
            .prop_map(|(strategy, named, confirmed)| Step::Merge(strategy, named, confirmed)),
    ];
    // Most histories begin with a review, or too few would reach a merge.
    let reviewed = vec![
        Step::Commit,
        Step::Handoff(Caller::Worker),
        Step::Verdict(Caller::Reviewer, true, NamedCommit::None),
    ];
    let opening = prop_oneof![1 => Just(Vec::new()), 3 => Just(reviewed)];
    (opening, prop::collection::vec(step, 6..22))
        .prop_map(|(opening, rest)| opening.into_iter().chain(rest).collect())
}

struct TaskRun<'a> {
    fixture: &'a HomeFixture,
    id: TaskId,
    branch: String,
    count: usize,
    /// Commits that a reviewer passed or the user named.
    vouched: BTreeSet<String>,
    /// Commits of the default branch that the user made or merged by hand.
    own: BTreeSet<String>,
}

impl<'a> TaskRun<'a> {
    fn begin(fixture: &'a HomeFixture, number: usize) -> TaskRun<'a> {
        let branch = format!("fix-{number}");
        let id = fixture.create(Some(&branch));
        let run = TaskRun {
            fixture,
            id,
            branch,
            count: 0,
            vouched: BTreeSet::new(),
            own: commits(fixture),
        };
        let answer = run.ask(
            Role::Human,
            RequestKind::Move {
                to: status("working"),
            },
            None,
            false,
        );
        assert!(matches!(answer, Answer::Done(_)), "{answer:?}");
        run
    }

    fn git(&self, arguments: &[&str]) -> String {
        let repo = &self.fixture.repo;
        repo.git(&repo.slot(), arguments).trim().to_owned()
    }

    fn try_git(&self, arguments: &[&str]) {
        let repo = &self.fixture.repo;
        let _whatever = repo.try_git(&repo.slot(), arguments);
    }

    fn head(&self) -> String {
        let repo = &self.fixture.repo;
        repo.git(
            &repo.app(),
            &["rev-parse", &format!("refs/heads/{}", self.branch)],
        )
        .trim()
        .to_owned()
    }

    fn commit(&self, named: NamedCommit) -> Option<String> {
        let repo = &self.fixture.repo;
        let text = match named {
            NamedCommit::None => return None,
            NamedCommit::Head => return Some(self.head()),
            // The first commit of a repository has no parent.
            NamedCommit::Parent => format!("--max-count=2 refs/heads/{}", self.branch),
            NamedCommit::Main => String::from("--max-count=1 refs/heads/main"),
        };
        let words = ["rev-list"].into_iter().chain(text.split(' '));
        let found = repo.git(&repo.app(), &words.collect::<Vec<_>>());
        found.lines().last().map(str::to_owned)
    }

    fn ask(&self, by: Role, ask: RequestKind, head: Option<&String>, confirmed: bool) -> Answer {
        let request = TaskRequest {
            task: self.id.clone(),
            request: Request {
                by,
                kind: ask,
                is_confirmed: confirmed,
                message: None,
                head: head.map(CommitId::new),
                if_version: None,
            },
            waiting: WaitPolicy::Here,
        };
        self.fixture.driver().requests.ask(&request).unwrap()
    }

    fn write(&mut self, section: &str, text: &str) {
        self.count += 1;
        let path = self.fixture.repo.slot().join("TASK.md");
        let mut file = fs::read_to_string(&path).unwrap();
        let step = self.count;
        file += &[
            "\n## ",
            section,
            "\n\n",
            text,
            "\n\nStep ",
            &step.to_string(),
            ".\n",
        ]
        .concat();
        fs::write(path, file).unwrap();
    }

    fn apply(&mut self, step: Step) {
        let slot = self.fixture.repo.slot();
        self.count += 1;
        let number = self.count;
        match step {
            Step::Commit => {
                fs::write(
                    slot.join(format!("work-{}-{number}", self.branch)),
                    "work\n",
                )
                .unwrap();
                self.git(&["add", "-A"]);
                self.git(&["commit", "-qm", &format!("work {number}")]);
            }
            Step::Edit => fs::write(
                slot.join(format!("loose-{}-{number}", self.branch)),
                "loose\n",
            )
            .unwrap(),
            Step::Ignore => fs::write(slot.join(".gitignore"), "loose-*\n.gitignore\n").unwrap(),
            Step::TidyUp => self.try_git(&["clean", "-fdq"]),
            Step::Rewind => self.try_git(&["reset", "-q", "--hard", "HEAD~1"]),
            Step::Handoff(by) => {
                self.write("Handoff", "DONE: it");
                self.ask(
                    role(by),
                    RequestKind::Move {
                        to: status("agent-review"),
                    },
                    None,
                    false,
                );
            }
            Step::Verdict(by, passes, named) => {
                let (verdict, to) = if passes {
                    ("PASS", "reviewing")
                } else {
                    ("FAIL", "working")
                };
                self.write("Review", &format!("Verdict: {verdict}"));
                let (head, named) = (self.head(), self.commit(named));
                let answer = self.ask(
                    role(by),
                    RequestKind::Move { to: status(to) },
                    named.as_ref(),
                    false,
                );
                if passes && matches!(answer, Answer::Done(_)) {
                    self.vouched.insert(head);
                }
            }
            Step::RequestChanges => {
                self.ask(
                    Role::Human,
                    RequestKind::Move {
                        to: status("working"),
                    },
                    None,
                    false,
                );
            }
            Step::CommitToMain => {
                let app = self.fixture.repo.app();
                fs::write(app.join(format!("own-{number}-{}", self.branch)), "own\n").unwrap();
                self.fixture.repo.git(&app, &["add", "-A"]);
                self.fixture.repo.git(&app, &["commit", "-qm", "own"]);
                self.own.extend(commits(self.fixture));
            }
            Step::MergeByHand => {
                let repo = &self.fixture.repo;
                repo.git(&repo.app(), &["merge", "-q", "--no-edit", &self.branch]);
                self.own.extend(commits(self.fixture));
            }
            Step::Merge(strategy, named, confirmed) => self.merge(strategy, named, confirmed),
            Step::Cancel => {
                let cancel = RequestKind::Move {
                    to: status("cancelled"),
                };
                self.ask(Role::Human, cancel, None, false);
            }
        }
    }

    fn merge(&mut self, strategy: MergeStrategy, named: NamedCommit, confirmed: bool) {
        let before = self.fixture.task(&self.id);
        let (head, named) = (self.head(), self.commit(named));
        let ask = RequestKind::Merge {
            strategy: Some(strategy),
            local: true,
            only_head: named.is_some(),
        };
        let answer = self.ask(Role::Human, ask, named.as_ref(), confirmed);
        // A commit that the user names, or merges without a handoff, counts as reviewed by the
        // user.
        let is_refused = matches!(answer, Answer::Refused(_));
        match (named, before.submission) {
            (Some(named), _) if !is_refused => {
                self.vouched.insert(named);
            }
            (None, None) if !is_refused => {
                self.vouched.insert(head);
            }
            // An unreviewed handoff is merged only when the user confirms that commit.
            (None, Some(submission)) if !is_refused && submission.passed_by.is_none() => {
                assert!(confirmed || before.status.as_str() == "reviewing");
                assert_eq!(submission.commit.as_str(), head);
                self.vouched.insert(head);
            }
            _ => {}
        }
    }

    /// Whether a commit makes the same changes as one that was vouched for, or that one of those
    /// contains.
    fn is_replayed(&self, commit: &str) -> bool {
        let repo = &self.fixture.repo;
        let app = repo.app();
        let vouched: Vec<&str> = self.vouched.iter().map(String::as_str).collect();
        vouched.iter().any(|vouched| {
            let cherry = repo.git(&app, &["cherry", vouched, commit, &format!("{commit}^")]);
            !cherry.is_empty() && cherry.lines().all(|line| line.starts_with("- "))
        })
    }

    fn check(&self, step: Step) {
        let repo = &self.fixture.repo;
        let app = repo.app();
        let mut allowed = self.own.clone();
        for commit in &self.vouched {
            allowed.extend(lines(&repo.git(&app, &["rev-list", commit])));
        }
        for commit in commits(self.fixture) {
            if allowed.contains(&commit) || self.is_replayed(&commit) {
                continue;
            }
            let made_of = [
                "log",
                "-1",
                "--format=%(trailers:key=Orange-Head,valueonly)",
                &commit,
            ];
            let made_of = repo.git(&app, &made_of).trim().to_owned();
            assert!(
                self.vouched.contains(&made_of),
                "{step:?} brought {commit} of `{made_of}`, which no reviewer passed: {:?}\n{}",
                self.vouched,
                self.fixture.diagnostics(&self.id)
            );
        }
        let task = self.fixture.task(&self.id);
        if task.status.as_str() != "done" {
            return;
        }
        let events = self.fixture.store().events(&self.id, 0).unwrap();
        let merged = events.iter().rev().find_map(|it| match &it.event.fact {
            Fact::EffectPlanned(planned) => match &planned.effect {
                Effect::Merge(merge) => Some(merge.head.to_string()),
                _ => None,
            },
            _ => None,
        });
        let merged = merged.unwrap_or_else(|| panic!("done without a merge"));
        assert!(
            self.vouched.contains(&merged),
            "{}",
            self.fixture.diagnostics(&self.id)
        );
        let main = commits(self.fixture);
        let squashed = format!("Orange-Head: {merged}");
        let log = repo.git(&app, &["log", "--format=%B", "main"]);
        assert!(
            main.contains(&merged) || log.contains(&squashed),
            "{merged} is not in main\n{}",
            self.fixture.diagnostics(&self.id)
        );
    }
}

fn role(caller: Caller) -> Role {
    match caller {
        Caller::Worker => Role::Worker,
        Caller::Reviewer => Role::Reviewer,
        Caller::Human => Role::Human,
    }
}

fn status(name: &str) -> Status {
    Status::new(name)
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn commits(fixture: &HomeFixture) -> BTreeSet<String> {
    let repo = &fixture.repo;
    lines(&repo.git(&repo.app(), &["rev-list", "main"]))
        .into_iter()
        .collect()
}

#[test]
fn laws_merged_work_was_reviewed_and_done_work_is_merged() {
    let runs = std::env::var("REVIEWED_RUNS").ok();
    let runs = runs.map_or(RUNS, |runs| runs.parse().unwrap());
    let fixture = HomeFixture::new(1);
    fs::write(
        fixture.repo.path("workflows/reviewed.yml"),
        include_str!("reviewed.yml"),
    )
    .unwrap();
    fixture.configure("workflow", &"reviewed".into());
    let number = std::cell::Cell::new(0);
    let ends = std::cell::RefCell::new(std::collections::BTreeMap::new());
    let config = Config {
        cases: runs,
        // The histories follow each other in one repository, so a shrunk one would start elsewhere.
        max_shrink_iters: 0,
        failure_persistence: None,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&steps(), |steps| {
        number.set(number.get() + 1);
        let mut run = TaskRun::begin(&fixture, number.get());
        for step in steps.into_iter().chain([Step::Cancel]) {
            run.apply(step);
            run.check(step);
            if run.fixture.task(&run.id).status.as_str() == "done" {
                break;
            }
        }
        let ended = run.fixture.task(&run.id);
        // A cancel finishes a merge that the user has made by hand since it failed.
        assert!(
            ["done", "cancelled"].contains(&ended.status.as_str())
                && ended.workspace == Workspace::None
                && ended.pending.is_empty(),
            "{}",
            run.fixture.diagnostics(&run.id)
        );
        *ends
            .borrow_mut()
            .entry(ended.status.to_string())
            .or_insert(0) += 1;
        Ok(())
    });
    result.unwrap();
    // The property would be empty if hardly any task were merged.
    let ends = ends.borrow();
    assert!(
        ends.get("done").copied().unwrap_or(0) * 10 >= runs,
        "{ends:?}"
    );
}
