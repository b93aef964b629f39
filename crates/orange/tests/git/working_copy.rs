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

fn effect_errors(fixture: &HomeFixture, id: &TaskId) -> String {
    let events = fixture.store().events(id, 0).unwrap();
    let errors = events.iter().filter_map(|it| match &it.event.fact {
        Fact::EffectFailed { error, .. } => Some(error.clone()),
        _ => None,
    });
    errors.collect::<Vec<_>>().join("\n")
}

/// A changed `.env` reaches the next task, unless its copy was changed too.
#[test]
fn an_unchanged_copy_follows_its_original() {
    let fixture = HomeFixture::new(1);
    let (app, slot) = (fixture.repo.app(), fixture.repo.slot());
    write(app.join(".worktreeinclude"), ".env\ncache/*\n");
    write(app.join(".env"), "SECRET=1\n");
    write(app.join("cache/own"), "one\n");
    let read = |name: &str| fs::read_to_string(slot.join(name)).unwrap();
    let next = || {
        let id = fixture.create_with_workspace();
        let attention = fixture.task(&id).attention.join("\n");
        fixture.move_to(&id, "closed");
        attention
    };
    assert_eq!(next(), "");
    write(slot.join("cache/own"), "changed here\n");
    write(app.join(".env"), "SECRET=2\n");
    assert_eq!(next(), "", "the original of the changed file is the same");
    assert_eq!(read(".env"), "SECRET=2\n");
    assert_eq!(read("cache/own"), "changed here\n");
    write(app.join("cache/own"), "three\n");
    let attention = next();
    assert!(attention.contains("`cache/own`"), "{attention}");
    assert_eq!(read("cache/own"), "changed here\n");
    assert_eq!(next(), "", "it is said once");
    // Without a record, a copy with the same content is known again, and no other.
    let record = fixture.home().incoming().join("app--1/copied");
    fs::remove_file(&record).unwrap();
    next();
    write(app.join(".env"), "SECRET=3\n");
    write(app.join("cache/own"), "four\n");
    assert_eq!(next(), "");
    assert_eq!(read(".env"), "SECRET=3\n");
    assert_eq!(read("cache/own"), "changed here\n");
    fs::write(&record, "9 nonsense\0").unwrap();
    write(app.join(".env"), "SECRET=4\n");
    next();
    assert_eq!(
        read(".env"),
        "SECRET=3\n",
        "it cannot be told whether it is a copy"
    );
}

#[test]
fn lesson_46_only_files_named_by_worktreeinclude_are_copied() {
    let fixture = HomeFixture::new(2);
    let app = fixture.repo.app();
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
    let id = fixture.create_with_workspace();
    let slot = fixture.repo.slot();
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
    let attention = fixture.task(&id).attention.join("\n");
    assert!(attention.contains("cache/outside"), "{attention}");
    let status = ["status", "--porcelain", "--untracked-files=all"];
    assert_eq!(fixture.repo.git(&slot, &status), "");
}

#[test]
fn existing_files_in_the_workspace_are_not_replaced() {
    let fixture = HomeFixture::new(1);
    let app = fixture.repo.app();
    write(app.join(".env"), "OLD=1\n");
    write(app.join(".worktreeinclude"), ".env\n");
    let id = fixture.create_with_workspace();
    let slot = fixture.repo.slot();
    write(slot.join(".env"), "CHANGED=1\n");
    fixture.move_to(&id, "open");
    write(app.join(".env"), "NEW=1\n");
    fixture.move_to(&id, "held");
    assert_eq!(
        fs::read_to_string(slot.join(".env")).unwrap(),
        "CHANGED=1\n"
    );
}

