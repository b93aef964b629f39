//! The table of operations: each stands for one command.
//!
//! A command without a row here is in `TERMINAL_ONLY`, with the reason. A test of the program
//! compares both tables with the commands that exist.

use serde::Serialize;

use crate::limits::DEFAULT_WAIT;

/// What a device may do; a later one includes the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "DeviceScope")]
pub enum Scope {
    /// Ask questions.
    Read,
    /// Also do what the user may do with tasks, notes, jobs and issues.
    Act,
}

/// A way to call a command over HTTP.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Reads are `GET`, everything else is `POST` with a body in JSON.
    pub scope: Scope,
    /// The path; `{name}` is the parameter of that name.
    pub path: &'static str,
    /// The command.
    pub command: &'static str,
    /// The shape of its answer.
    pub shape: &'static str,
    /// Options that it always gets.
    pub fixed: &'static [&'static str],
    pub parameters: &'static [Parameter],
    /// Whether `If-Match` must say which version of the task the caller saw.
    pub needs_version: bool,
}

/// A value from a request.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub place: Place,
    pub kind: Kind,
    pub word: Word,
    pub is_required: bool,
    /// The word if the request leaves it out.
    pub default: Option<&'static str>,
}

/// Where a value stands in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Path,
    Query,
    /// A key of the JSON object in the body.
    Body,
}

/// What a value must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The id of a task.
    Task,
    /// The name of a project, status, role, job and the like.
    Name,
    /// The name of a workflow; with a dot it would be a file.
    Workflow,
    /// Several names.
    Names,
    /// The name of a published schema.
    Shape,
    Number,
    /// Seconds to wait.
    Wait,
    Integer,
    /// A commit's full hash.
    Commit,
    /// A duration such as `7d`.
    Period,
    Text,
    /// A text of at least two words: the command could take one word for the name of a branch.
    Summary,
    /// A text that the command would read from a file or its input if it began with `@` or were `-`.
    PlainText,
    Flag,
    Choice(&'static [&'static str]),
}

/// How a value becomes a word of the command line. A value is never a word of its own that could be
/// taken for an option: it is joined with its option, or stands behind `--`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Positional,
    Option(&'static str),
}

const fn get(path: &'static str, command: &'static str, shape: &'static str) -> Operation {
    Operation {
        scope: Scope::Read,
        path,
        command,
        shape,
        fixed: &[],
        parameters: &[],
        needs_version: false,
    }
}

const fn post(path: &'static str, command: &'static str, shape: &'static str) -> Operation {
    Operation {
        scope: Scope::Act,
        ..get(path, command, shape)
    }
}

impl Operation {
    const fn with(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    const fn fixed(self, fixed: &'static [&'static str]) -> Self {
        Self { fixed, ..self }
    }

    const fn versioned(self) -> Self {
        Self {
            needs_version: true,
            ..self
        }
    }

    /// Whether it is `GET`.
    pub fn is_read(&self) -> bool {
        self.scope == Scope::Read
    }

    /// A name that no other operation has, made of its path.
    pub fn id(&self) -> String {
        let parts = self.path.trim_start_matches("/api/v1/").split('/');
        let parts = parts.map(|part| part.trim_matches(['{', '}']).replace('-', "_"));
        let parts: Vec<String> = parts.collect();
        let method = if self.is_read() { "get" } else { "post" };
        format!("{method}_{}", parts.join("_"))
    }
}

const fn path(name: &'static str, kind: Kind) -> Parameter {
    Parameter {
        name,
        place: Place::Path,
        kind,
        word: Word::Positional,
        is_required: true,
        default: None,
    }
}

const fn query(name: &'static str, kind: Kind, option: &'static str) -> Parameter {
    Parameter {
        name,
        place: Place::Query,
        kind,
        word: Word::Option(option),
        is_required: false,
        default: None,
    }
}

const fn body(name: &'static str, kind: Kind, option: &'static str) -> Parameter {
    Parameter {
        place: Place::Body,
        ..query(name, kind, option)
    }
}

const fn flag(name: &'static str, option: &'static str) -> Parameter {
    body(name, Kind::Flag, option)
}

impl Parameter {
    const fn required(self) -> Self {
        Self {
            is_required: true,
            ..self
        }
    }

    const fn positional(self) -> Self {
        Self {
            word: Word::Positional,
            ..self
        }
    }

    const fn or(self, default: &'static str) -> Self {
        Self {
            default: Some(default),
            ..self
        }
    }
}

