//! Draws a workflow in plain characters, for a terminal.

use orange_engine::language::Workflow;
use orange_engine::language::workflow::{Kind, Target};
use orange_engine::names::Status;

use super::{Arrow, Direction, Graph, Node, label};

/// The width of a terminal that was not resized.
pub const DEFAULT_WIDTH: usize = 80;

/// A narrower terminal has no room for a drawing.
const NARROWEST: usize = 40;

/// The column at which the arrows below a state begin.
const ARROWS: usize = 6;

/// Longer names have their labels on the lines below.
const LONGEST_ALIGNED: usize = 20;

/// The line that continues to the next state, beside the arrows.
const BESIDE: &str = "  |";

const SHORTEST: &str = "==>";
const ONWARD: &str = "-->";
const BACK: &str = "^--";

/// The workflow as lines of at most `width` columns.
///
/// The states are listed in file order, one below the other; below each are the arrows that leave
/// it. Everything except the author's own text is ASCII.
pub fn draw(workflow: &Workflow, width: usize) -> String {
    let graph = Graph::of(workflow);
    let mut page = Page {
        width: width.max(NARROWEST),
        lines: Vec::new(),
    };
    let targets = graph.drawn_arrows().map(|(arrow, _)| &arrow.to);
    let targets = targets.chain(graph.common().map(|(to, _)| to));
    let widths = targets.map(|to| columns(&to.to_string()));
    let widest = widths.filter(|width| *width <= LONGEST_ALIGNED).max();
    let labels = ARROWS + "--> ".len() + widest.unwrap_or_default() + "  ".len();

    let description = workflow.description.as_deref().unwrap_or_default();
    page.fold("", &format!("{}: {description}", workflow.name), "  ");
    if !graph.shortest_path.is_empty() {
        let path: Vec<&str> = graph.shortest_path.iter().map(Status::as_str).collect();
        page.fold("", "", "");
        page.fold("  ", &path.join(" ==> "), "  ");
    }
    page.fold("", "", "");
    for (place, node) in graph.states.iter().enumerate() {
        let is_last = place + 1 == graph.states.len();
        page.fold(
            &state_symbol(node),
            &state_text(node),
            &format!("{BESIDE}   "),
        );
        let mut arrows: Vec<_> = graph
            .drawn_arrows()
            .filter(|(arrow, _)| arrow.from == node.name)
            .collect();
        arrows.sort_by_key(|(arrow, _)| (!arrow.on_shortest_path, arrow.direction));
        let beside = if is_last { "" } else { BESIDE };
        for (arrow, own) in arrows {
            let own = own.into_iter().map(ToString::to_string);
            page.arrow(beside, head(arrow), &arrow.to, own, labels);
        }
        if !is_last && node.kind != Kind::Terminal {
            page.fold(BESIDE, "", "");
        }
    }
    for (number, (to, same)) in graph.common().enumerate() {
        if number == 0 {
            page.fold("", "", "");
            page.fold("", &format!("from {}:", label::ANY_ACTIVE), "");
        }
        let same = same.iter().map(ToString::to_string);
        page.arrow("", ONWARD, to, same, labels);
    }
    page.fold("", "", "");
    page.fold("", &legend(&graph), "");
    page.lines.join("\n") + "\n"
}

/// Explains the symbols that occur in the drawing.
fn legend(graph: &Graph) -> String {
    let heads = graph.drawn_arrows().map(|(arrow, _)| head(arrow));
    let heads: Vec<&str> = heads.chain(graph.common().map(|_| ONWARD)).collect();
    let signs = [
        (SHORTEST, "shortest path"),
        (ONWARD, "onward"),
        (BACK, "back"),
    ];
    let mut signs: Vec<String> = signs
        .into_iter()
        .filter(|(sign, _)| heads.contains(sign))
        .map(|(sign, meaning)| format!("{sign} {meaning}"))
        .collect();
    signs.push("->o a task can start here".to_owned());
    signs.join("   ")
}

fn head(arrow: &Arrow) -> &'static str {
    match (arrow.on_shortest_path, arrow.direction) {
        (true, _) => SHORTEST,
        (false, Direction::Forward) => ONWARD,
        (false, Direction::Back) => BACK,
    }
}

/// The symbol before a state.
fn state_symbol(node: &Node) -> String {
    let entry = if node.entry.is_some() { "->" } else { "  " };
    let sign = if node.kind == Kind::Terminal {
        "x"
    } else {
        "o"
    };
    format!("{entry}{sign} ")
}

fn state_text(node: &Node) -> String {
    let state_text = format!("{}  ({})", node.name, label::kind(node));
    match &node.entry {
        Some(entry) if entry.when.is_some() => {
            format!("{state_text}  {}", label::entry(entry))
        }
        _ => state_text,
    }
}

/// Lines that are not wider than the page.
struct Page {
    width: usize,
    lines: Vec<String>,
}

impl Page {
    /// Adds an arrow and the conditions beside it.
    fn arrow(
        &mut self,
        beside: &str,
        head: &str,
        to: &Target,
        conditions: impl Iterator<Item = String>,
        labels: usize,
    ) {
        let mut start = format!("{beside:ARROWS$}{head} {to}");
        let below = format!("{beside:labels$}");
        if columns(&start) + 1 > labels {
            self.fold(&start, "", &below);
            start.clone_from(&below);
        }
        for condition in conditions {
            self.fold(
                &format!("{start:labels$}"),
                &condition,
                &format!("{below}  "),
            );
            start.clone_from(&below);
        }
    }

    /// Adds `start` and a text, on as many lines as they need; further lines begin with `below`.
    fn fold(&mut self, start: &str, text: &str, below: &str) {
        let mut line = start.to_owned();
        for (number, piece) in pieces(text).iter().enumerate() {
            if number > 0 && columns(&line) + 1 + columns(piece) > self.width {
                self.end(&line);
                below.clone_into(&mut line);
            } else if number > 0 {
                line.push(' ');
            }
            line.push_str(piece);
            // A piece that is longer than its line continues on the next one.
            while columns(&line) > self.width {
                let (fits, rest) = split(&line, self.width);
                self.end(&fits);
                line = format!("{below}{rest}");
            }
        }
        self.end(&line);
    }

    fn end(&mut self, line: &str) {
        self.lines.push(line.trim_end().to_owned());
    }
}

/// The words of a text; a comparison counts as one, because half of it means nothing.
fn pieces(text: &str) -> Vec<String> {
    // A line break in a text would break the drawing.
    let words = text.split(|it: char| it.is_whitespace() || it.is_control());
    let mut pieces: Vec<String> = Vec::new();
    let mut is_open = false;
    for word in words {
        let is_operator = ["<", "<=", ">", ">=", "==", "!="].contains(&word);
        match pieces.last_mut() {
            Some(last) if is_operator || is_open => {
                last.push(' ');
                last.push_str(word);
            }
            _ => pieces.push(word.to_owned()),
        }
        is_open = is_operator;
    }
    pieces
}

/// The maximum number of columns a text takes: a non-ASCII character may be two columns wide.
fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(character: char) -> usize {
    if character.is_ascii() { 1 } else { 2 }
}

/// As much of a text as fits, and the rest.
fn split(text: &str, width: usize) -> (String, String) {
    let mut taken = 0;
    let mut characters = text.chars();
    let mut fits = String::new();
    for character in characters.by_ref() {
        taken += columns_of(character);
        if taken > width {
            let rest: String = std::iter::once(character).chain(characters).collect();
            return (fits, rest);
        }
        fits.push(character);
    }
    (fits, String::new())
}
