//! What a missing capability leads to.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use orange_config::Environment;
use orange_effects::sandbox::{Capabilities, Level};

use crate::commands::hooked;
use crate::fixture::Fixture;
use crate::support::{Stage, Terminal, environment};

#[test]
fn a_path_without_bwrap_is_not_full() {
    let fixture = Fixture::new();
    let whole = Capabilities::find(&fixture.environment, &[]);
    assert_eq!(whole.level, Level::Full);
    assert!(whole.obstacle().is_none());
    let environment = Environment::of([("PATH", fixture.path("w").as_os_str())]);
    let found = Capabilities::find(&environment, &[]);
    assert_eq!(found.level, Level::Partial);
    let gap = found.obstacle().unwrap();
    assert_eq!(gap.reason, "bwrap is not installed");
    assert!(gap.fix.contains("apt install bubblewrap"), "{}", gap.fix);
    // One in a worktree is not trusted.
    symlink(whole.bwrap.unwrap(), fixture.path("w/bwrap")).unwrap();
    let worktree = fixture.path("w");
    let found = Capabilities::find(&environment, &[&worktree]);
    let gap = found.obstacle().unwrap();
    assert!(gap.reason.ends_with("is in a worktree"), "{}", gap.reason);
}

/// How a machine lacks something: programs in the place of bwrap, with what they say on machines
/// that lack it, and what orange makes of it.
const OBSTACLES: [(&str, &str); 8] = [
    (
        "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1",
        "AppArmor does not let bwrap use user namespaces",
    ),
    (
        "case \"$*\" in *--unshare-net*) echo 'bwrap: loopback: Failed RTM_NEWADDR: Operation not \
         permitted' >&2; exit 1;; esac; exec REAL \"$@\"",
        "AppArmor does not let bwrap use user namespaces",
    ),
    (
        "echo 'bwrap: No permissions to create new namespace, likely because the kernel does not \
         allow non-privileged user namespaces.' >&2; exit 1",
        "as in most containers",
    ),
    (
        "echo \"bwrap: Can't mount proc on /newroot/proc: Operation not permitted\" >&2; exit 1",
        "the container hides parts of it",
    ),
    (
        "case \"$*\" in *--disable-userns*) echo 'bwrap: Unknown option --disable-userns' >&2; \
         exit 1;; esac; exec REAL \"$@\"",
        "this bwrap is too old",
    ),
    ("exit 3", "bwrap does not work here"),
    ("exit 0", "bwrap does not work here"),
    ("setuid", "is setuid"),
];

/// Puts a program in the place of bwrap.
fn with_bwrap(stage: Stage, script: &str) -> Stage {
    let real = Capabilities::find(&stage.environment, &[]).bwrap.unwrap();
    let stage = without_bwrap(stage);
    let program = stage.path("programs/bwrap");
    let mode = if script == "setuid" {
        std::fs::copy(&real, &program).unwrap();
        0o4755
    } else {
        let script = script.replace("REAL", real.to_str().unwrap());
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        0o755
    };
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).unwrap();
    stage
}

/// The row of `orange doctor` about the sandbox, and its health.
fn doctor_row(answer: &serde_json::Value) -> (String, String) {
    let rows = answer["checkups"].as_array().unwrap();
    let row = rows.iter().find(|row| row["subject"] == "sandbox").unwrap();
    (row["health"].as_str().unwrap().to_owned(), row.to_string())
}

#[test]
fn each_obstacle_is_named_and_stops_the_start_unless_the_sandbox_is_off() {
    for (script, words) in OBSTACLES {
        let stage = with_bwrap(Stage::sandboxed("minimal"), script);
        stage.script("worker-1", "give started < /dev/null");
        for (mode, health, starts) in [
            ("required", "error", false),
            // This machine can make a partial one.
            ("auto", "warning", true),
            ("off", "ok", true),
        ] {
            let settings = format!("[sandbox]\nmode = \"{mode}\"\n");
            std::fs::write(stage.home().settings(), settings).unwrap();
            let (_, answer) = stage.json(&["doctor", "--json"]);
            let (found, row) = doctor_row(&answer);
            assert_eq!(found, health, "{script}: {row}");
            assert!(row.contains(words), "{script}: {row}");
            // How a machine fails makes no difference to a start, so two are enough.
            if script == "setuid" || script.contains("--unshare-net") {
                check_start(&stage, (!starts).then_some(words));
            }
        }
    }
}