#[test]
fn files_the_branch_does_not_ignore_are_not_copied() {
    let fixture = HomeFixture::new(1);
    let app = fixture.repo.app();
    fixture.repo.git(&app, &["switch", "-q", "-c", "fix"]);
    fixture.repo.commit(&app, ".gitignore", "*.log\n");
    fixture.repo.git(&app, &["switch", "-q", "main"]);
    write(app.join(".env"), "SECRET=1\n");
    write(app.join(".worktreeinclude"), ".env\n");
    let id = fixture.create_with_workspace();
    assert!(
        !fixture.repo.slot().join(".env").exists(),
        "it could be committed"
    );
    let attention = fixture.task(&id).attention.join("\n");
    assert!(attention.contains(".env"), "{attention}");
}

#[test]
fn a_link_planted_in_the_workspace_leads_no_copy_outside() {
    let fixture = HomeFixture::new(1);
    let app = fixture.repo.app();
    write(app.join("cache/a/secret"), "SECRET=1\n");
    write(app.join(".env"), "SECRET=1\n");
    write(app.join(".worktreeinclude"), "cache/a/secret\n.env\n");
    let outside = fixture.repo.path("outside");
    fs::create_dir_all(&outside).unwrap();
    write(outside.join("target"), "mine\n");
    let id = fixture.create_with_workspace();
    let slot = fixture.repo.slot();
    fs::remove_dir_all(slot.join("cache")).unwrap();
    fs::remove_file(slot.join(".env")).unwrap();
    symlink(&outside, slot.join("cache")).unwrap();
    symlink(outside.join("target"), slot.join(".env")).unwrap();
    // Ignored, so that they stay in the slot.
    let exclude = fixture.repo.app().join(".git/info/exclude");
    fs::write(exclude, "cache\n/TASK.md\n").unwrap();
    fixture.move_to(&id, "open");
    let task = fixture.move_to(&id, "held");
    assert_eq!(task.status.as_str(), "held", "{}", fixture.diagnostics(&id));
    assert!(slot.join("cache").is_symlink() && slot.join(".env").is_symlink());
    let found: Vec<_> = fs::read_dir(&outside).unwrap().collect();
    assert_eq!(found.len(), 1);
    assert_eq!(
        fs::read_to_string(outside.join("target")).unwrap(),
        "mine\n"
    );
}

#[test]
fn a_linked_include_list_is_ignored() {
    let fixture = HomeFixture::new(1);
    let app = fixture.repo.app();
    write(app.join(".env"), "SECRET=1\n");
    write(fixture.repo.path("elsewhere"), ".env\n");
    symlink(fixture.repo.path("elsewhere"), app.join(".worktreeinclude")).unwrap();
    fixture.create_with_workspace();
    assert!(!fixture.repo.slot().join(".env").exists());
}

