//! The client against a real scratch repository, when variables name one.
//!
//! | variable | |
//! |---|---|
//! | `ORANGE_LIVE_REPOSITORY` | `owner/name`, or `host/owner/name`: a repository that may be written to |
//! | `ORANGE_LIVE_TOKEN` | a token that may push to it and open pull requests |
//! | `ORANGE_LIVE_API`, `ORANGE_LIVE_REMOTE` | other addresses, for the scripted GitHub |
//!
//! The test reads, pushes a branch, opens a draft, comments on it, closes it and deletes the
//! branch. The same code always runs against the scripted GitHub.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use orange_config::{Environment, clock};
use orange_effects::forge::client::Client;
use orange_effects::forge::github::pull_requests::{NewPullRequest, PullRequestEdit};
use orange_effects::forge::github::{Repository, accounts, details, glance, issues};
use orange_effects::forge::host::{ApiBase, RepositoryAddress, read_remote};
use orange_effects::forge::pacing::Clock;
use orange_effects::forge::token::TokenSource;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pace::ChunkSize;
use orange_engine::forge::pull_request::PullRequest;
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::{BranchName, CommitId};
use tempfile::TempDir;

use crate::stage::{REPOSITORY, Stage, changed, text};

const TOKEN: &str = "ORANGE_LIVE_TOKEN";

/// What git asks for a login. The token is in its environment and in no argument.
const HELPER: &str = "credential.helper=!f() { echo username=x-access-token; \
    echo \"password=$ORANGE_LIVE_TOKEN\"; }; f";

/// GitHub shows a write to later reads only after a while.
const PATIENCE: Duration = Duration::from_mins(1);

/// The repository, and a folder with a clone of it.
struct Live {
    client: Client,
    address: RepositoryAddress,
    remote: String,
    environment: Environment,
    folder: TempDir,
}

impl Live {
    fn new(environment: &Environment) -> Live {
        let read = |name: &str| {
            let value = environment.variable(name)?;
            Some(value.to_str().unwrap().to_owned())
        };
        let require = |name: &str| read(name).unwrap_or_else(|| panic!("`{name}` is not set"));
        let name = require("ORANGE_LIVE_REPOSITORY");
        let name = if name.matches('/').count() == 1 {
            format!("github.com/{name}")
        } else {
            name
        };
        let token = require(TOKEN);
        let remote = format!("https://{name}.git");
        let address = read_remote(&remote).unwrap();
        let base = match read("ORANGE_LIVE_API") {
            Some(api) => ApiBase::loopback(&api).unwrap(),
            None => address.host.api(),
        };
        let passed = environment.passed_variables([]).into_iter();
        let variable = if address.host.is_public() {
            "GH_TOKEN"
        } else {
            "GH_ENTERPRISE_TOKEN"
        };
        let own = [(TOKEN, &token), (variable, &token)];
        let own = own.map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::of(passed.chain(own));
        let source = TokenSource {
            host: address.host.clone(),
            named_hosts: vec![address.host.clone()],
            command: None,
            environment: environment.clone(),
        };
        let client = Client::new(source, base, Clock::system());
        let live = Live {
            client,
            address,
            remote: read("ORANGE_LIVE_REMOTE").unwrap_or(remote),
            environment,
            folder: tempfile::tempdir().unwrap(),
        };
        live.git(&["clone", "-q", "--depth=1", &live.remote, "."]);
        live
    }

