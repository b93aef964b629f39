//! An example of every shape of each message.

use orange_fleet::capability::{Capabilities, Needs};
use orange_fleet::chain::{Commit, Head, Sha};
use orange_fleet::ids::{
    Epoch, Format, HarnessName, HomeId, Incarnation, Label, MailId, PersonId, ProjectId,
    RequestKey, RunnerId, TaskId, Version,
};
use orange_fleet::json::Json;
use orange_fleet::message::{
    Adopt, AdoptAnswer, Append, AppendAnswer, AppendResult, Beat, BeatAnswer, Change, Changes,
    Claim, CreateAnswer, CreateTask, EndedTask, GiveBack, HeldTask, HoldingAnswer, Mail,
    MailAnswer, MailResult, OwnedTask, PostRequest, Register, RegisterAnswer, RequestState,
    RequestStatus, Rest, Sender, Summary, TaskAppend, TaskResult, TaskState, TaskView, Text, Want,
    Wip, WorkAnswer, WorkRequest,
};
use orange_fleet::time::{Period, Timestamp};

/// With spaces and a number that a parser would write in another way.
pub const EVENT: &str = r#"{ "type": "status_changed", "cost": 1.50 }"#;

fn task() -> TaskId {
    TaskId::new("k3f9")
}

fn other() -> TaskId {
    TaskId::new("jdz2")
}

fn json(text: &str) -> Json {
    Json::new(text).unwrap()
}

fn text() -> Text {
    Text {
        sha: Sha::of(b"# Task\n"),
        content: "# Task\n".to_owned(),
    }
}

fn commits() -> Vec<Commit> {
    let first = Commit::new(
        Head::default(),
        vec![json(EVENT), json("2")],
        vec![text().sha],
        None,
    );
    let first = first.unwrap();
    let mail = Some(MailId::new("m1"));
    let second = Commit::new(first.head(), vec![json("[3]")], Vec::new(), mail).unwrap();
    vec![first, second]
}

fn head() -> Head {
    commits()[1].head()
}

