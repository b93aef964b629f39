//! Reads gates, named and inline.

use super::Reader;
use super::mapping::{Mapping, suggest_declared};
use crate::document::SectionName;
use crate::document::reading::{Verdict, VerdictMode};
use crate::language::declarations::NameKind;
use crate::language::defaults;
use crate::language::gates::{
    ChecksState, CommandGate, Gate, GateKind, GitCondition, GitGate, PullRequestGate,
    PullRequestState, ReportCondition, ReportField, ReportGate, ReviewCondition, SectionGate,
    ThreadsCondition,
};
use crate::language::problem::ProblemCode;
use crate::language::yaml::{Node, Value};
use crate::names::GateName;
use crate::role::Role;

const VERDICTS: [(&str, Verdict); 2] = [("PASS", Verdict::Pass), ("FAIL", Verdict::Fail)];

const VERDICT_MODES: [(&str, VerdictMode); 2] = [
    ("first_line", VerdictMode::FirstLine),
    ("scan", VerdictMode::Scan),
];

const PULL_REQUEST_STATES: [(&str, PullRequestState); 3] = [
    ("open", PullRequestState::Open),
    ("merged", PullRequestState::Merged),
    ("closed", PullRequestState::Closed),
];

const CHECKS: [(&str, ChecksState); 3] = [
    ("passing", ChecksState::Passing),
    ("failing", ChecksState::Failing),
    ("pending", ChecksState::Pending),
];

const REVIEWS: [(&str, ReviewCondition); 2] = [
    ("approved", ReviewCondition::Approved),
    ("none_required", ReviewCondition::NoneRequired),
];

const THREADS: [(&str, ThreadsCondition); 1] = [("resolved", ThreadsCondition::Resolved)];

