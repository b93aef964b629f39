//! Drawings of workflows with odd names, long labels and few states.

use orange_check::graph::{Arrow, Direction, Graph, dot, mermaid, terminal};
use orange_engine::{Workflow, shipped_workflows};

use crate::fixtures::{load_clean, shipped_workflow};

/// Every character an author may write that has a special meaning in a drawing.
const ODD: &str = r###"
name: odd
version: 1
description: "Quotes \" and 'these', a \\ and\na second line."
states:
  a-very-long-name-that-is-as-long-as-a-name-can-be-0123456789-end: { kind: queued }
  end: { kind: waiting }
  graph: { kind: human }
  over: { kind: terminal }
transitions:
  - from: a-very-long-name-that-is-as-long-as-a-name-can-be-0123456789-end
    to: end
    by: human
    gates:
      - { section: "## \"Quoted\" | #1; <b>\\o/</b>", verdict: PASS }
      - { command: ["sh", "-c", "echo \"$HOME\" && x | y; `z`\nä漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字"] }
  - from: end
    to: a-very-long-name-that-is-as-long-as-a-name-can-be-0123456789-end
    when: review_round < 1 and crash_count >= 2 and review_round != 3 and crash_count == 4
  - from: end
    to: graph
  - from: graph
    to: "@previous"
  - from: graph
    to: over
    gate: { git: [clean, commits_ahead] }
  - from: "*active"
    to: over
    trigger: pr_merged
"###;

/// A workflow that cannot be loaded from a file, because the load rules require an end.
fn one_state() -> Workflow {
    let mut workflow = load_clean(
        "name: one\nversion: 1\nstates: { a: { kind: queued }, b: { kind: terminal } }\n\
         transitions:\n  - { from: a, to: b, trigger: crash }\n",
    );
    assert!(Graph::of(&workflow).shortest_path.is_empty());
    workflow.states.truncate(1);
    workflow.edges.clear();
    workflow
}

fn snapshot(name: &str, drawing: &str) {
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(format!("graph_odd_{name}"), drawing);
    });
}

/// The width of the widest line, counting every non-ASCII character as two columns.
fn widest(text: &str) -> usize {
    let width = |line: &str| line.chars().map(|it| 1 + usize::from(!it.is_ascii())).sum();
    text.lines().map(width).max().unwrap_or_default()
}

#[test]
fn every_line_fits_the_width() {
    let mut workflows: Vec<_> = shipped_workflows::ALL
        .iter()
        .map(|it| load_clean(it.source))
        .collect();
    workflows.extend([load_clean(ODD), one_state()]);
    for workflow in &workflows {
        for width in [80, 60, 40] {
            let drawing = terminal::draw(workflow, width);
            assert!(widest(&drawing) <= width, "{width}:\n{drawing}");
        }
        assert!(widest(&terminal::draw(workflow, 0)) <= 40);
    }
}

#[test]
fn a_drawing_is_plain_ascii() {
    for shipped in shipped_workflows::ALL {
        let workflow = load_clean(shipped.source);
        assert!(terminal::draw(&workflow, 80).is_ascii(), "{}", shipped.name);
    }
}

#[test]
fn every_state_and_every_transition_is_drawn() {
    for shipped in shipped_workflows::ALL {
        let workflow = load_clean(shipped.source);
        let graph = Graph::of(&workflow);
        assert_eq!(graph.states.len(), workflow.states.len());
        for edge in &workflow.edges {
            let is_drawn = graph
                .drawn_arrows()
                .any(|(arrow, _)| arrow.from == edge.from && arrow.to == edge.to);
            let is_common = graph.common().any(|(to, same)| {
                *to == edge.to && same.iter().any(|it| !it.except.contains(&edge.from))
            });
            assert!(is_drawn || is_common, "{} -> {}", edge.from, edge.to);
        }
        let ways: usize = graph
            .edges
            .iter()
            .map(|arrow| arrow.transitions.len())
            .sum();
        assert_eq!(ways, workflow.edges.len());
    }
}

