//! What the reference answers to each call, in and out of order.

mod holding;
mod log;
mod runners;

use super::*;
use crate::capability::Capabilities;
use crate::chain::Commit;
use crate::ids::{Format, HarnessName, HomeId, PersonId, ProjectId, RequestKey, Version};
use crate::json::Json;
use crate::message::{
    Adopt, Append, AppendResult, Beat, BeatAnswer, Claim, CreateAnswer, CreateTask, GiveBack,
    HeldTask, HoldingAnswer, MailAnswer, MailResult, OwnedTask, PostRequest, Register,
    RegisterAnswer, RequestStatus, TaskAppend, TaskState, WorkAnswer, WorkRequest,
};

const LOST_AFTER: Period = Period::seconds(90);

fn at(seconds: u64) -> Timestamp {
    Timestamp::default() + Period::seconds(seconds)
}

fn id(task: &str) -> TaskId {
    TaskId::new(task)
}

fn runner(name: &str) -> RunnerId {
    RunnerId::new(name)
}

fn register(name: &str, home: &str, seen: u64) -> Register {
    Register {
        runner: runner(name),
        home: HomeId::new(home),
        seen: Incarnation(seen),
        lost_after: LOST_AFTER,
        capabilities: Capabilities {
            format: Format(1),
            projects: [ProjectId::new("coffee")].into(),
            harnesses: [HarnessName::new("claude")].into(),
            labels: BTreeSet::new(),
        },
    }
}

fn beat(home: &str, incarnation: u64, held: &[(&str, u64)]) -> Beat {
    let held = held.iter().map(|(task, epoch)| HeldTask {
        task: id(task),
        epoch: Epoch(*epoch),
        acknowledged: Version(1),
    });
    Beat {
        home: HomeId::new(home),
        incarnation: Incarnation(incarnation),
        held: held.collect(),
        free: 0,
        parked: BTreeSet::new(),
        activity: Json::null(),
    }
}

fn summary(status: &str) -> Summary {
    Summary {
        status: status.to_owned(),
        ended: status == "over",
        shown: Json::null(),
    }
}

fn commit(previous: Head, text: &str, request: Option<MailId>) -> Commit {
    let event = Json::new(format!("\"{text}\"")).unwrap();
    Commit::new(previous, vec![event], Vec::new(), request).unwrap()
}

fn creation(task: &str) -> CreateTask {
    CreateTask {
        task: id(task),
        needs: Needs {
            format: Format(1),
            project: ProjectId::new("coffee"),
            harnesses: [HarnessName::new("claude")].into(),
            labels: BTreeSet::new(),
        },
        priority: 0,
        after: BTreeSet::new(),
        parent: None,
        commits: vec![commit(Head::default(), "created", None)],
        texts: Vec::new(),
        summary: summary("open"),
    }
}

/// Task `t`, and runner `r` with home `h` in incarnation 1.
fn ledger() -> Ledger {
    let mut ledger = Ledger::new(OrgId::new("org"), LedgerTerms::default());
    ledger.create(at(0), &creation("t"));
    ledger.register(at(0), &register("r", "h", 0));
    ledger
}

fn work(ledger: &mut Ledger, name: &str, incarnation: u64, free: u32) -> WorkAnswer {
    let call = WorkRequest {
        incarnation: Incarnation(incarnation),
        free,
        parked: BTreeSet::new(),
    };
    ledger.work(at(1), &runner(name), &call)
}

fn claim(ledger: &mut Ledger) -> Claim {
    work(ledger, "r", 1, 1).claims.remove(0)
}

fn append(epoch: Epoch, base: Head, commits: &[Commit], status: &str) -> Append {
    let append = TaskAppend {
        task: id("t"),
        epoch,
        base: base.version,
        commits: commits.to_vec(),
        texts: Vec::new(),
        summary: summary(status),
    };
    Append {
        tasks: vec![append],
    }
}

fn appended(ledger: &mut Ledger, call: &Append) -> AppendResult {
    ledger.append(at(2), &runner("r"), call).tasks[0].result
}