    fn repository(&mut self) -> Repository<'_> {
        Repository::new(&mut self.client, &self.address)
    }

    /// Runs git in the clone, without any settings of the user.
    fn git(&self, arguments: &[&str]) -> String {
        let folder = self.folder.path();
        let mut git = Command::new("git");
        git.args(["-c", "credential.helper=", "-c", HELPER]);
        git.args([
            "-c",
            "user.name=orange",
            "-c",
            "user.email=orange@example.org",
        ]);
        git.args(arguments).current_dir(folder);
        git.env_clear().envs(self.environment.variables());
        git.env("GIT_CONFIG_GLOBAL", Path::new("/dev/null"));
        git.env("GIT_TERMINAL_PROMPT", "0");
        let output = git.output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.trim().to_owned()
    }

    /// Pushes a new branch with one commit.
    fn push(&self, branch: &BranchName) -> CommitId {
        let name = format!("{branch}.txt");
        fs::write(self.folder.path().join(&name), "from a test of orange\n").unwrap();
        self.git(&["add", &name]);
        self.git(&["commit", "-q", "-m", "Try orange"]);
        let target = format!("HEAD:refs/heads/{branch}");
        self.git(&["push", "-q", &self.remote, &target]);
        CommitId::new(self.git(&["rev-parse", "HEAD"]))
    }

    /// Reads until it holds: what was written shows late.
    fn wait_for(&mut self, what: &str, mut condition: impl FnMut(&mut Live) -> bool) {
        let deadline = clock::Deadline::after(PATIENCE);
        while !condition(self) {
            assert!(!deadline.has_passed(), "it never showed {what}");
            thread::sleep(Duration::from_millis(500));
        }
    }
}

/// Who asks, what may be done, and what is there.
fn read_repository(live: &mut Live) -> BranchName {
    let own = accounts::fetch_own_account(&mut live.client).unwrap();
    let quotas = accounts::fetch_quotas(&mut live.client).unwrap();
    assert!(quotas["core"].remaining > 100, "{quotas:?}");
    assert!(quotas["graphql"].remaining > 100, "{quotas:?}");
    let mut repository = live.repository();
    let facts = repository.fetch_repository().unwrap();
    assert_eq!(facts.may_push, Knowledge::Known(true), "{facts:?}");
    assert_eq!(facts.is_archived, Knowledge::Known(false), "{facts:?}");
    let permission = repository.fetch_permission(&own).unwrap();
    assert!(permission.known().is_some(), "{own:?}");
    repository
        .fetch_required_checks(&facts.default_branch)
        .unwrap();
    let found = changed(repository.fetch_issues(None, None, 1).unwrap());
    if let Some(issue) = found.items.iter().find(|it| !it.is_pull_request) {
        let (number, id) = (issue.number, issue.id.clone());
        assert_eq!(repository.fetch_issue(number).unwrap().id, id);
        repository.fetch_issue_events(number).unwrap();
        issues::fetch_last_edit(&mut live.client, &id).unwrap();
    }
    facts.default_branch
}

/// Every way to read a pull request shows the one that was opened.
fn read_pull_request(live: &mut Live, branch: &BranchName, opened: &PullRequest) {
    let (owner, number) = (live.address.owner.clone(), opened.number);
    live.wait_for("the pull request in lists", |live| {
        let mut repository = live.repository();
        let listed = repository.fetch_pull_requests_of(&owner, branch).unwrap();
        let probed = repository.probe_branch(branch).unwrap();
        let heads = changed(repository.fetch_open_heads(None).unwrap());
        listed.items.iter().any(|it| it.1.number == number)
            && probed.items.iter().any(|it| it.1.number == number)
            && heads.items.iter().any(|it| it.branch == *branch)
    });
    let mut repository = live.repository();
    let (source, read) = repository.fetch_pull_request(number).unwrap();
    assert_eq!((&source.branch, &read.head), (branch, &opened.head));
    assert_eq!((read.state, read.is_draft), (PullRequestState::Open, true));
    repository.fetch_checks(&opened.head).unwrap();
    for run in repository.fetch_runs(&opened.head).unwrap().items {
        repository.fetch_jobs(run.id).unwrap();
    }
    let mut chunk = ChunkSize::new(50, clock::now());
    let ids = [opened.id.clone()];
    let seen = glance::fetch_glance(&mut live.client, &ids, &mut chunk);
    assert_eq!(seen.failure, None);
    assert_eq!(seen.seen[&opened.id].head, opened.head);
    let found = details::fetch_details(&mut live.client, &opened.id).unwrap();
    assert_eq!(found.head, opened.head);
}

