//! `orange install`: what it writes, what it leaves alone, what it removes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::support::Stage;

/// A project with `minimal`, settings without a workflow, and an agent that supports skills.
fn stage() -> Stage {
    let stage = Stage::new("minimal");
    define(&stage, "teachable", "/bin/sh");
    stage
}

fn define(stage: &Stage, name: &str, binary: &str) {
    let text = format!(
        "name = \"{name}\"\nbinary = \"{binary}\"\nskills = \"${{AGENT_HOME:-~/.{name}}}/skills\"\n\
         [args]\nfull = []\n"
    );
    fs::write(stage.path(&format!("home/harnesses/{name}.toml")), text).unwrap();
}

fn skill(stage: &Stage) -> PathBuf {
    stage.path(".teachable/skills/orange/SKILL.md")
}

#[test]
fn a_skill_is_written_updated_and_removed() {
    let stage = stage();
    let mut output = stage.transcript(&["install"]);
    let first = fs::read_to_string(skill(&stage)).unwrap();
    output.push_str(&stage.transcript(&["install", "--harness", "teachable"]));
    stage.run_ok(&["project", "update", "--workflow", "respawn"]);
    output.push_str(&stage.transcript(&["install"]));
    let second = fs::read_to_string(skill(&stage)).unwrap();
    assert_ne!(first, second);
    fs::write(skill(&stage), second.replace("# orange", "# Orange")).unwrap();
    for options in [&["install"][..], &["install", "--uninstall"]] {
        output.push_str(&stage.transcript(options));
    }
    let changed = fs::read_to_string(skill(&stage)).unwrap();
    assert!(changed.contains("# Orange"), "the user's text stays");
    fs::rename(skill(&stage), skill(&stage).with_extension("md.mine")).unwrap();
    output.push_str(&stage.transcript(&["install"]));
    for _ in 0..2 {
        output.push_str(&stage.transcript(&["install", "--uninstall"]));
    }
    insta::assert_snapshot!(output);
    assert!(!skill(&stage).exists());
    assert!(skill(&stage).with_extension("md.mine").exists());
}

#[test]
fn a_skill_describes_exactly_the_workflows_in_use() {
    let stage = stage();
    let (code, answer) = stage.json(&["install", "--json"]);
    assert_eq!(code, 0, "{answer}");
    assert_eq!(
        answer["workflows"],
        serde_json::json!(["default", "minimal"])
    );
    assert_eq!(answer["skills"][0]["outcome"], "written");
    let text = fs::read_to_string(skill(&stage)).unwrap();
    for name in ["default", "minimal"] {
        assert!(text.contains(&format!("\n### `{name}`\n")), "{text}");
    }
    assert!(!text.contains("`autopilot`"), "{text}");

    let own = include_str!("../../../../workflows/minimal.yml")
        .replace("name: minimal", "name: mine")
        .replace("working", "tinkering");
    fs::create_dir_all(stage.path("home/workflows")).unwrap();
    fs::write(stage.path("home/workflows/mine.yml"), own).unwrap();
    fs::write(stage.path("home/config.toml"), "workflow = \"mine\"\n").unwrap();
    stage.run_ok(&["install"]);
    let text = fs::read_to_string(skill(&stage)).unwrap();
    assert!(text.contains("in `tinkering`: `orange task update --status reviewing`"));
    assert!(
        !text.contains("### `default`"),
        "no project uses it any more"
    );

    fs::write(stage.path("home/workflows/mine.yml"), "name: mine\n").unwrap();
    let (code, answer) = stage.json(&["install", "--json"]);
    let error_code = &answer["error"]["code"];
    assert_eq!((code, error_code), (3, &"workflow-invalid".into()));
    assert_eq!(fs::read_to_string(skill(&stage)).unwrap(), text);
}

#[test]
fn one_failed_skill_does_not_block_the_others() {
    let stage = stage();
    define(&stage, "blocked", "/bin/sh");
    define(&stage, "gone", "/nowhere/gone");
    fs::write(stage.path(".blocked"), "a file").unwrap();
    let (code, answer) = stage.json(&["install", "--json"]);
    assert_eq!(code, 3, "{answer}");
    let outcome = |at: usize| {
        let skill = &answer["skills"][at];
        [&skill["harness"], &skill["outcome"]].map(|it| it.as_str().unwrap().to_owned())
    };
    assert_eq!(outcome(0), ["blocked", "failed"]);
    assert_eq!(outcome(1), ["teachable", "written"]);
    assert!(
        answer["skills"][2].is_null(),
        "what is not installed learns nothing"
    );
    let fix = answer["skills"][0]["fix"].as_str().unwrap();
    assert!(fix.contains("ls -ld"), "{fix}");

    stage.run_ok(&["install", "--harness", "gone"]);
    assert!(stage.path(".gone/skills/orange/SKILL.md").exists());
    let (code, answer) = stage.json(&["install", "--uninstall", "--json"]);
    let skills = answer["skills"].as_array().unwrap();
    let outcomes: Vec<_> = skills.iter().map(|it| it["outcome"].as_str()).collect();
    assert_eq!(code, 3, "{answer}");
    assert_eq!(outcomes, [Some("failed"), Some("removed"), Some("removed")]);
}

#[test]
fn an_unwritable_folder_is_reported() {
    let stage = stage();
    let mut orange = stage.orange(&["install", "--json"]);
    // Not even root can create a folder there.
    let output = orange.env("AGENT_HOME", "/sys").output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{answer}");
    assert_eq!(answer["skills"][0]["outcome"], "failed");
    let reason = answer["skills"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("/sys/skills/orange"), "{reason}");
}