fn summary(ended: bool) -> Summary {
    Summary {
        status: if ended { "merged" } else { "open" }.to_owned(),
        ended,
        shown: json(r#"{"title":"Greet in French"}"#),
    }
}

fn needs() -> Needs {
    Needs {
        format: Format(3),
        project: ProjectId::new("coffee"),
        harnesses: [HarnessName::new("claude")].into(),
        labels: [Label::new("integrator")].into(),
    }
}

fn claim() -> Claim {
    Claim {
        task: task(),
        epoch: Epoch(5),
        head: head(),
        commits: commits(),
        texts: vec![text()],
        wip: Some(wip().remove(0)),
        elsewhere: vec![EndedTask {
            task: other(),
            status: "merged".to_owned(),
        }],
    }
}

pub fn register() -> Vec<Register> {
    vec![Register {
        runner: RunnerId::new("each"),
        home: HomeId::new("h-91c2"),
        seen: Incarnation(2),
        lost_after: Period::seconds(90),
        capabilities: Capabilities {
            format: Format(3),
            projects: [ProjectId::new("coffee")].into(),
            harnesses: [HarnessName::new("claude"), HarnessName::new("codex")].into(),
            labels: [Label::new("integrator")].into(),
        },
    }]
}

pub fn register_answer() -> Vec<RegisterAnswer> {
    vec![
        RegisterAnswer::Registered {
            incarnation: Incarnation(3),
            lost_after: Period::seconds(90),
        },
        RegisterAnswer::Taken {
            incarnation: Incarnation(4),
            replaced: true,
        },
    ]
}

pub fn beat() -> Vec<Beat> {
    vec![Beat {
        home: HomeId::new("h-91c2"),
        incarnation: Incarnation(3),
        held: vec![HeldTask {
            task: task(),
            epoch: Epoch(5),
            acknowledged: Version(3),
        }],
        free: 2,
        parked: [HarnessName::new("codex")].into(),
        activity: json(r#"{"k3f9":"busy"}"#),
    }]
}

pub fn beat_answer() -> Vec<BeatAnswer> {
    let owned = |task, epoch| OwnedTask { task, epoch };
    vec![
        BeatAnswer::Alive {
            lost_after: Period::seconds(90),
            now: Timestamp(1_700_000_000_000),
            lost: vec![owned(task(), Epoch(5))],
            yours: vec![owned(other(), Epoch(6))],
            want: Want::Hold,
        },
        BeatAnswer::Alive {
            lost_after: Period::seconds(90),
            now: Timestamp(1_700_000_000_000),
            lost: Vec::new(),
            yours: Vec::new(),
            want: Want::Drain,
        },
        BeatAnswer::Stale {
            incarnation: Incarnation(4),
            replaced: false,
        },
    ]
}

pub fn work_request() -> Vec<WorkRequest> {
    vec![WorkRequest {
        incarnation: Incarnation(3),
        free: 2,
        parked: [HarnessName::new("codex")].into(),
    }]
}

pub fn work_answer() -> Vec<WorkAnswer> {
    let mail = |id: &str, from| Mail {
        id: MailId::new(id),
        task: task(),
        from,
        ask: json(r#"{"verb":"cancel"}"#),
    };
    vec![WorkAnswer {
        incarnation: Incarnation(3),
        claims: vec![claim()],
        mail: vec![
            mail("m1", Sender::Person(PersonId::new("ann"))),
            mail("m2", Sender::Child(other())),
        ],
    }]
}

pub fn append() -> Vec<Append> {
    vec![Append {
        tasks: vec![TaskAppend {
            task: task(),
            epoch: Epoch(5),
            base: Version(0),
            commits: commits(),
            texts: vec![text()],
            summary: summary(false),
        }],
    }]
}

pub fn append_answer() -> Vec<AppendAnswer> {
    let results = [
        AppendResult::Ok {
            version: Version(3),
        },
        AppendResult::Fenced,
        AppendResult::Behind { head: head() },
        AppendResult::Conflict,
    ];
    let results = results.into_iter().map(|result| TaskResult {
        task: task(),
        epoch: Epoch(5),
        result,
    });
    vec![AppendAnswer {
        tasks: results.collect(),
    }]
}

pub fn give_back() -> Vec<GiveBack> {
    let until = Timestamp(1_700_000_000_000);
    let rests = [Rest::Offered, Rest::Idle, Rest::Paused { until }];
    let calls = rests.into_iter().map(|rest| GiveBack {
        task: task(),
        epoch: Epoch(5),
        rest,
    });
    calls.collect()
}

pub fn holding_answer() -> Vec<HoldingAnswer> {
    vec![HoldingAnswer::Ok, HoldingAnswer::Fenced]
}

pub fn adopt() -> Vec<Adopt> {
    let adopt = |held| Adopt {
        task: task(),
        incarnation: Incarnation(3),
        seen: Epoch(5),
        held,
    };
    vec![adopt(None), adopt(Some(Epoch(6)))]
}

pub fn adopt_answer() -> Vec<AdoptAnswer> {
    let answer = |claim| AdoptAnswer {
        task: task(),
        incarnation: Incarnation(3),
        seen: Epoch(4),
        claim,
    };
    vec![answer(Some(claim())), answer(None)]
}

pub fn wip() -> Vec<Wip> {
    vec![Wip {
        epoch: Epoch(5),
        number: 2,
        base: "9fceb02d0ae598e95dc970b74767f19372d61af8".to_owned(),
        bundle: "IyB2MiBnaXQgYnVuZGxl".to_owned(),
        document: "# Task\n".to_owned(),
        imported: Some(text().sha),
    }]
}

pub fn mail_answer() -> Vec<MailAnswer> {
    vec![MailAnswer {
        task: task(),
        epoch: Epoch(5),
        answer: json(r#"{"refused":"not available"}"#),
    }]
}

pub fn mail_result() -> Vec<MailResult> {
    vec![MailResult::Ok, MailResult::Decided, MailResult::Fenced]
}

pub fn create_task() -> Vec<CreateTask> {
    vec![CreateTask {
        task: task(),
        needs: needs(),
        priority: 1,
        after: [other()].into(),
        parent: Some(TaskId::new("rkrr")),
        commits: commits(),
        texts: vec![text()],
        summary: summary(false),
    }]
}

pub fn create_answer() -> Vec<CreateAnswer> {
    vec![CreateAnswer::Ok, CreateAnswer::Taken, CreateAnswer::Invalid]
}

pub fn post_request() -> Vec<PostRequest> {
    vec![PostRequest {
        key: RequestKey::new("01J9"),
        ask: json(r#"{"verb":"cancel"}"#),
    }]
}

pub fn request_state() -> Vec<RequestState> {
    let state = |status, version, answer| RequestState {
        id: MailId::new("m1"),
        status,
        version,
        answer,
    };
    vec![
        state(RequestStatus::Open, None, None),
        state(RequestStatus::Recorded, Some(Version(3)), None),
        state(
            RequestStatus::Answered,
            None,
            Some(json(r#"{"refused":true}"#)),
        ),
    ]
}

pub fn task_view() -> Vec<TaskView> {
    let until = Timestamp(1_700_000_000_000);
    let states = [
        TaskState::Offered,
        TaskState::Held {
            runner: RunnerId::new("each"),
            epoch: Epoch(5),
        },
        TaskState::Idle,
        TaskState::Blocked {
            after: [other()].into(),
        },
        TaskState::Paused { until },
        TaskState::Ended,
    ];
    let views = states.into_iter().map(|state| TaskView {
        task: task(),
        project: ProjectId::new("coffee"),
        summary: summary(state == TaskState::Ended),
        state,
        head: head(),
    });
    views.collect()
}

pub fn changes() -> Vec<Changes> {
    let rows = commits().into_iter().map(|commit| Change {
        task: task(),
        epoch: Epoch(5),
        commit,
    });
    vec![Changes {
        rows: rows.collect(),
        next: 17,
    }]
}
