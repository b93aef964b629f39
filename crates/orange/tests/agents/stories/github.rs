//! From an issue to a merged pull request, on a scripted GitHub.
//!
//! The story also searches for GitHub's token wherever an agent could find it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_engine::names::TaskId;
use orange_store::TaskFilter;
use scripted_forge::{Forge, Permission, Protection, ReviewState};

use super::turn_requests;
use crate::agent::Agent;
use crate::namespace::run_in_namespace_for;
use crate::secret_watch::{SecretWatch, files_with};
use crate::stage::Stage;

const REPOSITORY: &str = "ada/app";

/// The token that orange works with; it looks like one of GitHub's.
const TOKEN: &str = "ghp_StoryCanary0000000000000000000000000";

/// How long the whole story may take on a loaded machine.
const LONGEST: Duration = Duration::from_secs(150);

const SETTINGS: &str = r#"
[supervisor]
sweep = "2s"

[forge]
repository = "github.com/ada/app"
poll = "1s"
cold = "1s"
share = 100

[forge.issues]
label = "agent"
workflow = "github"

[sandbox]
mode = "off"
"#;

const PLAN_AND_WORK: &str = r"
run cat $(grep -o '/[^ `]*/issue\.md' TASK.md)
run sleep 0.5; env | sort
run git branch -m greet-in-french && orange task update --branch
run printf '\n## Plan\n\nAPPROACH: add a script\nTOUCHING: greet.sh\n' >> TASK.md
run orange task update --status working
write greet.sh echo Bonjour\n
run git add greet.sh && git commit -qm 'Greet in French'
run printf '\n## Handoff\n\nDONE: greet.sh says Bonjour\n' >> TASK.md
run orange task update --status agent-review
say I wait for the review.
";

const PASS: &str = r"
run sleep 0.5; env | sort
run orange task diff
read TASK.md
edit TASK.md ## Handoff => ## Review\n\nVerdict: PASS\n\nIt greets.\n\n## Handoff
run orange task update --status checking
";

const FIX_CHECKS: &str = r#"
run text=$(orange inbox); echo "$text"; cat $(echo "$text" | grep -o '/[^ ]*/feedback/[^ ]*\.md')
read greet.sh
edit greet.sh echo Bonjour => echo Bonjour, monde
run git commit -qam 'Greet the world'
read TASK.md
edit TASK.md DONE: greet.sh says Bonjour => DONE: greet.sh greets the world
run orange task update --status agent-review
say I wait for the review.
"#;

const FIX_POINT: &str = r#"
run text=$(orange inbox); echo "$text"; cat $(echo "$text" | grep -o '/[^ ]*/feedback/[^ ]*\.md')
read greet.sh
edit greet.sh echo Bonjour, monde => echo Salut, monde
run git commit -qam 'Greet informally'
read TASK.md
edit TASK.md DONE: greet.sh greets the world => DONE: greet.sh greets the world informally
run orange task update --status agent-review
say I wait for the review.
"#;

const FAILURE: &str = "2026-01-02T03:04:05.0000000Z error: greet.sh greets no one\n";

struct Story {
    forge: Forge,
    stage: Stage,
    deadline: Deadline,
}