#[test]
fn a_shared_arrow_names_the_states_it_excludes() {
    let workflow = shipped_workflow("default");
    let graph = Graph::of(&workflow);
    let bodies: Vec<String> = graph
        .common()
        .flat_map(|(to, same)| same.iter().map(move |it| format!("{to}: {it}")))
        .collect();
    let expected = [
        "done: on merged by human, needs committed and task_file_untracked, asks first (not from reviewing)",
        "cancelled: by human",
    ];
    assert_eq!(bodies, expected);
    // These two differ from the common one only in their hooks.
    for from in ["pending", "agent-review"] {
        let mut drawn = graph.drawn_arrows();
        let mut to_cancelled = |name: &str| {
            drawn.any(|(arrow, _)| {
                arrow.from.as_str() == name && arrow.to.to_string() == "cancelled"
            })
        };
        assert!(!to_cancelled(from), "{from}");
    }
}

#[test]
fn the_shortest_path_avoids_failures_and_cancellation() {
    let shipped = |name: &str| {
        let way = Graph::of(&shipped_workflow(name)).shortest_path;
        let names: Vec<String> = way.iter().map(ToString::to_string).collect();
        names.join(" ")
    };
    let expected = "pending planning working agent-review reviewing done";
    assert_eq!(shipped("default"), expected);
    assert_eq!(shipped("minimal"), "pending working reviewing done");
    assert_eq!(shipped("session"), "pending working done");
    assert_eq!(shipped("autopilot"), "new routed in_progress done");
}

#[test]
fn arrows_have_a_direction() {
    let graph = Graph::of(&load_clean(ODD));
    let course = |from: &str, to: &str| {
        let mut arrows = graph.edges.iter();
        let is =
            |it: &Arrow| it.from.as_str().starts_with(from) && it.to.to_string().starts_with(to);
        arrows.find(|arrow| is(arrow)).unwrap().direction
    };
    assert_eq!(course("a-", "end"), Direction::Forward);
    assert_eq!(course("end", "a-"), Direction::Back);
    assert_eq!(course("graph", "@previous"), Direction::Back);
    assert_eq!(course("graph", "over"), Direction::Forward);
}

#[test]
fn a_single_state_can_be_drawn() {
    let workflow = one_state();
    let drawing = terminal::draw(&workflow, 80);
    let expected = "one:\n\n->o a  (queued)\n\n->o a task can start here\n";
    assert_eq!(drawing, expected);
    assert!(mermaid::draw(&workflow).contains("s0([\"a<br/>(queued)\"]):::queued"));
    assert!(dot::draw(&workflow).starts_with("digraph \"one\" {\n"));
}

#[test]
fn labels_are_escaped_for_mermaid() {
    let drawing = mermaid::draw(&load_clean(ODD));
    snapshot("mermaid", &drawing);
    for line in drawing.lines().filter(|line| line.contains('|')) {
        assert_eq!(line.matches('|').count(), 2, "{line}");
        let (_, label) = line.split_once("|\"").unwrap();
        let (label, _) = label.split_once("\"|").unwrap();
        assert!(!label.contains(['"', '`', '\\']), "{label}");
        assert!(!label.replace("<br/>", "").contains(['<', '>']), "{label}");
    }
}

#[test]
fn labels_are_escaped_for_graphviz() {
    let drawing = dot::draw(&load_clean(ODD));
    snapshot("dot", &drawing);
    for line in drawing.lines() {
        let unescaped = line.replace("\\\\", "").replace("\\\"", "");
        assert_eq!(unescaped.matches('"').count() % 2, 0, "{line}");
    }
}

#[test]
fn unusual_names_are_drawn_safely_in_a_terminal() {
    snapshot("terminal", &terminal::draw(&load_clean(ODD), 80));
}
