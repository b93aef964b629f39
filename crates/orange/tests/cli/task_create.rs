//! `orange task create`: argument meanings, refusals, and how work starts.

mod from;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use orange_engine::names::TaskId;
use orange_engine::role::Role;
use serde_json::{Value, json};

use crate::support::{Stage, Terminal};
use crate::task_spawn::{ABSENT, assert_failure_reported, create, id, with_absent_agent};

/// A harness that supports every option.
const TUNED: &str = r#"name = "tuned"
binary = "AGENT"
[args]
full    = ["--prompt-file", "{prompt_file}", ["--model", "{model}"], ["--effort", "{effort}"]]
reduced = ["--prompt-file", "{prompt_file}", ["--model", "{model}"], ["--effort", "{effort}"]]
"#;

impl Stage {
    fn define_tuned_harness(&self) {
        let text = TUNED.replace("AGENT", self.path("agent").to_str().unwrap());
        fs::write(self.path("home/harnesses/tuned.toml"), text).unwrap();
    }

    fn create_json(&self, arguments: &[&str]) -> (i32, Value) {
        let typed = [&["task", "create", "--json"], arguments].concat();
        self.json(&typed)
    }

    fn tasks(&self) -> usize {
        let (_, listed) = self.json(&["task", "list", "--json"]);
        listed["tasks"].as_array().map_or(0, Vec::len)
    }

    /// The arguments of a role's runs, without the prompt.
    fn arguments_of(&self, id: &TaskId, role: &str) -> Vec<String> {
        let runs = self.store().runs(id).unwrap();
        let run = runs.into_iter().find(|it| it.role.as_str() == role);
        let argv = run.unwrap().setup.unwrap().argv;
        argv[3..].to_vec()
    }
}

#[test]
fn a_branch_without_a_name_is_called_after_the_summary() {
    let stage = Stage::new("minimal");
    let create = |summary: &str, template: Option<&str>| {
        let mut orange = stage.orange(&["new", "--no-spawn", "--json", summary]);
        orange.env_remove("ORANGE_BRANCH");
        orange.envs(template.map(|it| ("ORANGE_BRANCH", it)));
        let output = orange.output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(output.status.success(), "{answer}");
        let field = |name: &str| answer["task"][name].as_str().unwrap().to_owned();
        (field("id"), field("branch"))
    };
    assert_eq!(create("Fix the login!", None).1, "fix-the-login");
    // An open task has the name.
    let (id, branch) = create("Fix the login", None);
    assert_eq!(branch, format!("fix-the-login-{id}"));
    // A branch has the name: it may hold other work.
    assert!(stage.git("branch fix-the-logout").status.success());
    let (id, branch) = create("Fix the logout", None);
    assert_eq!(branch, format!("fix-the-logout-{id}"));
    let (id, branch) = create("?!", None);
    assert_eq!(branch, format!("orange-tasks/{id}"));
    assert_eq!(
        create("Fix the login", Some("me/{summary}")).1,
        "me/fix-the-login"
    );
}

#[test]
fn the_arguments_are_a_branch_and_a_summary() {
    let stage = Stage::new("default");
    let table: [(&[&str], Option<&str>, &str); 6] = [
        (
            &["fix-login", "Fix the login"],
            Some("fix-login"),
            "Fix the login",
        ),
        (&["Fix the logout"], None, "Fix the logout"),
        (&["fix-logout"], Some("fix-logout"), ""),
        (&["What?"], None, "What?"),
        (&["--", "--json"], None, "--json"),
        (&["One", "--branch", "one"], Some("one"), "One"),
    ];
    for (words, branch, summary) in table {
        let (code, answer) = stage.create_json(&[&["--no-spawn"], words].concat());
        assert_eq!(code, 0, "{words:?}: {answer}");
        let usual = format!("orange-tasks/{}", id(&answer));
        assert_eq!(
            answer["task"]["branch"],
            branch.unwrap_or(&usual),
            "{words:?}"
        );
        assert_eq!(answer["task"]["summary"], summary, "{words:?}");
        assert_eq!(answer["task"]["status"], "pending", "{words:?}");
    }
    let wrong: [&[&str]; 2] = [
        &["task", "create", "fix", "Fix it", "--branch", "other"],
        &["task", "create", "fix", "Fix", "it"],
    ];
    let text: Vec<String> = wrong.iter().map(|it| stage.transcript(it)).collect();
    insta::assert_snapshot!(text.join("\n"));
    assert_eq!(stage.tasks(), table.len());
}

