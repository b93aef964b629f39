//! One task: to its scene, through it, and beyond.

use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_driver::{Answer, Driver};
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::names::{Status, TaskId};
use orange_engine::role::Role;

use super::crash_marks::reached_marks;
use super::table::{Cause, Scene, with_cached_proofs, without_pauses};
use crate::library::{ask, create, expect_done, to, work};
use crate::support::{Stage, wait_for};

const PLAN: &str = "\n## Plan\n\nAPPROACH: add a line\nTOUCHING: work.txt\n";

const HANDOFF: &str = "\n## Handoff\n\nDONE: a line\nREMAINING: -\nDECISIONS: -\nUNCERTAIN: -\n";

const SECOND_HANDOFF: &str =
    "\n## Handoff\n\nDONE: two lines\nREMAINING: -\nDECISIONS: -\nUNCERTAIN: -\n";

const PASS: &str = "\n## Review\n\nVerdict: PASS\nfine\n";

const FAIL: &str = "\n## Review\n\nVerdict: FAIL\nnot enough\n";

/// How long it may take until nothing is pending; after a death in between, this never happens.
const SETTLED: Duration = Duration::from_secs(15);

/// The exit code of a call that was killed.
pub const KILLED: i32 = -1;

/// A task in its scene.
pub struct SceneRun {
    pub stage: Stage,
    pub id: TaskId,
    scene: Scene,
    /// The variables that identify the caller.
    speaks: Vec<(String, String)>,
}

impl SceneRun {
    /// Brings a task to where the scene begins, with everything that the scene needs.
    pub fn begin(scene: &Scene) -> SceneRun {
        let stage = Stage::new(scene.workflow);
        without_pauses(&stage, scene.workflow);
        for turn in 2..=4 {
            // An emptied input box shows at once that a message was sent.
            stage.script(&format!("worker-{turn}"), "printf '\\033[2J\\033[H'");
        }
        if scene.how == Cause::DiedAfterWriting(Role::Reviewer) {
            stage.script("reviewer-1", "pause end\nexit 0");
        }
        let driver = stage.driver();
        let is_vague = scene.from == "clarification" && scene.how == Cause::NoHarness
            || (scene.from, scene.to) == ("pending", "clarification");
        let mut new = work(if is_vague { "" } else { "Add a line" });
        // A vague task would start in clarification.
        new.status = is_vague.then(|| Status::new("pending"));
        let id = with_cached_proofs(&stage, || create(&driver, &new));
        let mut run = SceneRun {
            stage,
            id,
            scene: scene.clone(),
            speaks: Vec::new(),
        };
        run.prepare(&driver);
        run
    }

    fn prepare(&mut self, driver: &Driver) {
        let scene = self.scene.clone();
        if scene.how == Cause::NoHarness {
            if scene.from == "working" && scene.workflow == "default" {
                self.reach(driver, "planning");
                self.write(PLAN);
                self.kill_agent(&Role::Worker);
            }
            fs::remove_file(self.stage.path("home/harnesses/script.toml")).unwrap();
            return;
        }
        self.reach(driver, scene.from);
        if self.wants_second_round() {
            self.write(FAIL);
            expect_done(ask(driver, &self.id, Role::Reviewer, to("working")));
            self.write(SECOND_HANDOFF);
            expect_done(ask(driver, &self.id, Role::Worker, to("agent-review")));
        }
        match &scene.how {
            Cause::Asked(role) => {
                self.write_required_sections();
                self.speaks = self.variables_of(role);
            }
            Cause::Verb(_) | Cause::NoHarness | Cause::Merged => {}
            Cause::Died { role, times } => {
                for _ in 1..*times {
                    self.kill_agent(role);
                    self.respawn(driver, role);
                }
                self.kill_agent(role);
            }
            Cause::DiedAfterWriting(role) => {
                self.write_required_sections();
                if *role == Role::Reviewer {
                    self.await_verdict(driver);
                    self.stage.script("end", "");
                    return self.wait_for_end(role);
                }
                self.kill_agent(role);
            }
        }
    }

    /// The verdict of a reviewer that ended counts if the reviewer made a call with it, here a
    /// refused one: the branch has moved since the handoff, or it is another round.
    fn await_verdict(&self, driver: &Driver) {
        let head = format!("refs/heads/orange-tasks/{}", self.id);
        let is_pass = self.scene.to == "reviewing";
        if is_pass {
            self.move_branch(&head);
        }
        let asked = if is_pass { "reviewing" } else { "stuck" };
        let answer = ask(driver, &self.id, Role::Reviewer, to(asked));
        assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
        if is_pass {
            let back = format!("update-ref {head} {head}^");
            assert!(self.stage.git(&back).status.success());
        }
    }