const TASK: Parameter = path("task", Kind::Task);
const NUMBER: Parameter = path("number", Kind::Number);
const PROJECT: Parameter = query("project", Kind::Name, "--project");
const PROJECT_OR_ALL: Parameter = PROJECT.or("--all");
const OF_PROJECT: Parameter = body("project", Kind::Name, "--project");
const MESSAGE: Parameter = body("message", Kind::Text, "--message");
const ROLE: Parameter = body("role", Kind::Name, "--role");
const CONFIRM: Parameter = flag("confirm", "--yes");
const WAIT: Parameter = body("wait", Kind::Wait, "--wait").or(DEFAULT_WAIT);

const CHANGE: &str = "orange.task.change/1";

const STRATEGIES: &[&str] = &["auto", "ff", "merge", "rebase", "squash"];

const NEW_TASK: &[Parameter] = &[
    body("summary", Kind::Summary, "").positional().required(),
    body("branch", Kind::Text, "--branch"),
    OF_PROJECT,
    body("context", Kind::PlainText, "--context"),
    body("workflow", Kind::Workflow, "--workflow"),
    body("harness", Kind::Name, "--harness"),
    body("review_harness", Kind::Name, "--review-harness"),
    body("model", Kind::Text, "--model"),
    body("effort", Kind::Name, "--effort"),
    body("review_effort", Kind::Name, "--review-effort"),
    body("labels", Kind::Names, "--label"),
    body("status", Kind::Name, "--status"),
    body("after", Kind::Names, "--after"),
    body("parent", Kind::Task, "--parent"),
    body("priority", Kind::Integer, "--priority"),
    body("issue", Kind::Number, "--issue"),
    flag("no_spawn", "--no-spawn"),
    WAIT,
];

