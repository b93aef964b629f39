//! The transitions that are tested, and the excused ones.

use std::fs;
use std::sync::Mutex;

use orange_effects::private_file;
use orange_engine::Workflow;
use orange_engine::language::hooks::Action;
use orange_engine::language::load;
use orange_engine::language::workflow::{Edge, Trigger};
use orange_engine::role::Role;

use crate::support::Stage;

/// One transition, and how it is triggered.
#[derive(Clone, Debug)]
pub struct Scene {
    pub workflow: &'static str,
    pub from: &'static str,
    pub to: &'static str,
    pub trigger: Trigger,
    pub how: Cause,
}

/// How a transition is triggered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The role asks for the status, with the gate's requirements in TASK.md.
    Asked(Role),
    /// The user runs this verb, with these words after the task.
    Verb(&'static [&'static str]),
    /// The agent has died this many times, and any command notices.
    Died { role: Role, times: usize },
    /// The agent died after it wrote the deciding section and made a call with it.
    DiedAfterWriting(Role),
    /// A start fails because its harness is gone.
    NoHarness,
    /// The user merges the commits, reviewed or not.
    Merged,
}

impl Scene {
    /// The minimum number of marks: around the commit of the transition, and for each effect around
    /// the effect itself and the commits before and after it.
    pub fn least_marks(&self) -> usize {
        let workflow = shipped(self.workflow);
        let edge = workflow.edges.iter().find(|edge| self.plays(edge));
        let hooks = edge.iter().flat_map(|edge| &edge.hooks);
        // A workspace that is already held is not acquired.
        let planned = hooks.filter(|hook| !matches!(hook.action, Action::AcquireWorkspace { .. }));
        2 + 6 * planned.count()
    }

    /// Whether the scene covers this edge.
    pub fn plays(&self, edge: &Edge) -> bool {
        let to = edge.to.to_string();
        (self.from, self.to) == (edge.from.as_str(), to.as_str()) && self.trigger == edge.trigger
    }
}

pub fn shipped(name: &str) -> Workflow {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workflows");
    let text = fs::read_to_string(format!("{path}/{name}.yml")).unwrap();
    load(&text).workflow.unwrap()
}

/// Edges that nothing can trigger yet.
pub struct Exemption {
    pub trigger: Trigger,
    pub from: Option<&'static str>,
    pub to: Option<&'static str>,
    #[expect(dead_code, reason = "written for who reads the table")]
    pub because: &'static str,
}

impl Exemption {
    pub fn covers(&self, edge: &Edge) -> bool {
        let to = edge.to.to_string();
        self.trigger == edge.trigger
            && self.from.is_none_or(|from| from == edge.from.as_str())
            && self.to.is_none_or(|excused| excused == to)
    }
}

pub const EXCUSED: &[Exemption] = &[
    Exemption {
        trigger: Trigger::PrMerged,
        from: None,
        to: None,
        because: "`crashes::pull_requests` has a forge",
    },
    Exemption {
        trigger: Trigger::PrClosed,
        from: None,
        to: None,
        because: "`crashes::pull_requests` has a forge",
    },
    Exemption {
        trigger: Trigger::ChildrenDone,
        from: None,
        to: None,
        because: "no task has children",
    },
    Exemption {
        trigger: Trigger::Request,
        from: Some("working"),
        to: Some("delegated"),
        because: "no task has children",
    },
    Exemption {
        trigger: Trigger::Request,
        from: Some("delegated"),
        to: None,
        because: "no task has children",
    },
    Exemption {
        trigger: Trigger::Merged,
        from: Some("delegated"),
        to: None,
        because: "no task has children",
    },
];

const CANCEL: Cause = Cause::Verb(&["cancel"]);

const SPAWN: Cause = Cause::Verb(&["spawn"]);

const WORKER: Cause = Cause::Asked(Role::Worker);

const REVIEWER: Cause = Cause::Asked(Role::Reviewer);

const HUMAN: Cause = Cause::Asked(Role::Human);

/// From, to, the trigger, and how to trigger it.
type Row = (&'static str, &'static str, Trigger, Cause);

fn death_of(role: Role) -> Cause {
    Cause::Died { role, times: 2 }
}

fn report_by(role: Role) -> Cause {
    Cause::DiedAfterWriting(role)
}

/// Every tested scene.
pub fn scenes() -> Vec<Scene> {
    let of = |workflow: &'static str| {
        move |(from, to, trigger, how): Row| Scene {
            workflow,
            from,
            to,
            trigger,
            how,
        }
    };
    let default = under_default().into_iter().map(of("default"));
    default
        .chain(under_respawn().into_iter().map(of("respawn")))
        .collect()
}