#[test]
fn a_new_task_starts_automatically() {
    let stage = Stage::new("default");
    let output = stage.transcript(&["task", "create", "fix", "Fix it", "--wait", "60"]);
    insta::assert_snapshot!(output);
    stage.wait_for_turn("worker-1");
    let (code, answer) = stage.create_json(&["Fix more", "--wait", "60"]);
    assert_eq!((code, &answer["outcome"]), (0, &"succeeded".into()));
    assert_eq!(answer["task"]["status"], "planning");
    let types: Vec<&str> = answer["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["type"].as_str())
        .filter(|it| it.starts_with("task.") || it.starts_with("status."))
        .collect();
    assert_eq!(types, ["task.created", "status.changed"]);
    let waiting = stage.transcript(&["task", "create", "later", "Not now", "--no-spawn"]);
    insta::assert_snapshot!("not_started", waiting);
}

#[test]
fn an_empty_summary_waits_and_is_clarified() {
    let stage = Stage::new("default");
    let waiting = stage.create(&["fix"]);
    assert_eq!(stage.task(&waiting).status.as_str(), "pending");
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    assert_eq!(stage.task(&waiting).status.as_str(), "clarification");
}

#[test]
fn a_single_word_is_reported_as_the_branch() {
    let stage = Stage::new("default");
    let create = |words: &[&str]| {
        let (code, output) = stage.call(&[&["new", "--no-spawn"], words].concat());
        assert_eq!(code, 0, "{output}");
        output.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let output = create(&["Refactor"]);
    let text = "hint: `Refactor` is the branch, and there is no summary; to give one, run `orange \
                task update ";
    assert!(output.contains(text), "{output}");
    for words in [
        &["fix", "Fix it"] as &[&str],
        &["Fix the login"],
        &["other", "--context", "Fix it"],
    ] {
        let output = create(words);
        assert!(!output.contains("hint"), "{output}");
    }
    let (_, answer) = stage.create_json(&["again", "--no-spawn"]);
    assert_eq!(answer["task"]["branch"], "again");
}

#[test]
fn existing_work_enters_a_review() {
    let stage = Stage::new("default");
    stage.git("branch there");
    for (status, branch) in [("agent-review", "there"), ("reviewing", "here")] {
        let (code, answer) =
            stage.create_json(&[branch, "Look at it", "--status", status, "--wait", "60"]);
        assert_eq!(code, 0, "{answer}");
        assert_eq!(answer["task"]["status"], status);
        assert!(answer.get("not_started").is_none(), "{answer}");
    }
}

#[test]
fn a_failed_start_keeps_the_task_and_names_the_retry() {
    let stage = Stage::new("default");
    stage.configure("setup", &json!(["sh", "-c", "exit 7"]));
    let (code, text) = stage.call(&["task", "create", "fix", "Fix it", "--wait", "60"]);
    assert_eq!(code, 6, "{text}");
    let id = stage.driver().callers.resolve_task(Some("fix")).unwrap();
    assert_eq!(stage.task(&id).status.as_str(), "pending");
    let text = text.replace("\n      ", " ");
    assert!(text.contains("acquire_workspace failed"), "{text}");
    assert!(
        text.contains(&format!("`orange task spawn {id}` starts the work")),
        "{text}"
    );
    stage.wait_until_idle(&id);
    stage.configure("setup", &json!([]));
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
}

#[test]
fn a_refused_start_keeps_the_task() {
    let stage = Stage::new("default");
    let closed = "\
name: closed
version: 1
states:
  open: { kind: queued }
  busy: { kind: human }
  shut: { kind: terminal }
transitions:
  - { from: open, to: busy, by: engine }
  - { from: open, to: shut, by: human }
  - { from: busy, to: shut, by: human }
verbs:
  spawn: busy
  cancel: shut
";
    fs::create_dir_all(stage.home().workflows()).unwrap();
    fs::write(stage.home().workflows().join("closed.yml"), closed).unwrap();
    let create = ["task", "create", "fix", "Fix it", "--workflow", "closed"];
    insta::assert_snapshot!(stage.transcript(&create));
    let (code, answer) = stage.create_json(&["other", "Fix it", "--workflow", "closed"]);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["outcome"], "succeeded");
    assert_eq!(answer["not_started"]["code"], "refused");
    assert_eq!(stage.tasks(), 2);
}

#[test]
fn an_agent_may_create_a_subtask_and_it_starts_automatically() {
    let stage = Stage::new("default");
    stage.script("worker-1", "ask task create more 'More to do'");
    stage.run_ok(&["task", "create", "fix", "Fix it", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let calls = stage.calls();
    assert!(calls.contains("-> 0"), "{calls}");
    let more = stage.driver().callers.resolve_task(Some("more")).unwrap();
    stage.wait_for_status(&more, "planning");
    let task = stage.task(&more);
    assert_eq!(task.project.as_str(), "app");
    assert_eq!(
        task.queueing.parent,
        Some(stage.driver().callers.resolve_task(Some("fix")).unwrap())
    );
    assert_eq!(task.entered.by, Role::Engine, "no agent starts another");
}

#[test]
fn only_the_user_starts_tasks_of_by_human_workflows() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "ask task create more 'More to do' --workflow sides",
    );
    fs::create_dir_all(stage.path("home/workflows")).unwrap();
    fs::write(
        stage.path("home/workflows/sides.yml"),
        crate::support::gates::SIDES,
    )
    .unwrap();
    stage.run_ok(&["task", "create", "fix", "Fix it", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let calls = stage.calls().replace("\n      ", " ");
    assert!(calls.contains("-> 0"), "{calls}");
    assert!(calls.contains("only the user may start it"), "{calls}");
    let more = stage.driver().callers.resolve_task(Some("more")).unwrap();
    assert_eq!(stage.task(&more).status.as_str(), "open");
}

#[test]
fn a_context_is_a_text_a_file_or_stdin() {
    let stage = Stage::new("default");
    let file = stage.path("context.md");
    fs::write(&file, "from a file").unwrap();
    let text = stage.create(&["one", "--context", "# Read\n- this"]);
    assert!(
        stage.task_text(&text).contains("### Read\n- this"),
        "{}",
        stage.task_text(&text)
    );
    let at = format!("@{}", file.display());
    let id = stage.create(&["two", "--context", &at]);
    assert!(stage.task_text(&id).contains("from a file"));
    let mut typed = stage.orange(&["task", "create", "three", "--no-spawn", "--context", "-"]);
    let mut child = typed
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"from the input")
        .unwrap();
    assert!(child.wait().unwrap().success());
    let id = stage.driver().callers.resolve_task(Some("three")).unwrap();
    assert!(stage.task_text(&id).contains("from the input"));
    let absent = ["task", "create", "four", "--context", "@nowhere.md"];
    insta::assert_snapshot!(stage.transcript(&absent));
    let (code, answer) = stage.json(&[&absent[..], &["--json"]].concat());
    assert_eq!(
        (code, &answer["error"]["code"]),
        (2, &"context-unreadable".into())
    );
    assert_eq!(stage.tasks(), 3);
}

#[test]
fn model_and_effort_reach_the_agents() {
    let stage = Stage::new("default");
    stage.define_tuned_harness();
    let options = ["--harness", "tuned", "--model", "large", "--effort", "high"];
    let typed = [
        &["fix", "Fix it", "--review-effort", "low", "--wait", "60"],
        &options[..],
    ];
    let (code, answer) = stage.create_json(&typed.concat());
    assert_eq!(code, 0, "{answer}");
    let id = id(&answer);
    assert_eq!(
        stage.arguments_of(&id, "worker"),
        ["--model", "large", "--effort", "high"]
    );
    stage.rebuild(&id);
    // Another agent reviews: the model and the effort do not apply to it.
    let arguments = [
        "there",
        "Look at it",
        "--status",
        "agent-review",
        "--wait",
        "60",
    ];
    let other = [&arguments[..], &options, &["--review-harness", "script"]].concat();
    let (code, answer) = stage.create_json(&other);
    assert_eq!(code, 0, "{answer}");
    let other = TaskId::new(answer["task"]["id"].as_str().unwrap());
    assert_eq!(stage.arguments_of(&other, "reviewer"), [] as [&str; 0]);
    let same = [&["current_kind"], &arguments[1..], &options].concat();
    let (_, answer) = stage.create_json(&same);
    let same = TaskId::new(answer["task"]["id"].as_str().unwrap());
    assert_eq!(
        stage.arguments_of(&same, "reviewer"),
        ["--model", "large", "--effort", "high"]
    );
}

#[test]
fn impossible_tasks_are_refused_immediately() {
    let stage = Stage::new("default");
    stage.define_tuned_harness();
    let table: [(&[&str], i32, &str); 8] = [
        (&["--workflow", "nothing"], 4, "workflow-not-found"),
        (&["--harness", "nobody"], 4, "harness-not-found"),
        (&["--review-harness", "nobody"], 4, "harness-not-found"),
        (&["--model", "large"], 3, "harness-unusable"),
        (&["--effort", "high"], 3, "harness-unusable"),
        (&["--review-effort", "high"], 3, "harness-unusable"),
        (&["--harness", "tuned", "--model=-x"], 3, "harness-unusable"),
        (&["--project", "nowhere"], 4, "project-not-found"),
    ];
    let mut text = String::new();
    for (options, exit, error) in table {
        let create = [&["task", "create", "fix", "Fix it"], options].concat();
        text.push_str(&stage.transcript(&create));
        let (code, answer) = stage.json(&[&create[..], &["--json"]].concat());
        assert_eq!(
            (code, &answer["error"]["code"]),
            (exit, &error.into()),
            "{answer}"
        );
    }
    insta::assert_snapshot!(text);
    assert!(!stage.home().tasks().exists());
}

#[test]
fn a_branch_belongs_to_one_task_at_a_time() {
    let stage = Stage::new("default");
    let first = stage.create(&["fix", "Fix it"]);
    let again = ["task", "create", "fix", "Fix it again", "--no-spawn"];
    insta::assert_snapshot!(stage.transcript(&again));
    let (code, answer) = stage.json(&[&again[..], &["--json"]].concat());
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &"branch-taken".into())
    );
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains(first.as_str())
    );
    // A rename cannot take the name either.
    stage.git("branch fix");
    let other = stage.create(&["other", "Fix it too"]);
    let (code, answer) = stage.json(&["task", "update", "other", "--branch", "fix", "--json"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &"branch-taken".into()),
        "{answer}"
    );
    assert_eq!(stage.task(&other).branch.as_str(), "other");
    stage.run_ok(&["task", "cancel", first.as_str(), "--wait", "60"]);
    stage.run_ok(&again);
}

