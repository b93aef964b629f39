//! YAML as a tree in which every node has its position.

use granit_parser::{Event, Parser, ScalarStyle, Span};

use super::problem::{Position, ProblemCode, Problems};

/// A larger workflow is rejected without being read.
pub const MAX_WORKFLOW_BYTES: usize = 1024 * 1024;

/// Aliases may not expand a small file beyond this many nodes.
const MAX_NODES: usize = 50_000;

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Scalar { text: String, quoted: bool },
    Sequence(Vec<Node>),
    Mapping(Vec<(Key, Node)>),
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) at: Position,
}

impl Value {
    /// Whether nothing was written, as in `done:` with nothing below it.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Value::Scalar { text, quoted } => !quoted && matches!(text.as_str(), "" | "~" | "null"),
            _ => false,
        }
    }

    /// The shape's name in messages.
    pub(crate) fn shape(&self) -> &'static str {
        match self {
            Value::Scalar { .. } => "a single value",
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a mapping",
        }
    }
}

/// Parses the only document of a source; problems are added to `problems`.
pub(crate) fn parse(source: &str, problems: &mut Problems<'_>) -> Option<Node> {
    let start = Position { line: 1, column: 1 };
    if source.len() > MAX_WORKFLOW_BYTES {
        let message = format!(
            "the file has {} bytes; a workflow may have at most {MAX_WORKFLOW_BYTES}",
            source.len()
        );
        problems.add(ProblemCode::TooLarge, start, message);
        return None;
    }
    let mut builder = Builder {
        parser: Parser::new_from_str(source),
        anchors: Vec::new(),
        nodes: 0,
    };
    match builder.document() {
        Ok(Some(node)) => {
            report_duplicates(&node, problems);
            Some(node)
        }
        Ok(None) => {
            problems.add(ProblemCode::MissingKey, start, "the file is empty");
            None
        }
        Err((code, at, message)) => {
            match hint_for(&message) {
                Some(hint) => problems.add_with_hint(code, at, message, hint),
                None => problems.add(code, at, message),
            }
            None
        }
    }
}

/// The usual cause of a parser message, which only describes what the parser saw last.
fn hint_for(message: &str) -> Option<&'static str> {
    let causes = [
        ("tab", "indent with spaces, never with tabs"),
        (
            "mapping values are not allowed",
            "the line above may be indented differently, or a text with `: ` needs quotes",
        ),
        (
            "unknown anchor",
            "`*name` repeats what `&name` marked above; a text with `*`, like \"*active\", needs quotes",
        ),
        (
            "illegal placement",
            "an opening bracket or quote above may not be closed",
        ),
        (
            "did not find expected",
            "an opening bracket or quote above may not be closed, or a line is indented differently",
        ),
    ];
    let found = causes.iter().find(|(words, _)| message.contains(words));
    found.map(|(_, hint)| *hint)
}

type Failure = (ProblemCode, Position, String);

struct Builder<'input> {
    parser: Parser<'input, granit_parser::StrInput<'input>>,
    /// Finished nodes that carry an anchor, by the parser's anchor id.
    anchors: Vec<(usize, Node)>,
    nodes: usize,
}

impl<'input> Builder<'input> {
    fn next(&mut self) -> Result<(Event<'input>, Span), Failure> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                let marker = error.marker();
                let at = Position {
                    line: marker.line(),
                    column: marker.col() + 1,
                };
                let message = format!("this is not YAML: {}", error.info());
                Err((ProblemCode::YamlSyntax, at, message))
            }
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn document(&mut self) -> Result<Option<Node>, Failure> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root),
                Event::DocumentStart(..) if root.is_some() => {
                    let message = "a workflow file has one YAML document; another begins here";
                    return Err((ProblemCode::YamlSyntax, position(&span), message.to_owned()));
                }
                event if event.is_node() => root = Some(self.node(event, &span)?),
                _ => {}
            }
        }
    }

    fn node(&mut self, event: Event<'input>, span: &Span) -> Result<Node, Failure> {
        let at = position(span);
        self.count(1, at)?;
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let quoted = !matches!(style, ScalarStyle::Plain);
                let text = text.into_owned();
                (Value::Scalar { text, quoted }, anchor)
            }
            Event::SequenceStart(_, anchor, _) => (self.sequence()?, anchor),
            Event::MappingStart(_, anchor, _) => (self.mapping()?, anchor),
            Event::Alias(id) => return self.alias(id, at),
            other => {
                let message = format!("this is not YAML that a workflow can use: {other:?}");
                return Err((ProblemCode::YamlSyntax, at, message));
            }
        };
        let node = Node { at, value };
        if anchor != 0 {
            self.anchors.push((anchor, node.clone()));
        }
        Ok(node)
    }

    fn sequence(&mut self) -> Result<Value, Failure> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::SequenceEnd | Event::StreamEnd => return Ok(Value::Sequence(items)),
                event if event.is_node() => items.push(self.node(event, &span)?),
                _ => {}
            }
        }
    }

    fn mapping(&mut self) -> Result<Value, Failure> {
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.next()?;
            let key = match event {
                Event::MappingEnd | Event::StreamEnd => return Ok(Value::Mapping(entries)),
                Event::Scalar(text, ..) => Key {
                    text: text.into_owned(),
                    at: position(&span),
                },
                event if event.is_node() => {
                    let message = "a key must be a single value".to_owned();
                    return Err((ProblemCode::WrongType, position(&span), message));
                }
                _ => continue,
            };
            let value = loop {
                let (event, span) = self.next()?;
                if event.is_node() {
                    break self.node(event, &span)?;
                }
                if matches!(event, Event::StreamEnd) {
                    return Ok(Value::Mapping(entries));
                }
            };
            entries.push((key, value));
        }
    }

    fn alias(&mut self, id: usize, at: Position) -> Result<Node, Failure> {
        let known = self.anchors.iter().rev().find(|(anchor, _)| *anchor == id);
        let Some((_, node)) = known else {
            let message = "an alias cannot be inside the value it names".to_owned();
            return Err((ProblemCode::YamlSyntax, at, message));
        };
        let node = node.clone();
        self.count(size(&node), at)?;
        Ok(node)
    }

    fn count(&mut self, more: usize, at: Position) -> Result<(), Failure> {
        self.nodes = self.nodes.saturating_add(more);
        if self.nodes > MAX_NODES {
            let message =
                format!("the file has more than {MAX_NODES} values once aliases are followed");
            return Err((ProblemCode::TooLarge, at, message));
        }
        Ok(())
    }
}

fn position(span: &Span) -> Position {
    Position {
        line: span.start.line().max(1),
        column: span.start.col() + 1,
    }
}

fn size(node: &Node) -> usize {
    1 + match &node.value {
        Value::Scalar { .. } => 0,
        Value::Sequence(items) => items.iter().map(size).sum(),
        Value::Mapping(entries) => entries.iter().map(|(_, value)| size(value)).sum(),
    }
}

fn report_duplicates(node: &Node, problems: &mut Problems<'_>) {
    match &node.value {
        Value::Scalar { .. } => {}
        Value::Sequence(items) => {
            for item in items {
                report_duplicates(item, problems);
            }
        }
        Value::Mapping(entries) => {
            let mut seen = std::collections::BTreeMap::new();
            for (key, value) in entries {
                let first = *seen.entry(key.text.as_str()).or_insert(key.at);
                if first != key.at {
                    let message = format!(
                        "key `{}` appears more than once; the first is in line {}",
                        key.text, first.line
                    );
                    problems.add(ProblemCode::DuplicateKey, key.at, message);
                }
                report_duplicates(value, problems);
            }
        }
    }
}