/// Starts a task, or is refused for this reason.
fn check_start(stage: &Stage, refusal: Option<&str>) {
    let id = stage.create(&["Add a line"]);
    let (code, said) = stage.call(&["task", "spawn", id.as_str()]);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(words) = refusal {
        assert_eq!(code, 3, "{said}");
        assert!(said.contains(words), "{said}");
        assert!(!stage.path("scripts/started").exists());
        return;
    }
    assert_eq!(code, 0, "{said}");
    stage.wait_for_turn("worker-1");
}

/// Calls `orange doctor` on a machine that another program makes.
fn doctor_on(stage: &Stage, machine: &str) -> (String, String) {
    let mut limited = Command::new("sh");
    let orange = env!("CARGO_BIN_EXE_orange");
    limited.args([
        "-c",
        &machine.replace("ORANGE", &format!("{orange} doctor --json")),
    ]);
    limited.current_dir(stage.path("repo"));
    limited.env_clear().envs(stage.environment.variables());
    let output = limited.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let answer = serde_json::from_slice(&output.stdout);
    doctor_row(&answer.unwrap_or_else(|error| panic!("{error}: {errors}")))
}

/// A filter that makes one system call unknown.
fn filter_without(call: libc::c_long) -> Vec<u8> {
    const LOAD_NUMBER: (u16, u8, u8, u32) = (0x20, 0, 0, 0);
    const UNKNOWN: u32 = 0x0005_0000 | 0x26;
    const ALLOW: u32 = 0x7fff_0000;
    let is_it = (0x15, 0, 1, u32::try_from(call).unwrap());
    let program = [
        LOAD_NUMBER,
        is_it,
        (0x06, 0, 0, UNKNOWN),
        (0x06, 0, 0, ALLOW),
    ];
    let mut bytes = Vec::new();
    for (code, yes, no, value) in program {
        bytes.extend(u16::to_ne_bytes(code));
        bytes.extend([yes, no]);
        bytes.extend(u32::to_ne_bytes(value));
    }
    bytes
}

#[test]
fn a_kernel_that_lacks_something_is_explained() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("NOT TRIED: a kernel without Landlock, seccomp or namespaces (needs root)");
        return;
    }
    let stage = Stage::new("minimal").sandbox_by_settings();
    std::fs::write(stage.home().settings(), "[sandbox]\nmode = \"required\"\n").unwrap();
    let all = "bwrap --bind / / --dev-bind /dev /dev --bind /proc /proc";
    // The real limit of the kernel, in a namespace that has its own.
    let (health, row) = doctor_on(
        &stage,
        "unshare --user --map-root-user --mount --pid --fork --mount-proc sh -c 'echo 0 > \
         /proc/sys/user/max_user_namespaces; exec ORANGE'",
    );
    assert_eq!(health, "error", "{row}");
    assert!(row.contains("user.max_user_namespaces"), "{row}");
    let filter = stage.path("filter");
    std::fs::write(&filter, filter_without(libc::SYS_landlock_create_ruleset)).unwrap();
    let (health, row) = doctor_on(
        &stage,
        &format!(
            "exec 9< {}; exec {all} --seccomp 9 -- ORANGE",
            filter.display()
        ),
    );
    assert!(row.contains("Landlock 6 is missing (found 0)"), "{row}");
    assert_ne!(
        health, "error",
        "a sandbox without Landlock is still one: {row}"
    );
    let (health, row) = doctor_on(
        &stage,
        &format!("exec {all} --tmpfs /proc/sys/kernel/seccomp -- ORANGE"),
    );
    assert_eq!(health, "error", "{row}");
    assert!(row.contains("the kernel has no seccomp"), "{row}");
}

/// Calls `orange doctor` where no user namespace can be made.
fn doctor_without_namespaces(stage: &Stage) -> Option<String> {
    let mut limited = Command::new("bwrap");
    limited.args(["--bind", "/", "/", "--dev-bind", "/dev", "/dev"]);
    limited.args(["--unshare-user", "--disable-userns", "--"]);
    limited
        .arg(env!("CARGO_BIN_EXE_orange"))
        .args(["doctor", "--json"]);
    limited.current_dir(stage.path("repo"));
    limited.env_clear().envs(stage.environment.variables());
    let output = limited.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&text).ok()?;
    let rows = answer["checkups"].as_array()?;
    let row = rows.iter().find(|row| row["subject"] == "sandbox")?;
    Some(row.to_string())
}