/// Every operation.
pub const OPERATIONS: &[Operation] = &[
    get("/api/v1/attention", "attention", "orange.attention/1").fixed(&["--all"]),
    get("/api/v1/tasks", "task list", "orange.task.list/1").with(&[
        PROJECT_OR_ALL,
        query("status", Kind::Name, "--status"),
        query("all_statuses", Kind::Flag, "--all-statuses"),
        query("deleted", Kind::Flag, "--deleted"),
        query("tree", Kind::Flag, "--tree"),
        query("cost", Kind::Flag, "--cost"),
    ]),
    get("/api/v1/tasks/{task}", "task show", "orange.task.show/1")
        .with(&[TASK, query("document", Kind::Flag, "--document")]),
    get("/api/v1/tasks/{task}/why", "task why", "orange.task.why/1").with(&[TASK]),
    get(
        "/api/v1/tasks/{task}/diff",
        "task diff",
        "orange.task.diff/1",
    )
    .with(&[TASK, query("stat", Kind::Flag, "--stat")]),
    get(
        "/api/v1/tasks/{task}/history",
        "task history",
        "orange.task.history/1",
    )
    .with(&[TASK, query("all", Kind::Flag, "--all")]),
    get(
        "/api/v1/tasks/{task}/logs",
        "task logs",
        "orange.task.logs/1",
    )
    .with(&[TASK, query("role", Kind::Name, "--role")]),
    get(
        "/api/v1/tasks/{task}/path",
        "task path",
        "orange.task.path/1",
    )
    .with(&[TASK]),
    get(
        "/api/v1/tasks/{task}/sandbox",
        "sandbox explain",
        "orange.sandbox.explain/1",
    )
    .with(&[TASK]),
    get("/api/v1/compare", "task compare", "orange.task.compare/1").with(&[query(
        "tasks",
        Kind::Names,
        "",
    )
    .positional()
    .required()]),
    get("/api/v1/projects", "project list", "orange.project.list/1"),
    get(
        "/api/v1/projects/{project}",
        "project show",
        "orange.project.show/1",
    )
    .with(&[path("project", Kind::Name)]),
    get(
        "/api/v1/workflows",
        "workflow list",
        "orange.workflow.list/1",
    ),
    get(
        "/api/v1/workflows/{workflow}",
        "workflow show",
        "orange.workflow.show/1",
    )
    .with(&[path("workflow", Kind::Workflow)]),
    get(
        "/api/v1/workflows/{workflow}/graph",
        "workflow graph",
        "orange.workflow.graph/1",
    )
    .with(&[path("workflow", Kind::Workflow)]),
    get("/api/v1/notes", "note list", "orange.note.list/1").with(&[PROJECT_OR_ALL]),
    get("/api/v1/issues", "issue list", "orange.issue.list/1").with(&[PROJECT]),
    get(
        "/api/v1/issues/{number}",
        "issue show",
        "orange.issue.show/1",
    )
    .with(&[NUMBER, PROJECT]),
    get("/api/v1/jobs", "job list", "orange.job.list/1").with(&[query(
        "runs",
        Kind::Number,
        "--runs",
    )]),
    get("/api/v1/budget", "budget", "orange.budget/1"),
    get("/api/v1/harnesses", "harness list", "orange.harness.list/1"),
    get("/api/v1/doctor", "doctor", "orange.doctor/1"),
    get("/api/v1/config", "config show", "orange.config.show/1").with(&[PROJECT]),
    get("/api/v1/forge", "forge status", "orange.forge.status/1").with(&[PROJECT]),
    get("/api/v1/report", "report", "orange.report/1")
        .with(&[query("since", Kind::Period, "--since"), PROJECT]),
    get(
        "/api/v1/workspaces",
        "workspace list",
        "orange.workspace.list/1",
    )
    .with(&[PROJECT]),
    get("/api/v1/schemas", "schema", "orange.schema/1")
        .with(&[query("name", Kind::Shape, "").positional()]),
    post("/api/v1/tasks", "task create", CHANGE).with(NEW_TASK),
    post("/api/v1/tasks/{task}/steps", "task update", CHANGE)
        .with(&[
            TASK,
            body("to", Kind::Name, "--status").required(),
            body("head", Kind::Commit, "--head"),
            MESSAGE,
            CONFIRM,
            WAIT,
        ])
        .versioned(),
    post("/api/v1/tasks/{task}/complete", "task complete", CHANGE)
        .with(&[TASK, CONFIRM, WAIT])
        .versioned(),
    post("/api/v1/tasks/{task}/stuck", "task stuck", CHANGE)
        .with(&[TASK, MESSAGE, CONFIRM, WAIT])
        .versioned(),
    post(
        "/api/v1/tasks/{task}/request-changes",
        "task request-changes",
        CHANGE,
    )
    .with(&[
        TASK,
        MESSAGE,
        flag("merge_failure", "--merge-failure"),
        CONFIRM,
        WAIT,
    ])
    .versioned(),
    post("/api/v1/tasks/{task}/merge", "task merge", CHANGE)
        .with(&[
            TASK,
            body("head", Kind::Commit, "--if-head").required(),
            body("strategy", Kind::Choice(STRATEGIES), "--strategy"),
            flag("local", "--local"),
            CONFIRM,
            WAIT,
        ])
        .versioned(),
    post("/api/v1/tasks/{task}/cancel", "task cancel", CHANGE)
        .with(&[TASK, CONFIRM, WAIT])
        .versioned(),
    post("/api/v1/tasks/{task}/reopen", "task reopen", CHANGE)
        .with(&[TASK, CONFIRM, WAIT])
        .versioned(),
    post("/api/v1/tasks/{task}/spawn", "task spawn", CHANGE).with(&[
        TASK,
        flag("plan", "--plan"),
        CONFIRM,
        WAIT,
    ]),
    post("/api/v1/tasks/{task}/tell", "task tell", CHANGE).with(&[
        TASK,
        MESSAGE.required(),
        ROLE,
        WAIT,
    ]),
    post("/api/v1/tasks/{task}/stop", "task stop", CHANGE).with(&[TASK, ROLE, CONFIRM, WAIT]),
    post("/api/v1/tasks/{task}/restart", "task restart", CHANGE).with(&[TASK, ROLE, CONFIRM, WAIT]),
    post("/api/v1/tasks/{task}/respawn", "task respawn", CHANGE).with(&[TASK, ROLE, CONFIRM, WAIT]),
    post("/api/v1/tasks/{task}/retry", "task retry", CHANGE).with(&[TASK, MESSAGE, CONFIRM, WAIT]),
    post("/api/v1/tasks/{task}/unblock", "task unblock", CHANGE).with(&[TASK, CONFIRM, WAIT]),
    post(
        "/api/v1/tasks/{task}/keep",
        "task keep",
        "orange.task.keep/1",
    )
    .with(&[TASK, CONFIRM.required(), WAIT]),
    post("/api/v1/tasks/{task}/pull-request", "task pr", CHANGE).with(&[
        TASK,
        flag("draft", "--draft"),
        flag("ready", "--ready"),
        CONFIRM,
        WAIT,
    ]),
    post("/api/v1/tasks/{task}/clear-attention", "attention", CHANGE).with(&[Parameter {
        word: Word::Option("--clear"),
        ..TASK
    }]),
    post(
        "/api/v1/requests/{request}/allow",
        "allow",
        "orange.permission.answer/1",
    )
    .with(&[path("request", Kind::Task)]),
    post(
        "/api/v1/requests/{request}/deny",
        "deny",
        "orange.permission.answer/1",
    )
    .with(&[path("request", Kind::Task), MESSAGE]),
    post("/api/v1/notes", "note add", "orange.note/1").with(&[
        body("text", Kind::Text, "").positional().required(),
        OF_PROJECT,
    ]),
    post(
        "/api/v1/notes/{number}/accept",
        "note accept",
        "orange.note/1",
    )
    .with(&[NUMBER]),
    post(
        "/api/v1/notes/{number}/reject",
        "note reject",
        "orange.note/1",
    )
    .with(&[NUMBER]),
    post("/api/v1/jobs/{job}/enable", "job enable", "orange.job/1")
        .with(&[path("job", Kind::Name)]),
    post("/api/v1/jobs/{job}/disable", "job disable", "orange.job/1")
        .with(&[path("job", Kind::Name)]),
    post("/api/v1/jobs/{job}/run", "job run", "orange.job/1").with(&[path("job", Kind::Name)]),
    post(
        "/api/v1/issues/{number}/approve",
        "issue approve",
        "orange.issue.decision/1",
    )
    .with(&[NUMBER, OF_PROJECT, flag("no_start", "--no-start"), WAIT]),
    post(
        "/api/v1/issues/{number}/ignore",
        "issue ignore",
        "orange.issue.decision/1",
    )
    .with(&[NUMBER, OF_PROJECT]),
];