    fn wants_second_round(&self) -> bool {
        let scene = &self.scene;
        (scene.from, scene.to) == ("agent-review", "stuck")
            && scene.how == Cause::Asked(Role::Reviewer)
    }

    /// Brings the task into a status by the usual path, without any deaths.
    fn reach(&self, driver: &Driver, status: &str) {
        let asked = |role: Role, status: &str| expect_done(ask(driver, &self.id, role, to(status)));
        let spawned = || {
            expect_done(ask(
                driver,
                &self.id,
                Role::Human,
                RequestKind::Verb(Verb::Spawn),
            ))
        };
        match status {
            "pending" => {}
            "working" if self.scene.workflow == "default" => {
                self.reach(driver, "planning");
                self.write(PLAN);
                asked(Role::Worker, "working");
            }
            "planning" | "working" => {
                spawned();
            }
            "clarification" if self.scene.workflow == "default" => {
                self.reach(driver, "planning");
                asked(Role::Worker, "clarification");
            }
            "resuming" => {
                self.reach(driver, "planning");
                self.write(PLAN);
                self.kill_agent(&Role::Worker);
                let harness = self.stage.path("home/harnesses/script.toml");
                let aside = self.stage.path("aside.toml");
                fs::rename(&harness, &aside).unwrap();
                self.notice_death(driver);
                fs::rename(&aside, &harness).unwrap();
            }
            "clarification" | "stuck" => {
                self.reach(driver, "working");
                asked(Role::Worker, status);
            }
            "agent-review" => {
                self.reach(driver, "working");
                self.commit_once();
                self.write(HANDOFF);
                asked(Role::Worker, status);
            }
            "reviewing" => {
                self.reach(driver, "agent-review");
                self.write(PASS);
                asked(Role::Reviewer, status);
            }
            other => panic!("no way into `{other}`"),
        }
        assert_eq!(self.stage.task(&self.id).status.as_str(), status);
        if self.scene.how == Cause::Merged {
            self.commit_once();
        }
    }

    /// Something to hand over and to merge; a queued task may be about an existing branch.
    fn commit_once(&self) {
        let head = format!("refs/heads/orange-tasks/{}", self.id);
        let read = |words: &str| String::from_utf8(self.stage.git(words).stdout).unwrap();
        if self.scene.from != "pending"
            && read("rev-parse main") != read(&format!("rev-parse {head}"))
        {
            return;
        }
        self.move_branch(&head);
    }

    /// Adds an empty commit to a branch; a new branch starts at the default branch.
    fn move_branch(&self, head: &str) {
        let read = |words: &str| String::from_utf8(self.stage.git(words).stdout).unwrap();
        let is_there = !read(&format!("for-each-ref {head}")).is_empty();
        let parent = if is_there { head } else { "main" };
        let commit = read(&format!("commit-tree main^{{tree}} -p {parent} -m one"));
        let moved = self
            .stage
            .git(&format!("update-ref {head} {}", commit.trim()));
        assert!(moved.status.success(), "{moved:?}");
    }

