//! Draws a workflow as a Mermaid flowchart.

use std::fmt::Write as _;

use orange_engine::language::Workflow;
use orange_engine::language::workflow::{Kind, Target};
use orange_engine::names::Status;

use super::{Graph, label};

/// Colours that are easy to tell apart, with dark text on a light background.
const CLASSES: &str = "  \
  classDef queued fill:#eeeeee,stroke:#666666,color:#000000
  classDef agent fill:#d6e4ff,stroke:#2f54eb,color:#000000
  classDef human fill:#fff1b8,stroke:#d48806,color:#000000
  classDef waiting fill:#f4e8ff,stroke:#722ed1,color:#000000
  classDef terminal fill:#d9f7be,stroke:#389e0d,color:#000000
  classDef around fill:#ffffff,stroke:#666666,color:#000000,stroke-dasharray:4 3
";

/// The workflow as the text of a Mermaid flowchart.
pub fn draw(workflow: &Workflow) -> String {
    let graph = Graph::of(workflow);
    let mut text = String::from("flowchart TD\n");
    let id = |status: &Status| {
        let place = graph.states.iter().position(|node| node.name == *status);
        place.map_or_else(|| "previous".to_owned(), |place| format!("s{place}"))
    };
    let target = |to: &Target| match to {
        Target::Status(status) => id(status),
        Target::Previous => "previous".to_owned(),
    };
    for node in &graph.states {
        let shown = lines([node.name.to_string(), format!("({})", label::kind(node))]);
        let shape = match node.kind {
            Kind::Queued => format!("([{shown}])"),
            Kind::Agent => format!("[{shown}]"),
            Kind::Human => format!("{{{{{shown}}}}}"),
            Kind::Waiting => format!("[/{shown}/]"),
            Kind::Terminal => format!("[[{shown}]]"),
        };
        let class = label::kind_word(node.kind);
        let _ = writeln!(text, "  {}{shape}:::{class}", id(&node.name));
    }
    let entries = graph
        .states
        .iter()
        .filter_map(|node| Some((node, node.entry.as_ref()?)));
    for (number, (node, entry)) in entries.enumerate() {
        let to = id(&node.name);
        let shown = lines([label::entry(entry)]);
        let _ = writeln!(text, "  start{number}((\" \")):::around -->|{shown}| {to}");
    }
    if graph.leads_to_previous() {
        text.push_str("  previous([\"the state it came from\"]):::around\n");
    }
    for (arrow, own) in graph.drawn_arrows() {
        let line = if arrow.on_shortest_path { "==>" } else { "-->" };
        let (from, to) = (id(&arrow.from), target(&arrow.to));
        let _ = writeln!(text, "  {from} {line}|{}| {to}", lines(own));
    }
    for (number, (to, same)) in graph.common().enumerate() {
        if number == 0 {
            let _ = writeln!(text, "  any([\"{}\"]):::around", label::ANY_ACTIVE);
        }
        let _ = writeln!(text, "  any -.->|{}| {}", lines(same), target(to));
    }
    text.push_str(CLASSES);
    text
}

/// A label with several lines.
fn lines(lines: impl IntoIterator<Item = impl ToString>) -> String {
    let lines = lines.into_iter().map(|line| escaped(&line.to_string()));
    format!("\"{}\"", lines.collect::<Vec<_>>().join("<br/>"))
}

/// Escapes everything that means something to Mermaid or HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '"' | '#' | '<' | '>' | '&' | '`' | '|' | '\\' | ';' => {
                let _ = write!(escaped, "#{};", u32::from(character));
            }
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}