#[test]
fn refused_namespaces_are_explained() {
    let stage = Stage::new("minimal").sandbox_by_settings();
    let config = stage.home().settings();
    for (mode, health) in [("off", "ok"), ("auto", "warning"), ("required", "error")] {
        std::fs::write(&config, format!("[sandbox]\nmode = \"{mode}\"\n")).unwrap();
        let row = doctor_without_namespaces(&stage).unwrap();
        assert!(row.contains(&format!("\"health\":\"{health}\"")), "{row}");
        assert!(row.contains("user namespaces"), "{row}");
        if mode != "off" {
            assert!(row.contains("\"fix\":\""), "{row}");
        }
        let (_, answer) = stage.json(&["doctor", "--json"]);
        let rows = answer["checkups"].as_array().unwrap();
        let row = rows.iter().find(|row| row["subject"] == "sandbox").unwrap();
        assert_ne!(row["health"], "error", "{row}");
    }
}

/// A stage with everything on the PATH but bwrap.
pub fn without_bwrap(mut stage: Stage) -> Stage {
    let programs = stage.path("programs");
    std::fs::create_dir(&programs).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for folder in std::env::split_paths(&path) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name() != "bwrap" {
                let _twice = symlink(entry.path(), programs.join(entry.file_name()));
            }
        }
    }
    let root = stage.path("");
    let more = [("PATH", programs.to_str().unwrap())];
    stage.environment = environment(&root, &more);
    stage
}

#[test]
fn a_gate_says_that_its_sandbox_is_missing() {
    let stage = without_bwrap(Stage::new("default").sandbox_by_settings());
    std::fs::write(stage.home().settings(), "[sandbox]\nmode = \"off\"\n").unwrap();
    let id = hooked(&stage, ":", ":");
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "held");
    stage.wait_until_idle(&id);
    std::fs::write(stage.home().settings(), "[sandbox]\nmode = \"required\"\n").unwrap();
    let close = [
        "task",
        "update",
        id.as_str(),
        "--status",
        "closed",
        "--json",
    ];
    let (code, answer) = stage.json(&close);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["error"]["code"], "sandbox-missing", "{answer}");
    assert_eq!(stage.task(&id).status.as_str(), "held");
}

/// Becomes a program for which the kernel has no Landlock.
const WITHOUT_LANDLOCK: &str = r#"
my ($prctl, $call) = splice(@ARGV, 0, 2);
my @filter = ([0x20, 0, 0, 0], [0x15, 0, 1, $call], [6, 0, 0, 0x50026], [6, 0, 0, 0x7fff0000]);
my $filter = join "", map { pack "SCCL", @$_ } @filter;
my $program = pack "S x6 P", scalar @filter, $filter;
syscall($prctl + 0, 38, 1, 0, 0, 0) == 0 or die "no_new_privs: $!";
syscall($prctl + 0, 22, 2, $program) == 0 or die "filter: $!";
exec @ARGV or die "exec: $!";
"#;

/// The words that come before a command on a machine that can make no sandbox at all.
fn without_landlock(stage: &Stage) -> Vec<String> {
    let script = stage.path("without-landlock.pl");
    std::fs::write(&script, WITHOUT_LANDLOCK).unwrap();
    vec![
        String::from("perl"),
        script.display().to_string(),
        libc::SYS_prctl.to_string(),
        libc::SYS_landlock_create_ruleset.to_string(),
    ]
}

/// Calls `orange` there.
fn json_without_landlock(stage: &Stage, words: &[&str]) -> (i32, serde_json::Value) {
    let before = without_landlock(stage);
    let mut command = Command::new(&before[0]);
    command.args(&before[1..]).arg(env!("CARGO_BIN_EXE_orange"));
    command.args(words).current_dir(stage.path("repo"));
    command.env_clear().envs(stage.environment.variables());
    let output = command.output().unwrap();
    let answer = serde_json::from_slice(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let answer = answer.unwrap_or_else(|error| panic!("{error}: {errors}"));
    (output.status.code().unwrap(), answer)
}

#[test]
fn a_start_without_a_terminal_names_the_setting_and_creates_nothing() {
    let stage = without_bwrap(Stage::new("minimal").sandbox_by_settings());
    let (code, answer) = json_without_landlock(&stage, &["new", "Add a line", "--json"]);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["error"]["code"], "sandbox-missing", "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("bwrap is not installed"), "{message}");
    assert!(
        message.contains("set `sandbox.mode` to \"off\""),
        "{message}"
    );
    let (_, answer) = stage.json(&["ls", "--json"]);
    assert_eq!(answer["tasks"], serde_json::json!([]));
    // A task that waits needs no sandbox yet; its start is refused and leaves it as it was.
    let id = stage.create(&["Add a line"]);
    let (code, answer) = json_without_landlock(&stage, &["task", "spawn", id.as_str(), "--json"]);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["error"]["code"], "sandbox-missing", "{answer}");
    assert_eq!(stage.task(&id).attention, Vec::<String>::new());
    // What would be refused anyway is refused for its own reason.
    for (words, reason) in [
        (&["task", "spawn", "nosuch", "--json"][..], "task-not-found"),
        (
            &["new", "Other", "--workflow", "nosuch", "--json"],
            "workflow-not-found",
        ),
    ] {
        let (_, answer) = json_without_landlock(&stage, words);
        assert_eq!(answer["error"]["code"], reason, "{answer}");
    }
    assert!(!stage.home().settings().exists());
}