fn under_default() -> Vec<Row> {
    let request = Trigger::Request;
    vec![
        ("pending", "planning", request, SPAWN),
        ("pending", "clarification", request, SPAWN),
        ("pending", "cancelled", request, CANCEL),
        (
            "planning",
            "pending",
            Trigger::SpawnFailed,
            Cause::NoHarness,
        ),
        ("planning", "working", request, WORKER),
        (
            "planning",
            "working",
            Trigger::Exit,
            report_by(Role::Worker),
        ),
        ("planning", "clarification", request, WORKER),
        ("planning", "stuck", Trigger::Crash, death_of(Role::Worker)),
        ("planning", "cancelled", request, CANCEL),
        (
            "clarification",
            "pending",
            Trigger::SpawnFailed,
            Cause::NoHarness,
        ),
        ("clarification", "planning", request, HUMAN),
        ("clarification", "planning", request, WORKER),
        ("clarification", "working", request, HUMAN),
        ("clarification", "working", request, WORKER),
        ("clarification", "cancelled", request, CANCEL),
        ("working", "clarification", request, WORKER),
        ("working", "agent-review", request, WORKER),
        ("working", "agent-review", request, HUMAN),
        ("working", "agent-review", request, report_by(Role::Worker)),
        ("working", "stuck", request, Cause::Verb(&["stuck"])),
        ("working", "stuck", Trigger::Crash, death_of(Role::Worker)),
        (
            "working",
            "resuming",
            Trigger::SpawnFailed,
            Cause::NoHarness,
        ),
        ("working", "cancelled", request, CANCEL),
        ("resuming", "working", request, SPAWN),
        ("resuming", "cancelled", request, CANCEL),
        ("agent-review", "reviewing", request, REVIEWER),
        (
            "agent-review",
            "reviewing",
            request,
            report_by(Role::Reviewer),
        ),
        ("agent-review", "working", request, REVIEWER),
        (
            "agent-review",
            "working",
            request,
            report_by(Role::Reviewer),
        ),
        ("agent-review", "stuck", request, REVIEWER),
        (
            "agent-review",
            "stuck",
            Trigger::Crash,
            death_of(Role::Reviewer),
        ),
        ("agent-review", "cancelled", request, CANCEL),
        (
            "reviewing",
            "working",
            request,
            Cause::Verb(&["request-changes", "-m", "more"]),
        ),
        ("reviewing", "cancelled", request, CANCEL),
        ("stuck", "reviewing", request, HUMAN),
        ("stuck", "working", request, HUMAN),
        ("stuck", "agent-review", request, HUMAN),
        ("stuck", "cancelled", request, CANCEL),
        ("pending", "done", Trigger::Merged, Cause::Merged),
        ("reviewing", "done", Trigger::Merged, Cause::Merged),
        ("planning", "done", Trigger::Merged, Cause::Merged),
        ("clarification", "done", Trigger::Merged, Cause::Merged),
        ("working", "done", Trigger::Merged, Cause::Merged),
        ("resuming", "done", Trigger::Merged, Cause::Merged),
        ("agent-review", "done", Trigger::Merged, Cause::Merged),
        ("stuck", "done", Trigger::Merged, Cause::Merged),
    ]
}

fn under_respawn() -> Vec<Row> {
    let request = Trigger::Request;
    vec![
        ("pending", "working", request, SPAWN),
        ("pending", "clarification", request, SPAWN),
        ("pending", "cancelled", request, CANCEL),
        ("working", "pending", Trigger::SpawnFailed, Cause::NoHarness),
        (
            "clarification",
            "pending",
            Trigger::SpawnFailed,
            Cause::NoHarness,
        ),
        ("clarification", "working", request, HUMAN),
        ("clarification", "working", request, WORKER),
        ("clarification", "cancelled", request, CANCEL),
        ("working", "agent-review", request, WORKER),
        ("working", "agent-review", request, report_by(Role::Worker)),
        ("working", "clarification", request, WORKER),
        ("working", "stuck", request, Cause::Verb(&["stuck"])),
        ("working", "stuck", Trigger::Crash, death_of(Role::Worker)),
        ("working", "cancelled", request, CANCEL),
        ("agent-review", "reviewing", request, REVIEWER),
        ("agent-review", "working", request, REVIEWER),
        ("agent-review", "stuck", request, REVIEWER),
        (
            "agent-review",
            "stuck",
            Trigger::Crash,
            death_of(Role::Reviewer),
        ),
        ("agent-review", "cancelled", request, CANCEL),
        (
            "reviewing",
            "working",
            request,
            Cause::Verb(&["request-changes", "-m", "more"]),
        ),
        ("reviewing", "cancelled", request, CANCEL),
        ("stuck", "working", request, HUMAN),
        ("stuck", "agent-review", request, HUMAN),
        ("stuck", "cancelled", request, CANCEL),
        ("pending", "done", Trigger::Merged, Cause::Merged),
        ("reviewing", "done", Trigger::Merged, Cause::Merged),
        ("clarification", "done", Trigger::Merged, Cause::Merged),
        ("working", "done", Trigger::Merged, Cause::Merged),
        ("agent-review", "done", Trigger::Merged, Cause::Merged),
        ("stuck", "done", Trigger::Merged, Cause::Merged),
    ]
}

/// The shipped workflow without the pause after a crash, which would only cost time.
pub fn without_pauses(stage: &Stage, name: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workflows");
    let text = fs::read_to_string(format!("{path}/{name}.yml")).unwrap();
    assert!(text.contains("backoff: 10s"));
    let folder = stage.path("home/workflows");
    fs::create_dir_all(&folder).unwrap();
    let text = text.replace("backoff: 10s", "backoff: 0s");
    fs::write(folder.join(format!("{name}.yml")), text).unwrap();
}

/// Proves a workflow safe once for many runs: the proof takes longer than a run.
pub fn with_cached_proofs<T>(stage: &Stage, create: impl FnOnce() -> T) -> T {
    static PROOFS: Mutex<Option<Vec<u8>>> = Mutex::new(None);
    let path = stage.home().safe_workflows();
    if let Some(known) = PROOFS.lock().unwrap().as_ref() {
        private_file::write(&path, known).unwrap();
    }
    let created = create();
    *PROOFS.lock().unwrap() = fs::read(&path).ok();
    created
}