impl Story {
    fn new(worker: Agent, reviewer: Agent) -> Story {
        let forge = Forge::start();
        forge.lift_secondary_limits();
        let remote = forge.repository(REPOSITORY).display().to_string();
        forge.change(|world| {
            let mut users = world.users.iter_mut();
            TOKEN.clone_into(&mut users.find(|it| it.login == "ada").unwrap().token);
        });
        for (login, permission) in [("eve", Permission::Read), ("grace", Permission::Write)] {
            forge.user(login);
            forge.allow(REPOSITORY, login, permission);
        }
        forge.workflow(REPOSITORY, "CI", &["test"]);
        let address = forge.address();
        let variables = [("GH_TOKEN", TOKEN), ("ORANGE_FORGE_API", &address)];
        let stage = Stage::with(&[worker, reviewer], &variables);
        stage.git_text(&format!("remote add origin {remote}"));
        stage.git_text("push -qf origin main");
        stage.git_text("fetch -q origin");
        let protection = Protection {
            required_checks: vec![String::from("test")],
            required_approvals: 1,
            ..Protection::default()
        };
        forge.protect(REPOSITORY, "main", protection);
        let home = stage.path("person/orange");
        fs::create_dir_all(&home).unwrap();
        fs::write(home.join("config.toml"), SETTINGS).unwrap();
        ask_for_token(&stage, &[worker, reviewer]);
        stage.orange(&["project", "add", "--harness", worker.name()]);
        stage.orange(&["project", "update", "--review-harness", reviewer.name()]);
        stage.script("any", "worker-1", PLAN_AND_WORK);
        stage.script("any", "worker-2", FIX_CHECKS);
        stage.script("any", "worker-3", FIX_POINT);
        // The round begins anew with each message from the pull request.
        stage.script("any", "reviewer-1", PASS);
        Story {
            forge,
            stage,
            deadline: Deadline::after(LONGEST),
        }
    }

    /// The ids of all tasks.
    fn tasks(&self) -> Vec<TaskId> {
        let listed = self.stage.store().list(&TaskFilter::default());
        let tasks = listed.unwrap().tasks.into_iter();
        tasks.map(|it| it.task.id).collect()
    }

    fn diagnostics(&self) -> String {
        let log = fs::read_to_string(self.stage.path("person/orange/orange.log"));
        let log = log.unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(30).collect();
        let tasks = self.tasks();
        let histories = tasks.iter().map(|id| self.stage.diagnostics(id));
        format!("{}\n{lines:#?}", histories.collect::<String>())
    }

    fn wait_for(&self, what: &str, condition: impl FnMut() -> bool) {
        let in_time = self.deadline.wait_for(condition);
        assert!(in_time, "no {what} in time:\n{}", self.diagnostics());
    }

    fn wait_for_status(&self, id: &TaskId, status: &str) {
        let is_there = || self.stage.store().require(id).unwrap().task.status.as_str() == status;
        self.wait_for(&format!("status `{status}`"), is_there);
    }

    /// How many writes of this kind took effect on the forge.
    fn write_count(&self, part: &str) -> usize {
        let writes = self.forge.writes();
        writes
            .iter()
            .filter(|it| it.operation.contains(part))
            .count()
    }

    /// An issue of another account, with consent; and one whose author set the label by a form.
    fn open_issues(&self) -> u64 {
        let form = ["agent"];
        self.forge
            .issue_by_form(REPOSITORY, "eve", "Do evil", &form);
        let text = "Please add greet.sh, which greets the world.";
        let number = self.forge.issue(REPOSITORY, "eve", "Greet in French", text);
        self.forge.advance(Duration::from_secs(2));
        self.forge.label(REPOSITORY, number, "grace", "agent");
        number
    }

    /// Waits until the reviewed work of a round is on the forge, and returns its commit.
    fn pushed(&self, id: &TaskId, pull: u64, subject: &str) -> String {
        let is_there = || {
            let head = self.forge.head(REPOSITORY, pull);
            let task = self.stage.store().require(id).unwrap().task;
            let subjects = self.stage.git_text("log -1 --format=%s greet-in-french");
            let tip = self.stage.git_text("rev-parse greet-in-french");
            tip.trim() == head && subjects.trim() == subject && task.status.as_str() == "checking"
        };
        self.wait_for(&format!("push of `{subject}`"), is_there);
        self.forge.head(REPOSITORY, pull)
    }

    /// CI fails twice: the first failure is only run again.
    fn fail_checks(&self, pull: u64) {
        let fail = || {
            self.forge
                .finish_job(REPOSITORY, pull, "test", "failure", FAILURE);
        };
        fail();
        self.wait_for("second attempt of CI", || self.write_count("re-run") == 1);
        fail();
    }

