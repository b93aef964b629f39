//! A usable worktree: included files, scripts, ports.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use orange_engine::event::Fact;
use orange_engine::names::TaskId;

use crate::home_fixture::{HomeFixture, processes_with, wait_for};

fn write(path: impl AsRef<Path>, text: &str) {
    let path = path.as_ref();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn given_up(ground: &HomeFixture, id: &TaskId) -> String {
    let events = ground.store().events(id, 0).unwrap();
    let errors = events.iter().filter_map(|it| match &it.event.fact {
        Fact::EffectFailed { error, .. } => Some(error.clone()),
        _ => None,
    });
    errors.collect::<Vec<_>>().join("\n")
}

#[test]
fn lesson_46_what_worktreeinclude_names_is_copied_and_nothing_else() {
    let ground = HomeFixture::new(2);
    let app = ground.yard.app();
    write(app.join(".env"), "SECRET=1\n");
    fs::set_permissions(app.join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
    write(app.join("cache/big"), "cached\n");
    write(app.join("cache/tool"), "#!/bin/sh\n");
    fs::set_permissions(app.join("cache/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    write(app.join("x.log"), "not named\n");
    write(app.join("notes"), "named, but not ignored\n");
    symlink("big", app.join("cache/link")).unwrap();
    symlink("/etc/passwd", app.join("cache/outside")).unwrap();
    symlink("../../home", app.join("cache/above")).unwrap();
    write(
        app.join(".worktreeinclude"),
        "# comment\n.env\ncache/*\nnotes\n!cache/not\n",
    );
    write(app.join("cache/not"), "taken out again\n");
    let id = ground.create_with_workspace();
    let slot = ground.yard.slot();
    let read = |name: &str| fs::read_to_string(slot.join(name)).ok();
    assert_eq!(read(".env").as_deref(), Some("SECRET=1\n"));
    let mode = fs::metadata(slot.join(".env"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(read("cache/big").as_deref(), Some("cached\n"));
    let mode = fs::metadata(slot.join("cache/tool")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o755);
    assert_eq!(
        fs::read_link(slot.join("cache/link")).unwrap(),
        Path::new("big")
    );
    for absent in [
        "x.log",
        "notes",
        "cache/not",
        "cache/outside",
        "cache/above",
    ] {
        assert!(fs::symlink_metadata(slot.join(absent)).is_err(), "{absent}");
    }
    let attention = ground.task(&id).attention.join("\n");
    assert!(attention.contains("cache/outside"), "{attention}");
    let status = ["status", "--porcelain", "--untracked-files=all"];
    assert_eq!(ground.yard.git(&slot, &status), "");
}

#[test]
fn what_is_in_the_workspace_already_is_not_replaced() {
    let ground = HomeFixture::new(1);
    let app = ground.yard.app();
    write(app.join(".env"), "OLD=1\n");
    write(app.join(".worktreeinclude"), ".env\n");
    let id = ground.create_with_workspace();
    let slot = ground.yard.slot();
    write(slot.join(".env"), "CHANGED=1\n");
    ground.go(&id, "open");
    write(app.join(".env"), "NEW=1\n");
    ground.go(&id, "held");
    assert_eq!(
        fs::read_to_string(slot.join(".env")).unwrap(),
        "CHANGED=1\n"
    );
}

#[test]
fn what_the_branch_does_not_ignore_is_not_copied() {
    let ground = HomeFixture::new(1);
    let app = ground.yard.app();
    ground.yard.git(&app, &["switch", "-q", "-c", "fix"]);
    ground.yard.commit(&app, ".gitignore", "*.log\n");
    ground.yard.git(&app, &["switch", "-q", "main"]);
    write(app.join(".env"), "SECRET=1\n");
    write(app.join(".worktreeinclude"), ".env\n");
    let id = ground.create_with_workspace();
    assert!(
        !ground.yard.slot().join(".env").exists(),
        "it could be committed"
    );
    let attention = ground.task(&id).attention.join("\n");
    assert!(attention.contains(".env"), "{attention}");
}

#[test]
fn a_link_planted_in_the_workspace_leads_no_copy_outside() {
    let ground = HomeFixture::new(1);
    let app = ground.yard.app();
    write(app.join("cache/a/secret"), "SECRET=1\n");
    write(app.join(".env"), "SECRET=1\n");
    write(app.join(".worktreeinclude"), "cache/a/secret\n.env\n");
    let outside = ground.yard.path("outside");
    fs::create_dir_all(&outside).unwrap();
    write(outside.join("target"), "mine\n");
    let id = ground.create_with_workspace();
    let slot = ground.yard.slot();
    fs::remove_dir_all(slot.join("cache")).unwrap();
    fs::remove_file(slot.join(".env")).unwrap();
    symlink(&outside, slot.join("cache")).unwrap();
    symlink(outside.join("target"), slot.join(".env")).unwrap();
    // Ignored, so that they stay in the slot.
    let exclude = ground.yard.app().join(".git/info/exclude");
    fs::write(exclude, "cache\n/TASK.md\n").unwrap();
    ground.go(&id, "open");
    let task = ground.go(&id, "held");
    assert_eq!(task.status.as_str(), "held", "{}", ground.told(&id));
    assert!(slot.join("cache").is_symlink() && slot.join(".env").is_symlink());
    let found: Vec<_> = fs::read_dir(&outside).unwrap().collect();
    assert_eq!(found.len(), 1);
    assert_eq!(
        fs::read_to_string(outside.join("target")).unwrap(),
        "mine\n"
    );
}

#[test]
fn a_list_that_is_a_link_is_no_list() {
    let ground = HomeFixture::new(1);
    let app = ground.yard.app();
    write(app.join(".env"), "SECRET=1\n");
    write(ground.yard.path("elsewhere"), ".env\n");
    symlink(ground.yard.path("elsewhere"), app.join(".worktreeinclude")).unwrap();
    ground.create_with_workspace();
    assert!(!ground.yard.slot().join(".env").exists());
}

#[test]
fn scripts_know_their_task_their_workspace_and_their_ports() {
    let ground = HomeFixture::new(2);
    let out = ground.yard.path("out").display().to_string();
    let line = format!("echo said-by-it; echo $0 $ORANGE_TASK_ID $ORANGE_PORT_OFFSET $PWD >>{out}");
    ground.configure_script("setup", &line);
    ground.configure_script("teardown", &line);
    let first = ground.create_with_workspace();
    let second = ground.create(Some("other"));
    ground.go(&second, "held");
    ground.go(&first, "closed");
    let slots = ground.yard.path("workspaces");
    let slots = slots.canonicalize().unwrap().display().to_string();
    let expected = format!(
        "/bin/sh {first} 100 {slots}/app--1\n/bin/sh {second} 200 {slots}/app--2\n\
         /bin/sh {first} 100 {slots}/app--1\n"
    );
    assert_eq!(fs::read_to_string(&out).unwrap(), expected);
    for log in ["setup.log", "teardown.log"] {
        let log = ground
            .home()
            .tasks()
            .join("app")
            .join(first.as_str())
            .join(log);
        let mode = fs::metadata(&log).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = fs::read_to_string(&log).unwrap();
        assert!(text.contains("\nsaid-by-it\n"), "{text}");
    }
    // The same workspace has the same ports for its next task.
    let third = ground.create(Some("third"));
    ground.go(&third, "held");
    let told = fs::read_to_string(&out).unwrap();
    assert!(
        told.ends_with(&format!("{third} 100 {slots}/app--1\n")),
        "{told}"
    );
}

#[test]
fn an_agent_knows_its_ports() {
    let ground = HomeFixture::new(1);
    let out = ground.yard.path("out").display().to_string();
    let script = format!("echo $ORANGE_PORT_OFFSET >{out}; exec sleep 600");
    fs::write(ground.yard.path("agent.sh"), script).unwrap();
    let id = ground.create_with_workspace();
    ground.go(&id, "manned");
    wait_for("the agent", || {
        fs::read_to_string(&out).is_ok_and(|told| told == "100\n")
    });
}

#[test]
fn a_setup_that_fails_is_a_failed_start_that_names_its_log() {
    let ground = HomeFixture::new(1);
    ground.configure_script("setup", "echo what went wrong >&2; exit 7");
    let id = ground.create(Some("fix"));
    let task = ground.go(&id, "held");
    assert_eq!(task.status.as_str(), "open", "{}", ground.told(&id));
    assert!(ground.store().workspace_of(&id).unwrap().is_none());
    let error = given_up(&ground, &id);
    let log = ground.home().tasks().join("app").join(id.as_str());
    let log = log.join("setup.log");
    assert!(error.contains("exited with code 7"), "{error}");
    assert!(error.contains(&log.display().to_string()), "{error}");
    let text = fs::read_to_string(log).unwrap();
    assert!(text.contains("what went wrong"), "{text}");
    // Once that is fixed, the same slot works.
    ground.configure_script("setup", "true");
    assert_eq!(ground.go(&id, "held").status.as_str(), "held");
}

#[test]
fn a_setup_that_does_not_end_is_ended_with_all_it_started() {
    let ground = HomeFixture::new(1);
    ground.configure_script("setup", "sleep 600 & sleep 600");
    ground.configure("setup_timeout", &1.into());
    let id = ground.create(Some("fix"));
    ground.go(&id, "held");
    let error = given_up(&ground, &id);
    assert!(error.contains("timed out after 1000 ms"), "{error}");
    let variable = format!("ORANGE_TASK_ID={id}");
    wait_for("its processes to go", || {
        processes_with(variable.as_bytes()).is_empty()
    });
}

#[test]
fn a_failed_teardown_is_reported_and_does_not_block_the_workspace() {
    let ground = HomeFixture::new(1);
    ground.configure_script("teardown", "exit 9");
    let id = ground.create_with_workspace();
    fs::write(ground.yard.slot().join("README"), "unsaved\n").unwrap();
    ground.go(&id, "closed");
    assert!(ground.store().workspace_of(&id).unwrap().is_none());
    let attention = ground.task(&id).attention.join("\n");
    assert!(
        attention.contains("teardown") && attention.contains("teardown.log"),
        "{attention}"
    );
    assert_eq!(ground.yard.open().rescues(&id).unwrap().len(), 1);
    assert_eq!(
        ground.driver().workspaces.workspaces(None).unwrap()[0].state,
        "free"
    );
}

#[test]
fn what_a_setup_left_running_ends_with_the_task() {
    let ground = HomeFixture::new(1);
    ground.configure_script("setup", "sleep 600 >/dev/null 2>&1 &");
    let id = ground.create_with_workspace();
    let variable = format!("ORANGE_TASK_ID={id}");
    assert_eq!(processes_with(variable.as_bytes()).len(), 1);
    ground.go(&id, "open");
    assert_eq!(processes_with(variable.as_bytes()), [] as [u32; 0]);
}

/// The performer dies while its script runs; its successor kills that script and runs it again.
#[test]
fn a_setup_whose_performer_was_killed_is_run_again_alone() {
    let ground = HomeFixture::new(1);
    let out = ground.yard.path("out").display().to_string();
    let line =
        format!("echo begun >>{out}; [ $(wc -l <{out}) -gt 1 ] || sleep 600; echo done >>{out}");
    ground.configure_script("setup", &line);
    let id = ground.create(Some("fix"));
    let to = orange_engine::names::Status::new("held");
    let ask = orange_engine::input::RequestKind::Move { to };
    ground.ask_waiting(&id, ask, orange_driver::WaitPolicy::Skip);
    let mut performer = ground.orange(&["perform", id.as_str()]).spawn().unwrap();
    wait_for("the setup", || fs::exists(&out).unwrap());
    performer.kill().unwrap();
    performer.wait().unwrap();
    ground.driver().performer.perform_until_done(&id).unwrap();
    assert_eq!(ground.task(&id).status.as_str(), "held");
    assert_eq!(fs::read_to_string(&out).unwrap(), "begun\nbegun\ndone\n");
    let variable = format!("ORANGE_TASK_ID={id}");
    assert_eq!(processes_with(variable.as_bytes()), [] as [u32; 0]);
}

#[test]
fn a_script_of_the_repository_is_never_run() {
    let ground = HomeFixture::new(1);
    let app = ground.yard.app();
    let evidence = ground.yard.path("evidence").display().to_string();
    let script = format!("#!/bin/sh\ntouch {evidence}\n");
    for name in [
        "setup",
        "setup.sh",
        ".orange/setup",
        "orange.json",
        "projects.json",
    ] {
        write(app.join(name), &script);
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(app.join(name), executable).unwrap();
    }
    ground.yard.git(&app, &["add", "-A"]);
    ground.yard.git(&app, &["commit", "-q", "-m", "scripts"]);
    let id = ground.create_with_workspace();
    assert!(ground.yard.slot().join("setup.sh").is_file());
    ground.go(&id, "closed");
    assert!(!Path::new(&evidence).exists());
    // The check works: it would notice.
    let status = Command::new(app.join("setup.sh")).status();
    assert!(status.unwrap().success() && Path::new(&evidence).exists());
}

#[test]
fn a_remote_that_cannot_be_asked_is_said() {
    let ground = HomeFixture::new(1);
    let nowhere = ground.yard.path("nowhere.git").display().to_string();
    let add = ["remote", "add", "origin", &nowhere];
    ground.yard.git(&ground.yard.app(), &add);
    let id = ground.create_with_workspace();
    let attention = ground.task(&id).attention.join("\n");
    assert!(attention.contains("the fetch failed"), "{attention}");
}

#[test]
fn lesson_46_empty_submodules_are_said_and_setup_can_fill_them() {
    let ground = HomeFixture::new(1);
    let yard = &ground.yard;
    let library = yard.path("library");
    yard.git(&yard.path(""), &["init", "-q", "-b", "main", "library"]);
    yard.commit(&library, "lib.rs", "lib\n");
    let from = library.display().to_string();
    let allow = "protocol.file.allow=always";
    let add = ["-c", allow, "submodule", "--quiet", "add", &from, "lib"];
    yard.git(&yard.app(), &add);
    yard.git(&yard.app(), &["commit", "-q", "-m", "with a submodule"]);
    let id = ground.create_with_workspace();
    let attention = ground.task(&id).attention.join("\n");
    assert!(
        attention.contains("`lib`") && attention.contains("git submodule"),
        "{attention}"
    );
    ground.go(&id, "open");
    let line = format!("git -c {allow} submodule update --init --quiet");
    ground.configure_script("setup", &line);
    let task = ground.go(&id, "held");
    assert_eq!(task.status.as_str(), "held", "{}", ground.told(&id));
    assert!(yard.slot().join("lib/lib.rs").is_file());
    // A clean submodule does not prevent the release of the workspace.
    ground.go(&id, "open");
    assert_eq!(
        ground.driver().workspaces.workspaces(None).unwrap()[0].state,
        "free"
    );
}
