//! What is wrong with a workflow file, and where.

use std::fmt;

use serde::Serialize;

/// A position in a source text, counted from 1; columns count characters.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// The stable name of a kind of problem; scripts may match on it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemCode {
    /// The text is not YAML.
    YamlSyntax,
    /// The file is too large or too deeply aliased to read.
    TooLarge,
    /// A key appears twice in one mapping.
    DuplicateKey,
    /// A key that the language does not have.
    UnknownKey,
    /// A required key is missing.
    MissingKey,
    /// A value of the wrong type.
    WrongType,
    /// A value of the right type that is not allowed here.
    InvalidValue,
    /// A `version` that this version of orange does not support.
    UnknownVersion,
    /// Load rule 1: a transition leads to a state that does not exist.
    TransitionTargetUnknown,
    /// Load rule 2: a transition starts from a state that does not exist.
    TransitionSourceUnknown,
    /// Load rule 3: a transition leaves a terminal state.
    TransitionFromTerminal,
    /// Load rule 4: a hook names a prompt that does not exist.
    PromptUnknown,
    /// Load rule 5: a state respawns with a prompt that does not exist.
    RespawnPromptUnknown,
    /// Load rule 6: an exit rule leads to a state that does not exist.
    ExitTargetUnknown,
    /// Load rule 7: two transitions between the same states can apply at once.
    TransitionAmbiguous,
    /// Load rule 8: a `when` does not parse.
    WhenInvalid,
    /// Load rule 9: a `then_when` does not cover every case.
    ThenWhenNotExhaustive,
    /// A status that no state declares, outside transitions and exit rules.
    StateUnknown,
    /// A role that is neither built in nor declared under `roles`.
    RoleUnknown,
    /// A numeric field that is neither built in nor declared under `fields`.
    FieldUnknown,
    /// A gate that `gates` does not declare.
    GateUnknown,
    /// A hook action that does not exist.
    ActionUnknown,
    /// A prompt uses a variable that does not exist.
    VariableUnknown,
}

impl ProblemCode {
    /// The code for scripts.
    pub fn as_str(self) -> &'static str {
        match self {
            ProblemCode::YamlSyntax => "yaml-syntax",
            ProblemCode::TooLarge => "too-large",
            ProblemCode::DuplicateKey => "duplicate-key",
            ProblemCode::UnknownKey => "unknown-key",
            ProblemCode::MissingKey => "missing-key",
            ProblemCode::WrongType => "wrong-type",
            ProblemCode::InvalidValue => "invalid-value",
            ProblemCode::UnknownVersion => "unknown-version",
            ProblemCode::TransitionTargetUnknown => "transition-target-unknown",
            ProblemCode::TransitionSourceUnknown => "transition-source-unknown",
            ProblemCode::TransitionFromTerminal => "transition-from-terminal",
            ProblemCode::PromptUnknown => "prompt-unknown",
            ProblemCode::RespawnPromptUnknown => "respawn-prompt-unknown",
            ProblemCode::ExitTargetUnknown => "exit-target-unknown",
            ProblemCode::TransitionAmbiguous => "transition-ambiguous",
            ProblemCode::WhenInvalid => "when-invalid",
            ProblemCode::ThenWhenNotExhaustive => "then-when-not-exhaustive",
            ProblemCode::StateUnknown => "state-unknown",
            ProblemCode::RoleUnknown => "role-unknown",
            ProblemCode::FieldUnknown => "field-unknown",
            ProblemCode::GateUnknown => "gate-unknown",
            ProblemCode::ActionUnknown => "action-unknown",
            ProblemCode::VariableUnknown => "variable-unknown",
        }
    }
}

/// One thing that is wrong, with its position and source line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Problem {
    /// The kind of problem.
    pub code: ProblemCode,
    /// Where it is.
    pub at: Position,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The source line.
    pub excerpt: String,
}

impl Position {
    /// The source line at this position with a mark below the column.
    ///
    /// A tab is shown as an arrow of one column, so it is visible and the mark is in the right
    /// place.
    pub fn render_excerpt(self, line: &str) -> String {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        let line: String = line
            .chars()
            .map(|character| if character == '\t' { '→' } else { character })
            .collect();
        let indent = " ".repeat(self.column.saturating_sub(1));
        format!("{number} | {line}\n{gutter} | {indent}^")
    }

    /// The source line of this position, cut where it becomes too long to show.
    pub fn line_of(self, source: &str) -> String {
        let line = source.lines().nth(self.line.saturating_sub(1));
        line.unwrap_or_default().chars().take(200).collect()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.at, self.message)
    }
}

/// Collects problems, each with its excerpt of the source.
pub(crate) struct Problems<'source> {
    source: &'source str,
    found: Vec<Problem>,
}

impl<'source> Problems<'source> {
    pub(crate) fn new(source: &'source str) -> Self {
        Self {
            source,
            found: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, code: ProblemCode, at: Position, message: impl Into<String>) {
        self.push(code, at, message.into(), None);
    }

    /// The rest of the source line after a position.
    pub(crate) fn rest_of_line(&self, at: Position) -> &'source str {
        let line = self.source.lines().nth(at.line.saturating_sub(1));
        let line = line.unwrap_or_default();
        let start = line.char_indices().nth(at.column.saturating_sub(1));
        start.map_or("", |(index, _)| &line[index..])
    }

    pub(crate) fn add_with_hint(
        &mut self,
        code: ProblemCode,
        at: Position,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.push(code, at, message.into(), Some(hint.into()));
    }

    fn push(&mut self, code: ProblemCode, at: Position, message: String, hint: Option<String>) {
        self.found.push(Problem {
            code,
            at,
            message,
            hint,
            excerpt: at.line_of(self.source),
        });
    }

    /// All problems, in file order.
    pub(crate) fn into_sorted(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|problem| (problem.at, problem.code));
        // A mistake that an alias repeats counts once.
        self.found.dedup();
        self.found
    }
}