#[test]
fn concurrent_creates_of_one_branch_make_one_task() {
    let stage = Stage::new("default");
    let create = ["task", "create", "fix", "Fix it", "--no-spawn"];
    let children: Vec<_> = (0..8)
        .map(|_| {
            let mut orange = stage.orange(&create);
            orange.stdout(Stdio::piped()).stderr(Stdio::piped());
            orange.spawn().unwrap()
        })
        .collect();
    let outputs = children
        .into_iter()
        .map(|it| it.wait_with_output().unwrap());
    let mut outputs: Vec<_> = outputs.collect();
    outputs.sort_by_key(|output| output.status.code());
    let codes: Vec<_> = outputs.iter().filter_map(|it| it.status.code()).collect();
    assert_eq!(codes, [0, 3, 3, 3, 3, 3, 3, 3], "{outputs:#?}");
    assert_eq!(stage.tasks(), 1);
}

#[test]
fn a_repository_in_any_directory_can_be_used() {
    let stage = Stage::new("default");
    for (directory, project) in [
        ("my tea.io", "my-tea-io"),
        ("x/repo", "repo"),
        ("y/repo", "repo-2"),
    ] {
        let fresh = stage.path(directory);
        fs::create_dir_all(&fresh).unwrap();
        for call in [
            "init -q -b main",
            "-c user.email=a@example.org -c user.name=A commit -q --allow-empty -m first",
        ] {
            assert!(stage.git_in(&fresh, call).status.success(), "git {call}");
        }
        let mut orange = stage.orange(&["new", "Fix it", "--no-spawn", "--json"]);
        let output = orange.current_dir(&fresh).output().unwrap();
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["task"]["project"], project, "{answer}");
    }
}

