//! `config.toml` applies where the project has no setting.

use std::fs;

use crate::support::Stage;

#[test]
fn the_settings_apply_where_the_project_sets_nothing() {
    let stage = Stage::new("default");
    let projects = stage.path("home/projects.json");
    let text = fs::read_to_string(&projects).unwrap();
    let mut read: serde_json::Value = serde_json::from_str(&text).unwrap();
    let project = read["projects"][0].as_object_mut().unwrap();
    assert!(project.remove("harness").is_some() && project.remove("workflow").is_some());
    fs::write(&projects, read.to_string()).unwrap();
    let (own, aside) = (
        stage.path("home/harnesses/script.toml"),
        stage.path("aside"),
    );
    fs::rename(&own, &aside).unwrap();
    let (code, output) = stage.call(&["task", "create", "Add a line"]);
    assert_eq!(code, 2, "no harness is named or installed: {output}");
    fs::rename(&aside, &own).unwrap();
    let found = stage.create(&["Add a line"]);
    assert_eq!(
        stage.task(&found).harness.as_str(),
        "script",
        "it is installed"
    );
    let config = "harness = \"script\"\nworkflow = \"minimal\"\n[pool]\nsize = 1\n";
    fs::write(stage.path("home/config.toml"), config).unwrap();
    let first = stage.create(&["Add a line"]);
    let task = stage.task(&first);
    assert_eq!(task.workflow.to_string(), "minimal");
    assert_eq!(task.harness.as_str(), "script");
    stage.run_ok(&["task", "spawn", first.as_str(), "--wait", "60"]);
    let second = stage.create(&["Add another"]);
    let (code, output) = stage.call(&["task", "spawn", second.as_str(), "--wait", "60"]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("is full: 1 of 1"), "{output}");

    // The project's own setting wins.
    stage.configure("pool_size", &2.into());
    stage.wait_until_idle(&second);
    stage.run_ok(&["task", "spawn", second.as_str(), "--wait", "60"]);
}

#[test]
fn invalid_settings_fail_only_the_commands_that_need_them() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    fs::write(stage.path("home/config.toml"), "[pool]\nsice = 1\n").unwrap();
    let (code, answer) = stage.json(&["task", "create", "Another", "--json"]);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["error"]["code"], "config-invalid");
    let (code, output) = stage.call(&["task", "show", id.as_str()]);
    assert_eq!(code, 0, "{output}");
    let (code, output) = stage.call(&["task", "spawn", id.as_str(), "--wait", "60"]);
    assert_eq!(code, 3, "the limits cannot be read: {output}");
    assert!(output.contains("unknown key `pool.sice`"), "{output}");
    assert_eq!(stage.task(&id).status.as_str(), "pending");
    fs::write(stage.path("home/config.toml"), "").unwrap();
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
}

#[test]
fn the_harness_comes_from_the_arguments_the_project_the_settings_or_the_first_installed() {
    let stage = Stage::new("minimal");
    let agent = stage.path("agent");
    for name in ["named", "projects", "settings", "a-first"] {
        let text = format!("name = \"{name}\"\nbinary = {agent:?}\n[args]\nfull = []\n");
        fs::write(stage.path(&format!("home/harnesses/{name}.toml")), text).unwrap();
    }
    let taken = |options: &[&str]| {
        let id = stage.create(&[&["Add a line"], options].concat());
        stage.task(&id).harness.to_string()
    };
    stage.run_ok(&["project", "update", "--harness", "projects"]);
    fs::write(stage.path("home/config.toml"), "harness = \"settings\"\n").unwrap();
    assert_eq!(taken(&["--harness", "named"]), "named");
    assert_eq!(taken(&[]), "projects");
    let projects = stage.home().projects();
    let text = fs::read_to_string(&projects).unwrap();
    let mut read: serde_json::Value = serde_json::from_str(&text).unwrap();
    read["projects"][0]
        .as_object_mut()
        .unwrap()
        .remove("harness");
    fs::write(&projects, read.to_string()).unwrap();
    assert_eq!(taken(&[]), "settings");
    fs::write(stage.path("home/config.toml"), "").unwrap();
    assert_eq!(taken(&[]), "a-first");
    // A program that is not installed is not used, whatever its name.
    let gone = "name = \"a-first\"\nbinary = \"/nowhere/x\"\n[args]\nfull = []\n";
    fs::write(stage.path("home/harnesses/a-first.toml"), gone).unwrap();
    assert_eq!(taken(&[]), "named");
    let (_, listed) = stage.json(&["harness", "list", "--json"]);
    let listed = listed["harnesses"].as_array().unwrap();
    let state = |name: &str| {
        let found = listed.iter().find(|it| it["name"] == name).unwrap();
        found["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state("named"), "ready");
    assert_eq!(state("a-first"), "missing");
    assert_eq!(state("claude"), "missing");
}

#[test]
fn an_agent_is_told_the_name_of_its_task_file() {
    let stage = Stage::new("minimal");
    fs::write(stage.path("repo/TASK.md"), "# What we plan\n").unwrap();
    for call in ["add TASK.md", "commit -qm plans"] {
        assert!(stage.git(call).status.success());
    }
    let path = stage.path("home/projects.json");
    let projects = fs::read_to_string(&path).unwrap();
    let renamed = projects.replace("\"TASK.md\"", "\"ORANGE.md\"");
    assert_ne!(projects, renamed);
    fs::write(&path, renamed).unwrap();
    stage.script(
        "worker-1",
        "cp $prompt_file $SCRIPTS/prompt\ncommit one\nprintf '\\n## Handoff\\n\\nDONE: it\\n' >> \
         ORANGE.md\nask task complete\nhang",
    );
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_status(&id, "reviewing");
    let prompt = fs::read_to_string(stage.path("scripts/prompt")).unwrap();
    assert!(prompt.contains("Your task file is ORANGE.md."), "{prompt}");
    assert_eq!(
        prompt.matches("TASK.md").count(),
        2,
        "only that sentence: {prompt}"
    );
}