    /// Adds to TASK.md as an agent does.
    fn write(&self, text: &str) {
        let path = self.stage.worktree(&self.id).join("TASK.md");
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn write_required_sections(&self) {
        let scene = &self.scene;
        match (scene.from, scene.to) {
            ("planning" | "clarification", "working") if scene.workflow == "default" => {
                self.write(PLAN);
            }
            (_, "agent-review") => {
                self.commit_once();
                self.write(HANDOFF);
            }
            ("stuck", "reviewing") => self.commit_once(),
            ("agent-review", "reviewing") => self.write(PASS),
            ("agent-review", "working" | "stuck") => self.write(FAIL),
            _ => {}
        }
    }

    /// Kills an agent as a crash would, and waits until that is visible.
    fn kill_agent(&self, role: &Role) {
        let runs = self.stage.store().runs(&self.id).unwrap();
        let run = runs.iter().rev().find(|run| run.role == *role).unwrap();
        let pid = run.place.as_ref().unwrap().process.pid.to_string();
        assert!(
            Command::new("kill")
                .args(["-9", &pid])
                .status()
                .unwrap()
                .success()
        );
        self.wait_for_end(role);
    }

    fn wait_for_end(&self, role: &Role) {
        let dead = format!("{role}:1");
        wait_for("the agent's death", || self.stage.panes().contains(&dead));
    }

    /// Polls until the death was judged: a TASK.md that was just written delays that.
    fn notice_death(&self, driver: &Driver) {
        let before = self.stage.task(&self.id).version;
        wait_for("the death to be judged", || {
            driver
                .agents
                .observe_each(std::slice::from_ref(&self.id))
                .unwrap();
            self.stage.task(&self.id).version > before
        });
        driver.performer.perform(&self.id).unwrap();
    }

    /// A reviewer is respawned automatically once its death was seen, a worker on request.
    fn respawn(&self, driver: &Driver, role: &Role) {
        if *role == Role::Reviewer {
            self.notice_death(driver);
        } else {
            let role = Some(role.clone());
            expect_done(ask(
                driver,
                &self.id,
                Role::Human,
                RequestKind::Respawn { role },
            ));
        }
        assert!(self.stage.task(&self.id).is_live(role));
    }

    /// The variables of an agent, so that a call counts as its own.
    fn variables_of(&self, role: &Role) -> Vec<(String, String)> {
        let runs = self.stage.store().runs(&self.id).unwrap();
        let Some(run) = runs.iter().rev().find(|run| run.role == *role) else {
            return Vec::new();
        };
        let pid = run.place.as_ref().unwrap().process.pid;
        let mut environment = String::new();
        // A process in the middle of an exec shows none.
        wait_for("the agent's variables", || {
            environment = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.contains("ORANGE_RUN_PROOF=")
        });
        let variables = environment.split('\0').filter_map(|it| it.split_once('='));
        let own = variables.filter(|(name, _)| name.starts_with("ORANGE_"));
        own.map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    fn command(&self) -> Vec<String> {
        let id = self.id.as_str();
        let words = match &self.scene.how {
            Cause::Asked(_) => vec!["task", "update", id, "--status", self.scene.to],
            Cause::Verb(verb) => {
                let (verb, rest) = verb.split_first().unwrap();
                [&["task", *verb, id], rest].concat()
            }
            Cause::Merged if self.scene.from == "reviewing" => vec!["task", "merge", id],
            Cause::Merged => vec!["task", "merge", id, "--force", "--yes"],
            Cause::NoHarness if self.scene.to != "resuming" => vec!["task", "spawn", id],
            Cause::Died { .. } | Cause::DiedAfterWriting(_) | Cause::NoHarness => {
                vec!["task", "update", id, "--summary", "Add a line"]
            }
        };
        words.into_iter().map(str::to_owned).collect()
    }

    /// Asks; a caller that was killed before an answer asks again, as often as there are deaths.
    pub fn ask_until_answered(&self, deaths: usize) {
        for _ in 0..=deaths {
            let words = self.command();
            // A request that was answered and then failed is not repeated.
            if self.has_failed() {
                return;
            }
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut asking = self.stage.orange(&words);
            asking.envs(self.speaks.iter().map(|(name, value)| (name, value)));
            let output = asking.output().unwrap();
            match output.status.signal() {
                Some(9) => continue,
                // The plan kills the agent, and this call with it.
                Some(_) => return,
                None => {}
            }
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let code = output.status.code().unwrap();
            let is_agent = !self.speaks.is_empty();
            if code == 143 || is_agent && text.contains("was killed by signal 15") {
                // The same, noticed in time to report it, by this call or by the process it was
                // starting.
                return;
            }
            // An impossible start reports that; everything else has happened or is in flight.
            let fails = self.scene.how == Cause::NoHarness && code == 6;
            assert!(
                fails || code == 0 || code == 5,
                "{words:?} -> {code}: {text}\n{}",
                self.diagnostics()
            );
            return;
        }
        panic!("never answered: {}", self.diagnostics());
    }

    fn has_failed(&self) -> bool {
        let way = crate::support::scripts::way(&self.stage, &self.id);
        self.scene.how == Cause::NoHarness && way.last().map(String::as_str) == Some(self.scene.to)
    }

    /// Any command that changes the task completes what is left, unless the death comes only now.
    pub fn run_recovery_command(&self, deaths: usize) {
        let id = self.id.as_str();
        for _ in 0..=deaths {
            let status = self.stage.task(&self.id).status;
            let (code, said) = if ["cancelled", "done"].contains(&status.as_str()) {
                // An ended task accepts only a repeated request.
                let words = self.command();
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                self.stage.call(&words)
            } else {
                let summary = ["task", "update", id, "--summary", "Add a line"];
                self.stage.call(&summary)
            };
            if code != KILLED {
                assert!(
                    code == 0 || code == 5,
                    "{code}: {said}\n{}",
                    self.diagnostics()
                );
                // A death that comes after the answer needs one more command.
                if self.is_idle() {
                    return;
                }
            }
        }
        panic!("never at rest: {}", self.diagnostics());
    }

    /// Whether nothing is pending and TASK.md, which is written after the record, is current.
    fn is_idle(&self) -> bool {
        Deadline::after(SETTLED).wait_for(|| {
            let task = self.stage.task(&self.id);
            let line = format!("\nversion: {}\n", task.version);
            task.pending.is_empty() && self.stage.task_text(&self.id).contains(&line)
        })
    }

    pub fn diagnostics(&self) -> String {
        format!(
            "{}\n{}",
            reached_marks(&self.stage).join("\n"),
            self.stage.diagnostics(&self.id)
        )
    }
}