#[test]
fn the_first_task_registers_the_repository() {
    let stage = Stage::new("default");
    let fresh = stage.path("tea");
    fs::create_dir_all(fresh.join("below")).unwrap();
    for call in [
        "init -q -b main",
        "config user.email agent@example.org",
        "config user.name Agent",
        "commit -q --allow-empty -m first",
    ] {
        assert!(stage.git_in(&fresh, call).status.success(), "git {call}");
    }
    let at = |arguments: &[&str]| {
        let mut orange = stage.orange(arguments);
        orange.current_dir(fresh.join("below"));
        let output = orange.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (
            output.status.code().unwrap(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    // Reads never write.
    assert_eq!(at(&["task", "list"]).0, 0);
    let registered = fs::read_to_string(stage.home().projects()).unwrap();
    assert!(!registered.contains("tea"));

    // Without a usable harness nothing is registered.
    let definition = stage.path("home/harnesses/script.toml");
    let text = fs::read_to_string(&definition).unwrap();
    fs::remove_file(&definition).unwrap();
    let (code, _, message) = at(&["task", "create", "fix", "Fix it", "--no-spawn"]);
    assert_eq!(code, 2, "{message}");
    let message = message.replace("\n      ", " ");
    assert!(message.contains("--harness NAME"), "{message}");
    let folder = stage.home().harnesses();
    assert!(message.contains(folder.to_str().unwrap()), "{message}");
    assert_eq!(
        fs::read_to_string(stage.home().projects()).unwrap(),
        registered
    );
    // Neither is anything registered for a refused task.
    fs::write(&definition, &text).unwrap();
    let (code, _, _) = at(&["task", "create", "fix", "Fix it", "--workflow", "nothing"]);
    assert_eq!(code, 4);
    assert_eq!(
        fs::read_to_string(stage.home().projects()).unwrap(),
        registered
    );

    // The first installed harness by name, with a separate notice next to the answer: it says what
    // the workers may do without asking.
    let restricted = text.replace("reduced = [", "reduced = [\"--ask\", ");
    assert_ne!(restricted, text);
    fs::write(&definition, restricted).unwrap();
    fs::write(
        stage.path("home/harnesses/absent.toml"),
        "name = \"absent\"\nbinary = \"/nowhere/agent\"\n[args]\nfull = []\nreduced = []\n",
    )
    .unwrap();
    let (code, answer, message) = at(&["task", "create", "fix", "Fix it", "--no-spawn", "--json"]);
    assert_eq!(code, 0, "{answer}{message}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["task"]["project"], "tea");
    assert_eq!(answer["task"]["harness"], "script");
    insta::assert_snapshot!(stage.normalize(&message));
    let (code, _, message) = at(&["task", "create", "other", "Fix it", "--no-spawn"]);
    assert_eq!((code, message.as_str()), (0, ""), "printed once");
    fs::write(&definition, text).unwrap();

    // Another worktree of the same repository belongs to the project.
    let call = format!("worktree add -q {}", stage.path("beside").display());
    assert!(stage.git_in(&fresh, &call).status.success());
    let mut orange = stage.orange(&["task", "create", "third", "Fix it", "--no-spawn", "--json"]);
    let output = orange.current_dir(stage.path("beside")).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["task"]["project"], "tea", "{answer}");
}

#[test]
fn the_harness_in_the_settings_counts_in_an_unregistered_repository() {
    let stage = Stage::new("default");
    let fresh = stage.path("tea");
    fs::create_dir(&fresh).unwrap();
    for call in [
        "init -q -b main",
        "-c user.name=A -c user.email=a@b.c commit -q --allow-empty -m first",
    ] {
        assert!(stage.git_in(&fresh, call).status.success(), "git {call}");
    }
    // Installed too, and first by name.
    let definition = fs::read_to_string(stage.path("home/harnesses/script.toml")).unwrap();
    let definition = definition.replace("\"script\"", "\"another\"");
    fs::write(stage.path("home/harnesses/another.toml"), definition).unwrap();
    let config = stage.path("home/config.toml");
    let mut text = String::from("harness = \"script\"\n");
    text.push_str(&fs::read_to_string(&config).unwrap_or_default());
    text.push_str("[sandbox]\nmode = \"off\"\n");
    fs::write(&config, text).unwrap();
    let mut orange = stage.orange(&["task", "create", "Fix it", "--no-spawn", "--json"]);
    let output = orange.current_dir(&fresh).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["task"]["harness"], "script", "{answer}");
    // This one starts alike at every permission level.
    let narrated = String::from_utf8(output.stderr).unwrap();
    let narrated = narrated.replace("\n    ", " ");
    for part in [
        "and the harness `script`;",
        "`script` knows no reduced permissions",
        "`orange project update tea --harness NAME`",
    ] {
        assert!(narrated.contains(part), "{part}: {narrated}");
    }
}

#[test]
fn a_missing_harness_lists_the_searched_paths() {
    let stage = Stage::new("default");
    let (code, output) = stage.call(&["task", "create", "--harness", "nobody", "Add a line"]);
    assert_eq!(code, 4, "{output}");
    let folder = stage.home().harnesses();
    assert!(
        output.contains(&format!("in `{}/NAME.toml`", folder.display())),
        "{output}"
    );
    assert!(
        output.contains("orange project update --harness NAME"),
        "{output}"
    );
    let (code, output) = stage.call(&["task", "create", "--harness", "cluade", "Add a line"]);
    assert_eq!(code, 4, "{output}");
    assert!(output.contains("did you mean `claude`?"), "{output}");
}

#[test]
fn create_reports_a_failed_start_and_it_needs_you() {
    let stage = with_absent_agent();
    let (code, answer) = create(&stage, &["one", "Add a line", "--harness", "gone"]);
    assert_failure_reported(&stage, code, &answer);
    // A successful start removes the entry.
    let id = id(&answer);
    let working = ABSENT.replace("/nowhere/agent", stage.path("agent").to_str().unwrap());
    fs::write(stage.path("home/harnesses/gone.toml"), working).unwrap();
    stage.wait_until_idle(&id);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_status(&id, "planning");
    assert_eq!(stage.task(&id).attention, [] as [&str; 0]);
}

#[test]
fn the_project_is_named_when_the_directory_does_not_say_it() {
    let stage = Stage::new("minimal");
    let create = |directory: &std::path::Path| {
        let mut command = stage.orange(&["task", "create", "--no-spawn", "Fix the login"]);
        let output = command.current_dir(directory).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let narrated = create(&stage.path("scripts"));
    let named = "using project `app`, the only one that is registered";
    assert!(narrated.contains(named), "{narrated}");
    let narrated = create(&stage.path("repo"));
    assert!(!narrated.contains("using project"), "{narrated}");
}

#[test]
fn without_a_description_the_editor_opens_and_nothing_written_is_lost() {
    let stage = Stage::new("default");
    let (code, output) = stage.call(&["new", "--no-spawn"]);
    assert_eq!(code, 2, "{output}");
    assert!(output.contains("no summary was given"), "{output}");
    let editor = stage.path("editor");
    let write = |script: &str| {
        fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&editor, fs::Permissions::from_mode(0o700)).unwrap();
    };
    let line = format!("EDITOR={} orange new --no-spawn", editor.display());
    write("exit 0");
    let terminal = Terminal::start(&stage, "nothing", 100, &line);
    let screen = terminal.finish();
    assert!(
        screen.contains("you wrote nothing") && screen.contains("[exit 2]"),
        "{screen}"
    );
    write(
        "printf 'Fix the login\\n\\nIt fails with\\n# a heading\\n' | cat - $1 > $1.new; mv $1.new $1",
    );
    let terminal = Terminal::start(&stage, "described", 100, &line);
    let screen = terminal.finish();
    assert!(screen.contains("[exit 0]"), "{screen}");
    let (_, listed) = stage.json(&["ls", "--json"]);
    let task = &listed["tasks"][0];
    assert_eq!(task["summary"], "Fix the login", "{listed}");
    let text = stage.task_text(&TaskId::new(task["id"].as_str().unwrap()));
    assert!(
        text.contains("It fails with") && text.contains("a heading"),
        "{text}"
    );
    assert!(!text.contains("everything below"), "{text}");
    // An editor that fails after it saved: the text is kept where the error says.
    write("echo 'Fix the logout' > $1; exit 1");
    let terminal = Terminal::start(&stage, "failed", 200, &line);
    let screen = terminal.finish();
    assert!(screen.contains("[exit 6]"), "{screen}");
    let path = screen.split("your text is in `").nth(1).unwrap();
    let path = path.split('`').next().unwrap().replace('\n', "");
    assert_eq!(fs::read_to_string(path).unwrap(), "Fix the logout");
    // So is a text for which no task can be created.
    write("echo 'Fix the menu' > $1");
    let wrong = [
        "--harness nope",
        "--workflow nope",
        "--project nope",
        "--after nope",
        "--parent nope",
        "--each script,nope",
    ];
    for (number, option) in wrong.into_iter().enumerate() {
        let terminal = Terminal::start(
            &stage,
            &format!("wrong{number}"),
            200,
            &format!("{line} {option}"),
        );
        let screen = terminal.finish();
        assert!(!screen.contains("[exit 0]"), "{screen}");
        let path = screen.split("your text is in `").nth(1).unwrap_or(&screen);
        let path = path.split('`').next().unwrap().replace('\n', "");
        assert_eq!(
            fs::read_to_string(path).unwrap(),
            "Fix the menu",
            "{screen}"
        );
    }
}

#[test]
fn a_branch_on_which_no_task_can_start_is_refused_before_there_is_a_task() {
    let stage = Stage::new("default");
    stage.git("worktree add -q -b own ../own");
    for branch in ["main", "own"] {
        let (code, answer) = stage.json(&["new", branch, "Fix it", "--json"]);
        let expected = (3, &"branch-unusable".into());
        assert_eq!((code, &answer["error"]["code"]), expected, "{answer}");
        assert_eq!(answer["error"]["details"]["branch"], branch, "{answer}");
    }
    let (_, list) = stage.json(&["task", "list", "--json"]);
    assert_eq!(list["tasks"].as_array().unwrap().len(), 0, "{list}");
    // A branch that is checked out nowhere can be used.
    stage.git("branch free");
    stage.create(&["free", "Fix it"]);
}

#[test]
fn a_branch_that_git_cannot_have_beside_another_is_refused() {
    let stage = Stage::new("minimal");
    assert!(stage.git("branch dup/branch").status.success());
    for branch in ["dup", "dup/branch/sub"] {
        let (code, output) = stage.call(&["new", "--no-spawn", branch, "Fix it"]);
        assert_eq!(code, 3, "{output}");
        let text = "the branch `dup/branch` exists, and git cannot have both";
        assert!(output.contains(text), "{output}");
    }
    assert_eq!(stage.tasks(), 0);
    stage.run_ok(&["new", "--no-spawn", "dup/other", "Fix it"]);
}

#[test]
fn a_blank_summary_is_refused() {
    let stage = Stage::new("minimal");
    for words in [&["   "] as &[&str], &["fix", " "]] {
        let (code, output) = stage.call(&[&["new", "--no-spawn"], words].concat());
        assert_eq!(code, 2, "{output}");
        assert!(output.contains("is blank"), "{output}");
    }
    assert_eq!(stage.tasks(), 0);
}

#[test]
fn a_repository_inside_a_checkout_is_a_project_of_its_own() {
    let stage = Stage::new("default");
    let nested = stage.path("repo/nested");
    fs::create_dir(&nested).unwrap();
    for call in [
        "init -q -b main",
        "-c user.name=N -c user.email=n@x commit -q --allow-empty -m first",
    ] {
        let output = stage.git_in(&nested, call);
        assert!(output.status.success(), "{output:?}");
    }
    let create = |directory: &std::path::Path, branch: &str| {
        let words = ["task", "create", branch, "Work", "--json"];
        let output = stage.orange(&words).current_dir(directory).output();
        let answer: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
        answer["task"]["project"].as_str().unwrap().to_owned()
    };
    assert_eq!(create(&nested, "inner"), "nested");
    fs::create_dir(stage.path("repo/plain")).unwrap();
    assert_eq!(create(&stage.path("repo/plain"), "outer"), "app");
    stage.git_output("repo", "worktree add -q linked");
    assert_eq!(create(&stage.path("repo/linked"), "worktree"), "app");
}