#[test]
fn an_agent_cannot_install_skills() {
    let stage = stage();
    stage.script("worker-1", "ask install");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    assert!(
        stage.calls().contains("only the user may"),
        "{}",
        stage.calls()
    );
    assert!(!skill(&stage).exists());
}

/// Agents with MCP servers in JSON, JSON with comments, and TOML.
fn stage_with_servers() -> Stage {
    let stage = stage();
    for (name, file) in [
        ("one", "one.json"),
        ("two", "two.json"),
        ("three", "three.toml"),
    ] {
        define(&stage, name, "/bin/sh");
        let path = stage.path(&format!("home/harnesses/{name}.toml"));
        let definition = fs::read_to_string(&path).unwrap();
        let entry = "entry = { command = \"orange\", args = [\"mcp\"] }";
        let mcp = format!("[mcp]\nfile = \"~/{file}\"\nkeys = [\"servers\"]\n{entry}\n");
        fs::write(&path, definition + &mcp).unwrap();
    }
    stage
}

const ONE: &str =
    "{\n  \"theme\": \"dark\",\n  \"servers\": {\n    \"x\": { \"command\": \"x\" }\n  }\n}\n";
const TWO: &str = "// mine\n{\n\t\"a\": [1, 2,], // two\n\t/* no servers */\n}\n";
const THREE: &str = "# mine\nmodel = \"m\" # best\n\n[servers.x]\ncommand = \"x\"\n";

#[test]
fn the_server_is_registered_and_removed_and_everything_else_stays() {
    let stage = stage_with_servers();
    let files = [("one.json", ONE), ("two.json", TWO), ("three.toml", THREE)];
    fs::create_dir(stage.path("dotfiles")).unwrap();
    for (name, text) in files {
        // As people do who keep their settings in a repository.
        fs::write(stage.path("dotfiles").join(name), text).unwrap();
        symlink(format!("dotfiles/{name}"), stage.path(name)).unwrap();
    }
    let outcomes = |answer: &serde_json::Value| {
        let servers = answer["mcp_servers"].as_array().unwrap();
        let outcomes = servers
            .iter()
            .map(|it| it["outcome"].as_str().unwrap().to_owned());
        outcomes.collect::<Vec<_>>()
    };
    for expected in ["written", "unchanged"] {
        let (code, answer) = stage.json(&["install", "--json"]);
        assert_eq!(
            (code, outcomes(&answer)),
            (0, vec![expected.to_owned(); 3]),
            "{answer}"
        );
    }
    for (name, text) in files {
        let now = fs::read_to_string(stage.path(name)).unwrap();
        assert!(now.contains("orange") && now.contains("mcp"), "{now}");
        for line in text.lines() {
            assert!(
                now.contains(line.trim_end_matches(['}', ' '])),
                "{line:?} in {now}"
            );
        }
        assert!(stage.path(name).is_symlink());
    }
    for expected in ["removed", "absent"] {
        let (code, answer) = stage.json(&["install", "--uninstall", "--json"]);
        assert_eq!(
            (code, outcomes(&answer)),
            (0, vec![expected.to_owned(); 3]),
            "{answer}"
        );
    }
    for (name, text) in files {
        assert_eq!(fs::read_to_string(stage.path(name)).unwrap(), text);
    }
    // `orange uninstall` removes it too, and says so before.
    stage.run_ok(&["install"]);
    let said = stage.run_ok(&["uninstall", "--yes"]);
    assert!(said.contains("the MCP server `orange` in "), "{said}");
    for (name, text) in files {
        assert_eq!(fs::read_to_string(stage.path(name)).unwrap(), text);
    }
}

#[test]
fn settings_that_cannot_be_edited_are_not_touched() {
    let stage = stage_with_servers();
    let own = "{\"servers\":{\"orange\":{\"command\":\"my-own\"}}}";
    fs::write(stage.path("one.json"), own).unwrap();
    fs::write(stage.path("two.json"), "{ \"a\": 1 \"b\": 2 }").unwrap();
    symlink("nowhere.toml", stage.path("three.toml")).unwrap();
    for options in [
        &["install", "--json"][..],
        &["install", "--uninstall", "--json"],
    ] {
        let (code, answer) = stage.json(options);
        assert_eq!(code, 3, "{answer}");
        let servers = answer["mcp_servers"].as_array().unwrap();
        let [one, three, two] = servers.as_slice() else {
            panic!("{answer}");
        };
        assert_eq!(one["outcome"], "kept");
        assert_eq!(two["outcome"], "failed");
        let reason = two["reason"].as_str().unwrap();
        assert!(reason.contains("line 1 column"), "{reason}");
        let fix = two["fix"].as_str().unwrap();
        assert!(fix.contains("two.json`, which was not changed"), "{fix}");
        assert_eq!(three["outcome"], "failed");
        assert!(three["reason"].as_str().unwrap().contains("leads nowhere"));
    }
    assert_eq!(fs::read_to_string(stage.path("one.json")).unwrap(), own);
    let broken = fs::read_to_string(stage.path("two.json")).unwrap();
    assert_eq!(broken, "{ \"a\": 1 \"b\": 2 }");
    assert!(!stage.path("nowhere.toml").exists());
    let (code, said) = stage.call(&["install"]);
    assert_eq!(code, 3);
    assert!(
        said.contains("cannot change the MCP server of `two`"),
        "{said}"
    );
}