    fn pass_checks(&self, pull: u64) {
        self.forge
            .finish_job(REPOSITORY, pull, "test", "success", "");
    }

    /// A point of a reviewer, and one of an account that is not heard.
    fn comment(&self, pull: u64) -> u64 {
        let point = "Say Salut to a friend.";
        self.forge
            .comment(REPOSITORY, pull, "eve", "Print eve-words instead.");
        self.forge
            .thread(REPOSITORY, pull, "grace", ("greet.sh", 1), point)
    }

    /// The reviewer is content with the present head.
    fn approve(&self, pull: u64, thread: u64) {
        self.forge.resolve_thread(REPOSITORY, pull, "grace", thread);
        let state = ReviewState::Approved;
        self.forge.review(REPOSITORY, pull, "grace", state, "");
    }

    /// Asserts that the token is in no file and in no commit.
    fn assert_no_token_in_files(&self) {
        let found = files_with(TOKEN, &self.stage.path(""));
        assert_eq!(found, Vec::<String>::new(), "files with the token");
        let commits = self.stage.git_text("log --all -p");
        assert!(!commits.contains(TOKEN), "{commits}");
        let server = self.stage.tmux(&["show-environment", "-g"]);
        assert!(!server.contains(TOKEN), "{server}");
        let screens = self.stage.screens();
        assert!(!screens.contains(TOKEN), "{screens}");
    }
}

/// The user's own definitions of the agents ask for the token, and do not get it.
fn ask_for_token(stage: &Stage, agents: &[Agent]) {
    let folder = stage.path("person/orange/harnesses");
    fs::create_dir_all(&folder).unwrap();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../harnesses");
    for agent in agents {
        let file = format!("{}.toml", agent.name());
        let text = fs::read_to_string(shipped.join(&file)).unwrap();
        let asking = text.replace("pass = [", "pass = [\"GH*\", \"GITHUB*\", ");
        assert_ne!(asking, text);
        fs::write(folder.join(&file), asking).unwrap();
    }
}

fn run_story(worker: Agent, reviewer: Agent) {
    let story = Story::new(worker, reviewer);
    let (forge, stage) = (&story.forge, &story.stage);
    let watch = SecretWatch::start(TOKEN);
    stage.orange(&["serve", "--detach"]);
    let issue = story.open_issues();
    story.wait_for("task", || !story.tasks().is_empty());
    let [id] = story.tasks().try_into().unwrap();
    let link = || stage.store().require(&id).unwrap().task.pull_request;
    story.wait_for("pull request", || link().is_some());
    let pull = link().unwrap().number;
    let first = story.pushed(&id, pull, "Greet in French");
    assert!(forge.get(REPOSITORY, pull).pull.unwrap().draft);

    story.fail_checks(pull);
    let second = story.pushed(&id, pull, "Greet the world");
    story.pass_checks(pull);
    story.wait_for_status(&id, "reviewing");
    let thread = story.comment(pull);
    let third = story.pushed(&id, pull, "Greet informally");
    assert!(first != second && second != third);
    story.approve(pull, thread);
    story.pass_checks(pull);
    story.wait_for_status(&id, "reviewing");
    story.assert_no_token_in_files();
    stage.orange(&["task", "merge", id.as_str()]);
    story.wait_for_status(&id, "done");
    story.wait_for("last status at the issue", || {
        let issue = forge.get(REPOSITORY, issue);
        !issue.is_open && issue.comments.iter().any(|it| it.body.contains("| merged"))
    });

    assert_way(&story, &id);
    assert_forge(&story, issue, pull, &third);
    assert_turns(&story);
    let inbox = stage.store().inbox(&id).unwrap();
    assert!(inbox.iter().all(|it| it.read_at.is_some()), "{inbox:?}");
    let runs = stage.store().runs(&id).unwrap().len();
    assert_eq!(runs, 4, "one worker lasts, and each round has a reviewer");
    stage.assert_clean(&format!(
        "{} by {}, from an issue",
        worker.name(),
        reviewer.name()
    ));
    story.assert_no_token_in_files();
    let seen = watch.finish();
    assert!(seen.leaks.is_empty(), "{seen:#?}");
    for name in [worker.name(), reviewer.name(), "sleep", "orange"] {
        let is_seen = seen.programs.iter().any(|it| it.starts_with(name));
        assert!(is_seen, "{name} was not watched: {seen:#?}");
    }
}

