//! `orange workflow graph`.

use insta::assert_snapshot;

use crate::sandbox::{BROKEN, SMALL, Sandbox, code, everything_below, keys, utf8};

const SHIPPED: [&str; 7] = [
    "default",
    "respawn",
    "minimal",
    "session",
    "github",
    "autopilot",
    "local",
];

#[test]
fn shipped_workflows_in_a_terminal() {
    let sandbox = Sandbox::new();
    for name in SHIPPED {
        let transcript = sandbox.transcript(&format!("workflow graph {name}"));
        assert_snapshot!(format!("terminal_{name}"), transcript);
        assert!(transcript.is_ascii(), "{name}");
        for line in transcript.lines() {
            assert!(line.len() <= 80, "{name}: {line}");
        }
    }
}

#[test]
fn shipped_workflows_in_mermaid() {
    let sandbox = Sandbox::new();
    for name in ["default", "minimal", "autopilot"] {
        let line = format!("workflow graph {name} --format mermaid");
        assert_snapshot!(format!("mermaid_{name}"), sandbox.transcript(&line));
    }
}

#[test]
fn shipped_workflows_in_dot() {
    let sandbox = Sandbox::new();
    for name in ["default", "minimal", "autopilot"] {
        let line = format!("workflow graph {name} --format dot");
        assert_snapshot!(format!("dot_{name}"), sandbox.transcript(&line));
    }
}

#[test]
fn every_drawing_names_every_state() {
    let sandbox = Sandbox::new();
    for name in SHIPPED {
        let (answer, _) = sandbox.json(&format!("workflow graph {name} --json"));
        for format in ["terminal", "mermaid", "dot"] {
            let output = sandbox.run(&format!("workflow graph {name} --format {format}"));
            let drawing = utf8(&output.stdout);
            for state in answer["states"].as_array().unwrap() {
                let state = state["name"].as_str().unwrap();
                assert!(drawing.contains(state), "{name} {format}: {state}");
            }
        }
    }
}

#[test]
fn the_default_format_is_for_the_terminal() {
    let sandbox = Sandbox::new().with_workflow("small.yml", SMALL);
    let usual = sandbox.run("workflow graph small");
    let explicit = sandbox.run("workflow graph small --format terminal");
    assert_eq!(utf8(&usual.stdout), utf8(&explicit.stdout));
    let piped = sandbox.run_with_input("workflow graph -", SMALL.as_bytes());
    assert_eq!(utf8(&usual.stdout), utf8(&piped.stdout));
}

#[test]
fn a_program_reads_states_and_edges() {
    let sandbox = Sandbox::new();
    let (answer, code) = sandbox.json("workflow graph default --json");
    assert_eq!(code, 0);
    let expected = [
        "edges",
        "from",
        "name",
        "path",
        "schema",
        "shortest_path",
        "states",
    ];
    assert_eq!(keys(&answer), expected);
    assert_eq!(answer["schema"], "orange.workflow.graph/1");
    let states = answer["states"].as_array().unwrap();
    assert_eq!(keys(&states[0]), ["entry", "expects", "kind", "name"]);
    assert_eq!(states[0]["kind"], "queued");
    assert!(states[0]["entry"]["when"].is_null());
    assert!(states[1]["entry"].is_null());
    assert_eq!(states[2]["entry"]["when"], "summary_chars == 0");

    let (shown, _) = sandbox.json("workflow show default --json");
    let pair = |edge: &serde_json::Value| (edge["from"].to_string(), edge["to"].to_string());
    let written = shown["workflow"]["edges"].as_array().unwrap();
    let mut written: Vec<_> = written.iter().map(pair).collect();
    written.sort();
    written.dedup();
    let edges = answer["edges"].as_array().unwrap();
    let mut drawn: Vec<_> = edges.iter().map(pair).collect();
    drawn.sort();
    assert_eq!(drawn, written, "one edge for every pair");

    let first = &edges[0];
    let expected = ["direction", "from", "on_shortest_path", "to", "transitions"];
    assert_eq!(keys(first), expected);
    assert_eq!(first["direction"], "forward");
    assert_eq!(first["on_shortest_path"], true);
    let way = &first["transitions"][1];
    let expected = ["by", "confirm", "from_any", "gates", "trigger", "when"];
    assert_eq!(keys(way), expected);
    assert_eq!(way["by"][0], "engine");
    assert_eq!(way["from_any"], false);
    assert_eq!(answer["shortest_path"][5], "done");
}

#[test]
fn a_workflow_with_problems_is_not_drawn() {
    let sandbox = Sandbox::new().with_file("broken.yml", BROKEN);
    let lines = [
        "workflow graph broken.yml",
        "workflow graph broken.yml --format dot",
        "workflow graph nothing",
        "workflow graph defalt",
        "workflow graph default --format png",
        "workflow graph default --format dot --json",
    ];
    assert_snapshot!(lines.map(|line| sandbox.transcript(line)).join("\n"));
    let (answer, code) = sandbox.json("workflow graph broken.yml --json");
    assert_eq!(code, 3);
    assert_eq!(answer["error"]["code"], "workflow-invalid");
    assert_eq!(
        answer["error"]["details"]["problems"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}

#[test]
fn drawing_writes_nothing() {
    let sandbox = Sandbox::new();
    let before = everything_below(sandbox.root());
    for format in ["terminal", "mermaid", "dot"] {
        let output = sandbox.run(&format!("workflow graph default --format {format}"));
        assert_eq!(code(&output), 0);
    }
    assert_eq!(everything_below(sandbox.root()), before);
}