#[test]
fn scripts_get_their_task_workspace_and_ports() {
    let fixture = HomeFixture::new(2);
    let out = fixture.repo.path("out").display().to_string();
    let line = format!("echo said-by-it; echo $0 $ORANGE_TASK_ID $ORANGE_PORT_OFFSET $PWD >>{out}");
    fixture.configure_script("setup", &line);
    fixture.configure_script("teardown", &line);
    let first = fixture.create_with_workspace();
    let second = fixture.create(Some("other"));
    fixture.move_to(&second, "held");
    fixture.move_to(&first, "closed");
    let slots = fixture.repo.path("workspaces");
    let slots = slots.canonicalize().unwrap().display().to_string();
    let expected = format!(
        "/bin/sh {first} 100 {slots}/app--1\n/bin/sh {second} 200 {slots}/app--2\n\
         /bin/sh {first} 100 {slots}/app--1\n"
    );
    assert_eq!(fs::read_to_string(&out).unwrap(), expected);
    for log in ["setup.log", "teardown.log"] {
        let log = fixture
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
    let third = fixture.create(Some("third"));
    fixture.move_to(&third, "held");
    let output = fs::read_to_string(&out).unwrap();
    assert!(
        output.ends_with(&format!("{third} 100 {slots}/app--1\n")),
        "{output}"
    );
}

#[test]
fn an_agent_gets_its_ports() {
    let fixture = HomeFixture::new(1);
    let out = fixture.repo.path("out").display().to_string();
    let script = format!("echo $ORANGE_PORT_OFFSET >{out}; exec sleep 600");
    fs::write(fixture.repo.path("agent.sh"), script).unwrap();
    let id = fixture.create_with_workspace();
    fixture.move_to(&id, "manned");
    wait_for("the agent", || {
        fs::read_to_string(&out).is_ok_and(|told| told == "100\n")
    });
}

#[test]
fn a_failed_setup_fails_the_start_and_names_its_log() {
    let fixture = HomeFixture::new(1);
    fixture.configure_script("setup", "echo what went wrong >&2; exit 7");
    let id = fixture.create(Some("fix"));
    let task = fixture.move_to(&id, "held");
    assert_eq!(task.status.as_str(), "open", "{}", fixture.diagnostics(&id));
    assert!(fixture.store().workspace_of(&id).unwrap().is_none());
    let error = effect_errors(&fixture, &id);
    let log = fixture.home().tasks().join("app").join(id.as_str());
    let log = log.join("setup.log");
    assert!(error.contains("exited with code 7"), "{error}");
    assert!(error.contains(&log.display().to_string()), "{error}");
    let text = fs::read_to_string(log).unwrap();
    assert!(text.contains("what went wrong"), "{text}");
    // Once that is fixed, the same slot works.
    fixture.configure_script("setup", "true");
    assert_eq!(fixture.move_to(&id, "held").status.as_str(), "held");
}

#[test]
fn a_setup_that_hangs_is_killed_with_its_children() {
    let fixture = HomeFixture::new(1);
    fixture.configure_script("setup", "sleep 600 & sleep 600");
    fixture.configure("setup_timeout", &1.into());
    let id = fixture.create(Some("fix"));
    fixture.move_to(&id, "held");
    let error = effect_errors(&fixture, &id);
    assert!(error.contains("timed out after 1000 ms"), "{error}");
    let variable = format!("ORANGE_TASK_ID={id}");
    wait_for("its processes to go", || {
        processes_with(variable.as_bytes()).is_empty()
    });
}

#[test]
fn a_failed_teardown_is_reported_and_does_not_block_the_workspace() {
    let fixture = HomeFixture::new(1);
    fixture.configure_script("teardown", "exit 9");
    let id = fixture.create_with_workspace();
    fs::write(fixture.repo.slot().join("README"), "unsaved\n").unwrap();
    fixture.move_to(&id, "closed");
    assert!(fixture.store().workspace_of(&id).unwrap().is_none());
    let attention = fixture.task(&id).attention.join("\n");
    assert!(
        attention.contains("teardown") && attention.contains("teardown.log"),
        "{attention}"
    );
    assert_eq!(fixture.repo.open().rescues(&id).unwrap().len(), 1);
    assert_eq!(
        fixture.driver().workspaces.workspaces(None).unwrap()[0].state,
        "free"
    );
}

#[test]
fn processes_of_a_setup_end_with_the_task() {
    let fixture = HomeFixture::new(1);
    fixture.configure_script("setup", "sleep 600 >/dev/null 2>&1 &");
    let id = fixture.create_with_workspace();
    let variable = format!("ORANGE_TASK_ID={id}");
    assert_eq!(processes_with(variable.as_bytes()).len(), 1);
    fixture.move_to(&id, "open");
    assert_eq!(processes_with(variable.as_bytes()), [] as [u32; 0]);
}

/// The performer dies while its script runs; its successor kills that script and runs it again.
#[test]
fn a_setup_with_a_killed_performer_is_repeated_once_at_a_time() {
    let fixture = HomeFixture::new(1);
    let out = fixture.repo.path("out").display().to_string();
    let line =
        format!("echo begun >>{out}; [ $(wc -l <{out}) -gt 1 ] || sleep 600; echo done >>{out}");
    fixture.configure_script("setup", &line);
    let id = fixture.create(Some("fix"));
    let to = orange_engine::names::Status::new("held");
    let ask = orange_engine::input::RequestKind::Move { to };
    fixture.ask_waiting(&id, ask, orange_driver::WaitPolicy::Skip);
    let mut performer = fixture.orange(&["perform", id.as_str()]).spawn().unwrap();
    wait_for("the setup", || fs::exists(&out).unwrap());
    performer.kill().unwrap();
    performer.wait().unwrap();
    fixture.driver().performer.perform_until_done(&id).unwrap();
    assert_eq!(fixture.task(&id).status.as_str(), "held");
    assert_eq!(fs::read_to_string(&out).unwrap(), "begun\nbegun\ndone\n");
    let variable = format!("ORANGE_TASK_ID={id}");
    assert_eq!(processes_with(variable.as_bytes()), [] as [u32; 0]);
}

#[test]
fn a_script_of_the_repository_is_never_run() {
    let fixture = HomeFixture::new(1);
    let app = fixture.repo.app();
    let evidence = fixture.repo.path("evidence").display().to_string();
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
    fixture.repo.git(&app, &["add", "-A"]);
    fixture.repo.git(&app, &["commit", "-q", "-m", "scripts"]);
    let id = fixture.create_with_workspace();
    assert!(fixture.repo.slot().join("setup.sh").is_file());
    fixture.move_to(&id, "closed");
    assert!(!Path::new(&evidence).exists());
    // The check works: it would notice.
    let status = Command::new(app.join("setup.sh")).status();
    assert!(status.unwrap().success() && Path::new(&evidence).exists());
}

#[test]
fn an_unreachable_remote_is_reported() {
    let fixture = HomeFixture::new(1);
    let nowhere = fixture.repo.path("nowhere.git").display().to_string();
    let add = ["remote", "add", "origin", &nowhere];
    fixture.repo.git(&fixture.repo.app(), &add);
    let id = fixture.create_with_workspace();
    let attention = fixture.task(&id).attention.join("\n");
    assert!(attention.contains("the fetch failed"), "{attention}");
    assert!(!attention.contains("--quiet"), "{attention}");
}

#[test]
fn lesson_46_empty_submodules_are_no_trouble_and_setup_can_fill_them() {
    let fixture = HomeFixture::new(1);
    let repo = &fixture.repo;
    let library = repo.path("library");
    repo.git(&repo.path(""), &["init", "-q", "-b", "main", "library"]);
    repo.commit(&library, "lib.rs", "lib\n");
    let from = library.display().to_string();
    let allow = "protocol.file.allow=always";
    let add = ["-c", allow, "submodule", "--quiet", "add", &from, "lib"];
    repo.git(&repo.app(), &add);
    repo.git(&repo.app(), &["commit", "-q", "-m", "with a submodule"]);
    let id = fixture.create_with_workspace();
    assert_eq!(fixture.task(&id).attention, [] as [&str; 0]);
    let advice = "orange project update app --setup 'git submodule update --init'";
    let (_, output) = fixture.call(&["doctor", "--json"]);
    assert!(output.contains(advice), "{output}");
    fixture.move_to(&id, "open");
    let line = format!("git -c {allow} submodule update --init --quiet");
    fixture.configure_script("setup", &line);
    let task = fixture.move_to(&id, "held");
    assert_eq!(task.status.as_str(), "held", "{}", fixture.diagnostics(&id));
    assert!(repo.slot().join("lib/lib.rs").is_file());
    assert_eq!(fixture.task(&id).attention, [] as [&str; 0]);
    let (_, output) = fixture.call(&["doctor", "--json"]);
    assert!(!output.contains("has submodules"), "{output}");
    // A clean submodule does not prevent the release of the workspace.
    fixture.move_to(&id, "open");
    assert_eq!(
        fixture.driver().workspaces.workspaces(None).unwrap()[0].state,
        "free"
    );
}