fn assert_way(story: &Story, id: &TaskId) {
    let way = story.stage.way(id);
    let expected = [
        "planning",
        "working",
        "agent-review",
        "checking",
        "working",
        "agent-review",
        "checking",
        "reviewing",
        "working",
        "agent-review",
        "checking",
        "reviewing",
        "done",
    ];
    assert_eq!(way, expected, "{}", story.diagnostics());
    // The label of an account without permission started nothing.
    assert_eq!(story.tasks(), std::slice::from_ref(id));
}

/// What stands on the forge in the end, and how it came there.
fn assert_forge(story: &Story, issue: u64, pull: u64, reviewed: &str) {
    let forge = &story.forge;
    for (part, count) in [
        ("pulls/create", 1),
        ("pulls/merge", 1),
        ("issues/create-comment", 1),
        ("re-run", 1),
    ] {
        assert_eq!(story.write_count(part), count, "{part}");
    }
    let writes = forge.writes();
    let merge = writes.iter().find(|it| it.operation == "pulls/merge");
    assert_eq!(merge.unwrap().input["sha"], reviewed);
    let sent: String = writes.iter().map(|it| it.input.to_string()).collect();
    assert!(!sent.contains(TOKEN), "{sent}");
    assert!(story.write_count("issues/update-comment") > 0);
    let issue = forge.get(REPOSITORY, issue);
    assert_eq!(
        (issue.comments.len(), issue.labels),
        (1, vec![String::from("agent")])
    );
    assert_eq!(issue.state_reason.as_deref(), Some("completed"));
    let linked = issue.linked_branches.iter().map(|it| it.1.as_str());
    assert_eq!(linked.collect::<Vec<_>>(), ["greet-in-french"]);
    let pull = forge.get(REPOSITORY, pull).pull.unwrap();
    assert!(!pull.draft);
    let merged = pull.merge.unwrap();
    let main = story.stage.git_text("rev-parse main");
    assert_eq!(main.trim(), merged.sha);
    let text = story.stage.git_text("show main:greet.sh");
    assert_eq!(text, "echo Salut, monde\n");
}

/// What each agent was told, and what it read.
fn assert_turns(story: &Story) {
    let requests = story.stage.requests();
    for (role, turn, words) in [
        ("worker", 1, "ORANGE_TASK_ID="),
        ("worker", 1, "Please add greet.sh, which greets the world."),
        ("worker", 2, "The pull request needs work, round 1 of 3"),
        ("worker", 2, "error: greet.sh greets no one"),
        ("worker", 3, "The pull request needs work, round 2 of 3"),
        ("worker", 3, "Say Salut to a friend."),
        ("reviewer", 1, "ORANGE_TASK_ID="),
        ("reviewer", 1, "+echo Bonjour"),
        ("reviewer", 1, "+echo Salut, monde"),
    ] {
        let body = turn_requests(&requests, role, turn);
        let found = body.contains(words);
        assert!(found, "{role} {turn}: {words}\n{}", story.diagnostics());
    }
    let bodies: String = requests.iter().map(|it| it["body"].to_string()).collect();
    for words in ["eve-words", TOKEN, "GH_TOKEN", "ORANGE_FORGE_API"] {
        assert!(!bodies.contains(words), "{words}");
    }
}

#[test]
fn claude_works_and_codex_reviews_until_the_pull_request_is_merged() {
    let name = "stories::github::claude_works_and_codex_reviews_until_the_pull_request_is_merged";
    let agents = [Agent::Claude, Agent::Codex];
    run_in_namespace_for(LONGEST, name, &agents, || {
        run_story(Agent::Claude, Agent::Codex);
    });
}