#[test]
fn a_project_that_requires_a_sandbox_is_told_its_own_command() {
    let stage = without_bwrap(Stage::new("minimal").sandbox_by_settings());
    std::fs::write(stage.home().settings(), "[sandbox]\nmode = \"off\"\n").unwrap();
    stage.run_ok(&["project", "update", "--sandbox-mode", "required"]);
    let (code, answer) = json_without_landlock(&stage, &["new", "Add a line", "--json"]);
    assert_eq!(code, 3, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    let command = "or run `orange project update app --sandbox-mode off`";
    assert!(message.contains(command), "{message}");
    let (_, answer) = stage.json(&["ls", "--json"]);
    assert_eq!(answer["tasks"], serde_json::json!([]));
    let (_, answer) = json_without_landlock(&stage, &["doctor", "--json"]);
    let rows = answer["checkups"].as_array().unwrap();
    let health = |subject: &str| {
        let row = rows.iter().find(|row| row["subject"] == subject).unwrap();
        row["health"].as_str().unwrap().to_owned()
    };
    assert_eq!(health("sandbox"), "ok");
    assert_eq!(health("sandbox of app"), "error");
    assert!(!answer.to_string().contains("agents can change all"));
}

#[test]
fn at_a_terminal_the_user_decides_once() {
    let stage = without_bwrap(Stage::new("minimal").sandbox_by_settings());
    stage.script("worker-1", "give started < /dev/null");
    let before = without_landlock(&stage).join(" ");
    let start = format!("{before} orange new fix 'Add a line'");
    let line = |name: &str| Terminal::start(&stage, name, 120, &start);
    let terminal = line("no");
    terminal.wait_for("[y/N]");
    terminal.press(&["n", "Enter"]);
    let screen = terminal.finish();
    assert!(screen.contains("bwrap is not installed"), "{screen}");
    assert!(screen.contains("nothing was started"), "{screen}");
    assert!(screen.contains("[exit 3]"), "{screen}");
    assert!(!stage.home().settings().exists());
    std::fs::write(stage.home().settings(), "# mine\n").unwrap();
    let terminal = line("yes");
    terminal.wait_for("[y/N]");
    terminal.press(&["y", "Enter"]);
    let screen = terminal.finish();
    assert!(screen.contains("[exit 0]"), "{screen}");
    stage.wait_for_turn("worker-1");
    let settings = std::fs::read_to_string(stage.home().settings()).unwrap();
    assert_eq!(settings, "# mine\n\n[sandbox]\nmode = \"off\"\n");
    let terminal = Terminal::start(&stage, "again", 120, "orange new 'Another'");
    let screen = terminal.finish();
    assert!(screen.contains("[exit 0]"), "{screen}");
    assert!(!screen.contains("[y/N]"), "{screen}");
}

#[test]
fn a_project_that_must_have_a_sandbox_asks_nothing() {
    let stage = without_bwrap(Stage::new("minimal").sandbox_by_settings());
    stage.configure("sandbox_mode", &"required".into());
    let start = "orange new 'Add a line'";
    let screen = Terminal::start(&stage, "required", 120, start).finish();
    assert!(screen.contains("[exit 3]"), "{screen}");
    assert!(!screen.contains("[y/N]"), "{screen}");
    // The project turned it off, so that nothing has to be decided.
    stage.configure("sandbox_mode", &"off".into());
    let start = "orange new 'Another'";
    let screen = Terminal::start(&stage, "off", 120, start).finish();
    assert!(screen.contains("[exit 0]"), "{screen}");
}
