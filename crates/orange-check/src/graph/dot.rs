//! Draws a workflow in the Graphviz language.

use std::fmt::Write as _;

use orange_engine::language::Workflow;
use orange_engine::language::workflow::{Kind, Target};

use super::{Graph, label};

/// The workflow as the text of a directed graph.
pub fn draw(workflow: &Workflow) -> String {
    let graph = Graph::of(workflow);
    let mut text = format!("digraph {} {{\n", quoted(workflow.name.as_str()));
    text.push_str("  rankdir=TB;\n");
    text.push_str("  node [fontname=\"sans-serif\", style=filled, color=\"#666666\"];\n");
    text.push_str("  edge [fontname=\"sans-serif\", fontsize=10];\n");
    for node in &graph.states {
        let (shape, fill) = match node.kind {
            Kind::Queued => ("ellipse", "#eeeeee"),
            Kind::Agent => ("box", "#d6e4ff"),
            Kind::Human => ("hexagon", "#fff1b8"),
            Kind::Waiting => ("parallelogram", "#f4e8ff"),
            Kind::Terminal => ("doubleoctagon", "#d9f7be"),
        };
        let name = quoted(node.name.as_str());
        let shown = lines([node.name.to_string(), format!("({})", label::kind(node))]);
        let _ = writeln!(
            text,
            "  {name} [label={shown}, shape={shape}, fillcolor=\"{fill}\"];"
        );
        // A state's name has no space in it, so this cannot clash with one.
        let start = quoted(&format!("start {}", node.name));
        if let Some(entry) = &node.entry {
            let shown = lines([label::entry(entry)]);
            let _ = writeln!(text, "  {start} [shape=point, width=0.15];");
            let _ = writeln!(text, "  {start} -> {name} [label={shown}];");
        }
    }
    if graph.leads_to_previous() {
        let name = quoted(Target::PREVIOUS);
        let _ = writeln!(
            text,
            "  {name} [label=\"the state it came from\", style=dashed];"
        );
    }
    for (arrow, own) in graph.drawn_arrows() {
        let from = quoted(arrow.from.as_str());
        let to = quoted(&arrow.to.to_string());
        let weight = if arrow.on_shortest_path {
            ", penwidth=3, weight=10"
        } else {
            ""
        };
        let _ = writeln!(text, "  {from} -> {to} [label={}{weight}];", lines(own));
    }
    let any = quoted(label::ANY_ACTIVE);
    for (number, (to, same)) in graph.common().enumerate() {
        if number == 0 {
            let _ = writeln!(text, "  {any} [style=dashed];");
        }
        let to = quoted(&to.to_string());
        let shown = lines(same);
        let _ = writeln!(text, "  {any} -> {to} [label={shown}, style=dashed];");
    }
    text.push_str("}\n");
    text
}

/// A label with several lines.
fn lines(lines: impl IntoIterator<Item = impl ToString>) -> String {
    let lines = lines.into_iter().map(|line| escaped(&line.to_string()));
    format!("\"{}\"", lines.collect::<Vec<_>>().join("\\n"))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// Escapes a text for use between double quotes.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '"' | '\\' => escaped.extend(['\\', character]),
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}