const NEEDS_TERMINAL: &str = "it needs a terminal";
const NEEDS_FILES: &str = "it reads or writes files that are named on the command line";
const SETS_UP: &str = "it changes what may run on this machine";
const DELETES: &str = "it deletes, and is not needed away from the machine";
const OF_AGENTS: &str = "agents and their hooks call it";
const OF_DEVICES: &str = "a device must not admit, list or revoke devices";

/// The commands without an operation, and why.
pub const TERMINAL_ONLY: &[(&str, &str)] = &[
    ("agent-event", OF_AGENTS),
    ("chat", NEEDS_TERMINAL),
    ("completions", "the shell calls it"),
    ("demo", NEEDS_TERMINAL),
    ("forge look", "the supervisor does it"),
    ("harness unpark", SETS_UP),
    ("inbox", OF_AGENTS),
    ("install", SETS_UP),
    ("job add", SETS_UP),
    ("job next", "`job list` says when each job is due"),
    ("job remove", DELETES),
    ("log", "it prints lines, not one answer"),
    ("man", NEEDS_FILES),
    ("mcp", OF_AGENTS),
    ("project add", SETS_UP),
    ("project remove", DELETES),
    ("project update", SETS_UP),
    ("rebuild", SETS_UP),
    ("runner drain", SETS_UP),
    ("runner join", SETS_UP),
    ("runner leave", SETS_UP),
    ("runner run", SETS_UP),
    ("runner status", "a fleet's server shows its runners"),
    ("sandbox port", NEEDS_TERMINAL),
    ("sandbox shell", NEEDS_TERMINAL),
    ("sandbox try", SETS_UP),
    ("serve", SETS_UP),
    ("server code", SETS_UP),
    ("server migrate", SETS_UP),
    ("server run", SETS_UP),
    ("task attach", NEEDS_TERMINAL),
    ("task delete", DELETES),
    ("task edit", NEEDS_TERMINAL),
    ("task restore", NEEDS_FILES),
    ("task shell", NEEDS_TERMINAL),
    ("task wait", "the event stream replaces it"),
    ("uninstall", DELETES),
    ("web", SETS_UP),
    ("web devices", OF_DEVICES),
    ("web openapi", "`/api/v1/openapi.json` is the same document"),
    ("web pair", OF_DEVICES),
    ("web revoke", OF_DEVICES),
    ("web webhook", SETS_UP),
    ("workflow check", NEEDS_FILES),
    ("workflow diff", NEEDS_FILES),
    ("workflow new", NEEDS_FILES),
    ("workflow schema", "editors read it"),
    ("workflow simulate", NEEDS_TERMINAL),
    ("workspace gc", DELETES),
    ("workspace init", SETS_UP),
    ("workspace remove", DELETES),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_operation_has_its_own_id_and_names_the_parameters_of_its_path() {
        let ids: BTreeSet<String> = OPERATIONS.iter().map(Operation::id).collect();
        assert_eq!(ids.len(), OPERATIONS.len());
        for operation in OPERATIONS {
            let named = operation.path.split('/');
            let named: Vec<&str> = named
                .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
                .collect();
            let places = |place: Place| {
                let those = operation.parameters.iter();
                those.filter(move |it| it.place == place).map(|it| it.name)
            };
            assert_eq!(
                places(Place::Path).collect::<Vec<_>>(),
                named,
                "{}",
                operation.path
            );
            let unread = if operation.is_read() {
                Place::Body
            } else {
                Place::Query
            };
            assert_eq!(places(unread).count(), 0, "{}", operation.path);
        }
    }

    #[test]
    fn a_command_is_an_operation_or_only_for_the_terminal() {
        for (command, reason) in TERMINAL_ONLY {
            let both = OPERATIONS.iter().any(|it| it.command == *command);
            assert!(!both && !reason.is_empty(), "{command}");
        }
    }
}