fn comment(live: &mut Live, number: u64) {
    let mut repository = live.repository();
    let written = repository
        .create_comment(number, &text("A comment of a test."))
        .unwrap();
    let id = written.reply_id.unwrap();
    let edited = text("An edited comment of a test.");
    repository.edit_comment(id, &edited).unwrap();
    live.wait_for("the edited comment", |live| {
        let comments = live.repository().fetch_comments(number).unwrap().items;
        comments.iter().any(|it| it.body.starts_with("An edited"))
    });
    live.repository().delete_comment(id).unwrap();
}

fn open(live: &mut Live, branch: &BranchName, base: &BranchName) -> PullRequest {
    let head = live.push(branch);
    let new = NewPullRequest {
        title: text("A test of orange"),
        body: text("It is closed at once."),
        head: branch.to_string(),
        base: base.to_string(),
        draft: true,
    };
    let opened = live.repository().create_pull_request(&new).unwrap();
    assert_eq!((opened.is_draft, &opened.head), (true, &head));
    opened
}

fn close(live: &mut Live, number: u64) {
    let edit = PullRequestEdit {
        state: Some("closed"),
        ..PullRequestEdit::default()
    };
    let closed = live.repository().edit_pull_request(number, &edit).unwrap();
    assert_eq!(closed.state, PullRequestState::Closed);
}

/// The whole cycle, and the number of the pull request. What it opened is closed and removed even
/// if it fails.
fn run_cycle(live: &mut Live) -> u64 {
    let base = read_repository(live);
    let moment = clock::now().millis();
    let branch = BranchName::new(format!("orange-live-{moment}-{}", std::process::id()));
    let mut number = None;
    let tried = catch_unwind(AssertUnwindSafe(|| {
        let opened = open(live, &branch, &base);
        number = Some(opened.number);
        read_pull_request(live, &branch, &opened);
        comment(live, opened.number);
    }));
    let removed = catch_unwind(AssertUnwindSafe(|| {
        if let Some(number) = number {
            close(live, number);
        }
        live.git(&["push", "-q", &live.remote, "--delete", branch.as_str()]);
    }));
    for result in [tried, removed] {
        if let Err(panic) = result {
            resume_unwind(panic);
        }
    }
    number.unwrap()
}

#[test]
fn the_cycle_works_on_the_scripted_forge() {
    let stage = Stage::new();
    let remote = stage.forge.path(REPOSITORY).display().to_string();
    let address = stage.forge.address();
    let token = stage.forge.user("octo");
    let path = Environment::read().variable("PATH").unwrap().to_owned();
    let variables = [
        ("PATH", path),
        ("ORANGE_LIVE_REPOSITORY", REPOSITORY.into()),
        (TOKEN, token.into()),
        ("ORANGE_LIVE_API", address.into()),
        ("ORANGE_LIVE_REMOTE", remote.into()),
    ];
    let number = run_cycle(&mut Live::new(&Environment::of(variables)));
    let pull = stage.forge.get(REPOSITORY, number);
    assert!(!pull.is_open && pull.comments.is_empty(), "{pull:?}");
    let branches = stage.forge.look(|world| {
        let branches = world.repositories[0].branches.keys();
        branches.cloned().collect::<Vec<String>>()
    });
    assert!(
        !branches.iter().any(|it| it.contains("live")),
        "{branches:?}"
    );
    let operations = stage.forge.writes();
    let operations: Vec<&str> = operations.iter().map(|it| it.operation.as_str()).collect();
    assert_eq!(
        operations,
        [
            "pulls/create",
            "issues/create-comment",
            "issues/update-comment",
            "issues/delete-comment",
            "pulls/update",
        ]
    );
}

#[test]
#[ignore = "it writes to a real repository: set ORANGE_LIVE_TOKEN and ORANGE_LIVE_REPOSITORY"]
fn the_cycle_works_on_a_real_repository() {
    run_cycle(&mut Live::new(&Environment::read()));
}
