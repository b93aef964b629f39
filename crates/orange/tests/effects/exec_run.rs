//! `orange exec-run`: becomes the agent, or says why not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use orange_config::{Harness, HarnessError};
use orange_effects::run::{LaunchError, exec_failure};

use crate::stage::{Run, Stage};

/// Variables that every shell sets for itself, each differently.
const OF_THE_SHELL: [&str; 5] = ["PATH=", "PWD=", "OLDPWD=", "SHLVL=", "_="];

fn exec_run(file: &Path) -> Output {
    let mut orange = Command::new(env!("CARGO_BIN_EXE_orange"));
    orange.arg("exec-run").arg(file).env_clear();
    orange.env("TERM", "tmux-256color").env("CLAUDECODE", "1");
    orange.env("TMUX", "/nowhere,1,0").env("LEAK", "1");
    orange.output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn lesson_29_the_agent_sees_the_table_and_nothing_else() {
    let stage = Stage::new();
    let file = stage.launch(&Run {
        script: "env; pwd",
        ..Run::default()
    });
    let output = stdout(&exec_run(&file));
    let (root, id) = (stage.root.path().display(), stage.id("r1"));
    let mut lines: Vec<&str> = output
        .lines()
        .filter(|line| !OF_THE_SHELL.iter().any(|name| line.starts_with(name)))
        .collect();
    lines.sort_unstable();
    let expected = format!(
        "{root}\nHOME={root}\nLANG=C.UTF-8\nORANGE_HOME={root}/home\nORANGE_ROLE=worker\n\
         ORANGE_RUN_ID={id}\nORANGE_RUN_PROOF=secret-proof\nORANGE_TASK_ID=t1\nOUT={root}\n\
         TERM=tmux-256color"
    );
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());
}

#[test]
fn output_may_be_appended_to_a_file() {
    let stage = Stage::new();
    let kept = stage.path("kept/result.jsonl");
    let run = Run {
        script: "echo printed; echo told >&2; read line; echo \"read $line\"; exit 3",
        output: Some(&kept),
        ..Run::default()
    };
    for times in 1..=2 {
        let file = stage.launch(&run);
        let output = exec_run(&file);
        assert!(!file.exists(), "the secret leaves the disk");
        assert_eq!(output.status.code(), Some(3));
        let text = format!("sh runs headless; its output goes to {}\n", kept.display());
        assert_eq!(stdout(&output), text, "and no more");
        assert_eq!(stderr(&output), "told\n");
        let printed = fs::read_to_string(&kept).unwrap();
        assert_eq!(printed, "printed\nread \n".repeat(times));
    }
    let mode = fs::metadata(&kept).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);

    // A symlink in its place is not followed, and the agent is not started.
    let other = stage.path("other");
    fs::write(&other, "kept").unwrap();
    fs::remove_file(&kept).unwrap();
    std::os::unix::fs::symlink(&other, &kept).unwrap();
    let output = exec_run(&stage.launch(&run));
    assert_eq!(
        (output.status.code(), stdout(&output)),
        (Some(6), String::new())
    );
    assert!(
        stderr(&output).contains("cannot write"),
        "{}",
        stderr(&output)
    );
    assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
}

#[test]
fn run_files_are_private_to_the_user() {
    let stage = Stage::new();
    let file = stage.launch(&Run::default());
    let again = stage.launch(&Run::default());
    assert_eq!(file, again, "writing twice is writing once");
    let folder = file.parent().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
    }
    names.sort();
    assert_eq!(names, ["prompt.md", "run.json"], "nothing hidden stays");
}

#[test]
fn a_write_that_failed_once_succeeds_the_next_time() {
    let stage = Stage::new();
    let run = Run::default();
    let harness = stage.harness(run.script, "\"{prompt_file}\"");
    fs::write(stage.path("runs"), "in the way").unwrap();
    let error = stage.launch_with(&run, &harness).unwrap_err();
    assert!(error.to_string().starts_with("cannot write"), "{error}");
    fs::remove_file(stage.path("runs")).unwrap();
    stage.launch_with(&run, &harness).unwrap();
}

#[test]
fn a_file_that_others_can_reach_is_refused() {
    let stage = Stage::new();
    let file = stage.launch(&Run {
        script: "echo started",
        ..Run::default()
    });
    for mode in [0o644, 0o640, 0o620, 0o601] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let output = exec_run(&file);
        assert_eq!(output.status.code(), Some(6));
        assert_eq!(stdout(&output), "");
        let text = stderr(&output).replace("\n       ", " ");
        assert!(text.contains(&format!("(mode {mode:04o})")), "{text}");
        assert!(text.contains("chmod 600"), "{text}");
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(stdout(&exec_run(&file)), "started\n");

    let link = stage.path("link.json");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert!(stderr(&exec_run(&link)).contains("not a regular file"));
    assert!(stderr(&exec_run(stage.root.path())).contains("not a regular file"));
    assert!(stderr(&exec_run(&stage.path("none.json"))).contains("not found"));
}

#[test]
fn a_garbled_file_is_refused_without_quoting_it() {
    let stage = Stage::new();
    let file = stage.launch(&Run::default());
    let whole = fs::read_to_string(&file).unwrap();
    for text in [
        &whole[..whole.len() / 2],
        &whole.replace("orange.run/2", "orange.run/1"),
        &whole.replace("\"task\"", "\"tusk\""),
        "",
    ] {
        fs::write(&file, text).unwrap();
        let output = exec_run(&file);
        assert_eq!(output.status.code(), Some(6), "{text}");
        let body = stderr(&output);
        assert!(body.contains("cannot use"), "{body}");
        assert!(!body.contains("secret-proof"), "{body}");
    }
}

#[test]
fn a_missing_program_leaves_a_note() {
    let stage = Stage::new();
    let program = stage.path("agent");
    std::os::unix::fs::symlink("/bin/echo", &program).unwrap();
    let text = format!(
        "name = \"x\"\nbinary = \"{}\"\n[args]\nfull = []",
        program.display()
    );
    let harness = Harness::parse("x.toml", &text).unwrap();
    let file = stage.launch_with(&Run::default(), &harness).unwrap();
    assert_eq!(exec_failure(&file), None);
    fs::remove_file(&program).unwrap();
    assert_eq!(exec_run(&file).status.code(), Some(6));
    assert!(exec_failure(&file).unwrap().is_missing);
    let error = stage.launch_with(&Run::default(), &harness).unwrap_err();
    let is_missing = matches!(
        error,
        LaunchError::Harness(HarnessError::ProgramMissing { .. })
    );
    assert!(is_missing, "{error}");
}