impl Reader<'_> {
    pub(super) fn named_gates(&mut self, node: &Node) {
        for (key, value) in self.entries(node, "`gates`") {
            self.check_name(&key.text, key.at, &format!("gate `{}`", key.text));
            self.names.declare(NameKind::Gate, &key.text, key.at);
            let name = GateName::new(&key.text);
            let gate = self.gate(value).map(|mut gate| {
                gate.name = Some(name.clone());
                gate
            });
            self.gates.insert(name, gate);
        }
    }

    /// One gate or several, each by name or inline.
    pub(super) fn gate_list(&mut self, node: &Node) -> Vec<Gate> {
        let items = self.require_items(node, "a list of gates").iter();
        items.filter_map(|item| self.gate(item)).collect()
    }

    fn gate(&mut self, node: &Node) -> Option<Gate> {
        if let Value::Scalar { text, .. } = &node.value {
            // A gate that could not be read was already reported at its declaration; its use is not
            // a problem.
            self.names.mark_used(NameKind::Gate, text);
            let gate = self.gates.get(text.as_str()).cloned();
            if gate.is_none() {
                let names: Vec<&str> = self.gates.keys().map(GateName::as_str).collect();
                let message = format!("gate `{text}` does not exist");
                let hint = suggest_declared("gates", text, &names);
                self.problems
                    .add_with_hint(ProblemCode::GateUnknown, node.at, message, hint);
            }
            return gate.flatten();
        }
        let mut gate = self.mapping(node, "a gate")?;
        let kinds = ["section", "report", "git", "pr", "command"];
        let given: Vec<&str> = kinds.into_iter().filter(|kind| gate.has(kind)).collect();
        let [kind] = given.as_slice() else {
            for kind in kinds {
                gate.take(kind);
            }
            if given.is_empty() {
                self.finish(&gate, "a gate");
            }
            let message = "a gate needs exactly one of `section`, `report`, `git`, `pr`, `command`";
            self.problems
                .add(ProblemCode::InvalidValue, node.at, message);
            return None;
        };
        let kind = match *kind {
            "section" => self.section_gate(&mut gate).map(GateKind::Section),
            "report" => self.report_gate(&mut gate).map(GateKind::Report),
            "git" => self.git_gate(&mut gate).map(GateKind::Git),
            "pr" => self.pull_request_gate(&mut gate).map(GateKind::PullRequest),
            _ => self.command_gate(&mut gate).map(GateKind::Command),
        };
        self.finish(&gate, "this gate");
        Some(Gate {
            name: None,
            kind: kind?,
        })
    }

    pub(super) fn section(&mut self, node: &Node) -> Option<SectionName> {
        let text = self.text(node, "`section`")?;
        SectionName::parse(text)
            .map_err(|error| {
                let code = ProblemCode::InvalidValue;
                self.problems.add(code, node.at, error.to_string());
            })
            .ok()
    }

    fn section_gate(&mut self, gate: &mut Mapping<'_>) -> Option<SectionGate> {
        let section = gate.take("section");
        let required = gate.take("required");
        let fields = gate.take("fields");
        let verdict = gate.take("verdict");
        let verdict_mode = gate.take("verdict_mode");
        let from_role = gate.take("from_role");
        let fresh = gate.take("fresh");

        let section = section.and_then(|node| self.section(node));
        if let Some(node) = required
            && self.boolean(node, "`required`") == Some(false)
        {
            let message = "a gate always requires its section; leave `required: false` out";
            self.problems
                .add(ProblemCode::InvalidValue, node.at, message);
        }
        let fields = fields
            .map(|node| {
                let items = self.require_items(node, "`fields`").iter();
                items
                    .filter_map(|item| self.text(item, "`fields`").map(str::to_owned))
                    .collect()
            })
            .unwrap_or_default();
        let verdict = verdict.and_then(|node| self.one_of(node, "`verdict`", &VERDICTS));
        if let (Some(node), None) = (verdict_mode, verdict) {
            let message = "`verdict_mode` says how a `verdict` is read, but this gate has none";
            self.problems
                .add(ProblemCode::InvalidValue, node.at, message);
        }
        let mode =
            verdict_mode.and_then(|node| self.one_of(node, "`verdict_mode`", &VERDICT_MODES));
        let from_role: Vec<Role> = from_role
            .map(|node| {
                let items = self.require_items(node, "`from_role`").iter();
                items.filter_map(|item| self.judge_role(item)).collect()
            })
            .unwrap_or_default();
        let fresh = fresh.and_then(|node| self.boolean(node, "`fresh`"));
        Some(SectionGate {
            section: section?,
            fields,
            verdict,
            verdict_mode: mode.unwrap_or_default(),
            from_role,
            fresh: fresh.unwrap_or(false),
        })
    }

    /// Reads a role that may vouch for a section. The engine may not, because it only reads
    /// sections.
    fn judge_role(&mut self, node: &Node) -> Option<Role> {
        let role = self.role(node, "`from_role`")?;
        if role == Role::Engine {
            let message = "`from_role`: the engine cannot vouch for a section";
            self.problems
                .add(ProblemCode::InvalidValue, node.at, message);
            return None;
        }
        Some(role)
    }

    fn report_gate(&mut self, gate: &mut Mapping<'_>) -> Option<ReportGate> {
        let field = gate.take("report")?;
        let is = gate.take("is");
        let empty = gate.take("empty");
        let at = gate.at;
        let field = self.one_of(field, "`report`", &ReportField::ALL);
        let is: Option<Vec<String>> = is.map(|node| {
            let items = self.require_items(node, "`is`").iter();
            items
                .filter_map(|item| self.text(item, "`is`").map(str::to_owned))
                .collect()
        });
        let empty = empty.and_then(|node| self.boolean(node, "`empty`"));
        let expected = match (is, empty) {
            (Some(words), None) => ReportCondition::Is(words),
            (None, Some(empty)) => ReportCondition::Empty(empty),
            _ => {
                let message = "a `report` gate needs exactly one of `is` and `empty`";
                self.problems.add(ProblemCode::InvalidValue, at, message);
                return None;
            }
        };
        Some(ReportGate {
            field: field?,
            wanted: expected,
        })
    }

    fn git_gate(&mut self, gate: &mut Mapping<'_>) -> Option<GitGate> {
        let node = gate.take("git")?;
        let items = self.require_items(node, "`git`").iter();
        let conditions: Vec<GitCondition> = items
            .filter_map(|item| self.one_of(item, "`git`", &GitCondition::ALL))
            .collect();
        Some(GitGate { conditions })
    }

    fn pull_request_gate(&mut self, gate: &mut Mapping<'_>) -> Option<PullRequestGate> {
        let node = gate.take("pr")?;
        let mut mapping = self.mapping(node, "`pr`")?;
        let state = mapping.take("state");
        let draft = mapping.take("draft");
        let checks = mapping.take("checks");
        let allow_none = mapping.take("allow_none");
        let review = mapping.take("review");
        let mergeable = mapping.take("mergeable");
        let threads = mapping.take("threads");
        self.finish(&mapping, "`pr`");
        let conditions = [state, draft, checks, review, mergeable, threads];
        if conditions.iter().all(Option::is_none) {
            let message = "`pr` needs at least one of `state`, `draft`, `checks`, `review`, \
                           `mergeable`, `threads`";
            self.problems
                .add(ProblemCode::InvalidValue, node.at, message);
            return None;
        }
        if let (Some(node), None) = (allow_none, checks) {
            let message = "`allow_none` is about `checks`, but this gate has none";
            self.problems
                .add(ProblemCode::InvalidValue, node.at, message);
        }
        let allow_none = allow_none.and_then(|node| self.boolean(node, "`allow_none`"));
        Some(PullRequestGate {
            state: state.and_then(|node| self.one_of(node, "`state`", &PULL_REQUEST_STATES)),
            draft: draft.and_then(|node| self.boolean(node, "`draft`")),
            checks: checks.and_then(|node| self.one_of(node, "`checks`", &CHECKS)),
            allow_none: allow_none.unwrap_or(false),
            review: review.and_then(|node| self.one_of(node, "`review`", &REVIEWS)),
            mergeable: mergeable.and_then(|node| self.boolean(node, "`mergeable`")),
            threads: threads.and_then(|node| self.one_of(node, "`threads`", &THREADS)),
        })
    }

    fn command_gate(&mut self, gate: &mut Mapping<'_>) -> Option<CommandGate> {
        let command = gate.take("command")?;
        let timeout = gate.take("timeout");
        let command = self.command(command, "`command`");
        let timeout = timeout.and_then(|node| self.duration(node, "`timeout`"));
        Some(CommandGate {
            command: command?,
            timeout: timeout.unwrap_or(defaults::COMMAND_TIMEOUT),
        })
    }
}
