//! Reads exit rules.

use super::Reader;
use super::mapping::Mapping;
use crate::language::declarations::NameKind;
use crate::language::defaults;
use crate::language::exit_rules::{CrashRule, ExitCase, ExitOutcome, ExitRule, OnCrash};
use crate::language::intervals;
use crate::language::problem::ProblemCode;
use crate::language::rules;
use crate::language::when::When;
use crate::language::yaml::Node;
use crate::names::Status;

const ON_CRASH: [(&str, OnCrash); 2] = [("respawn", OnCrash::Respawn), ("mark", OnCrash::Mark)];

#[derive(Clone, Copy)]
enum RuleAction {
    Crash,
    MarkDead,
}

const RULE_ACTIONS: [(&str, RuleAction); 2] = [
    ("crash", RuleAction::Crash),
    ("mark_dead", RuleAction::MarkDead),
];

impl Reader<'_> {
    pub(super) fn exit_monitoring(&mut self, node: &Node) -> Vec<ExitRule> {
        let what = "`exit_monitoring`";
        let Some(mut mapping) = self.mapping(node, what) else {
            return Vec::new();
        };
        let interval = mapping.take("poll_interval");
        let rules = mapping.take("rules");
        self.finish(&mapping, what);
        // Accepted because existing workflows use it, but nothing polls.
        if let Some(node) = interval {
            self.duration(node, "`poll_interval`");
            self.names
                .declare(NameKind::PollInterval, "poll_interval", node.at);
        }
        let rules = rules.map(|node| {
            let items = self.list(node, "`rules`").iter();
            items.filter_map(|item| self.exit_rule(item)).collect()
        });
        rules.unwrap_or_default()
    }

    fn exit_rule(&mut self, node: &Node) -> Option<ExitRule> {
        let what = "an exit rule";
        let mut rule = self.mapping(node, what)?;
        let status = self.require(&mut rule, "status", what);
        let role = rule.take("role");
        let has_artifact = rule.take("has_artifact");
        let no_artifact = rule.take("no_artifact");
        let then = rule.take("then");
        let then_when = rule.take("then_when");
        let action = rule.take("action");
        let crash = CrashNodes::take(&mut rule);
        self.finish(&rule, what);

        let code = ProblemCode::ExitTargetUnknown;
        let status = status.and_then(|node| self.status(node, what, code));
        let role = role.and_then(|node| self.agent_role(node, what));
        let gates = has_artifact.map(|node| self.gate_list(node));
        if let Some(node) = no_artifact
            && (self.boolean(node, "`no_artifact`") == Some(false) || has_artifact.is_some())
        {
            let message = "`no_artifact` must be `true`, and excludes `has_artifact`";
            self.problems
                .add(ProblemCode::InvalidValue, node.at, message);
        }
        let action = action.and_then(|node| self.one_of(node, "`action`", &RULE_ACTIONS));
        let label = format!(
            "exit rule for `{}`",
            status.as_ref().map_or("?", Status::as_str)
        );
        // A `then` next to `action: crash` says where too many crashes lead.
        let outcome = match (action, then, then_when) {
            (Some(RuleAction::Crash), then, None) => {
                ExitOutcome::Crash(self.crash_rule(&crash, then, &label)?)
            }
            (Some(RuleAction::MarkDead), None, None) => ExitOutcome::MarkDead,
            (None, Some(node), None) => ExitOutcome::Advance(vec![ExitCase {
                when: None,
                then: self.status(node, &label, code)?,
                at: node.at,
            }]),
            (None, None, Some(node)) => ExitOutcome::Advance(self.cases(node, &label)),
            _ => {
                let message = format!(
                    "{label} needs exactly one of `then`, `then_when`, `action: crash` and \
                     `action: mark_dead`"
                );
                self.problems
                    .add(ProblemCode::InvalidValue, node.at, message);
                return None;
            }
        };
        if !matches!(outcome, ExitOutcome::Crash(_)) {
            self.refuse_crash_keys(&crash, &label);
        }
        Some(ExitRule {
            status: status?,
            role,
            has_artifact: gates.unwrap_or_default(),
            outcome,
            at: node.at,
        })
    }

    fn crash_rule(
        &mut self,
        nodes: &CrashNodes<'_>,
        then: Option<&Node>,
        label: &str,
    ) -> Option<CrashRule> {
        let stuck_after = nodes.stuck_after.and_then(|node| {
            let text = self.text(node, "`stuck_after`")?;
            self.names.mark_used(NameKind::Limit, text);
            match self.limits.get(text) {
                Some(limit) => Some(*limit),
                None => self.number(node, "`stuck_after`"),
            }
        });
        let code = ProblemCode::ExitTargetUnknown;
        let then = match then {
            Some(node) => Some(self.status(node, label, code)?),
            None => defaults::crash_target(|name| self.states.contains_key(name)),
        };
        let on_crash = nodes
            .on_crash
            .and_then(|node| self.one_of(node, "`on_crash`", &ON_CRASH));
        let backoff = nodes
            .backoff
            .and_then(|node| self.duration(node, "`backoff`"));
        Some(CrashRule {
            stuck_after,
            then,
            on_crash: on_crash.unwrap_or(OnCrash::Mark),
            backoff: backoff.unwrap_or(0),
        })
    }

    fn refuse_crash_keys(&mut self, nodes: &CrashNodes<'_>, label: &str) {
        for node in [nodes.stuck_after, nodes.on_crash, nodes.backoff]
            .into_iter()
            .flatten()
        {
            let message = format!("{label}: this key belongs to `action: crash`");
            self.problems.add(ProblemCode::UnknownKey, node.at, message);
        }
    }

    fn cases(&mut self, node: &Node, label: &str) -> Vec<ExitCase> {
        let mut cases = Vec::new();
        let items = self.list(node, "`then_when`");
        for (index, item) in items.iter().enumerate() {
            let Some(mut case) = self.mapping(item, "a case of `then_when`") else {
                continue;
            };
            let when = case.take("when");
            let then = case.take("then");
            let otherwise = case.take("else");
            self.finish(&case, "a case of `then_when`");
            let code = ProblemCode::ExitTargetUnknown;
            let (when, target) = match (when, then, otherwise) {
                (Some(when), Some(then), None) => (self.when(when), then),
                (None, None, Some(target)) if index + 1 == items.len() => (None, target),
                _ => {
                    let message = format!(
                        "{label}: a case is `when` with `then`; the last may be `else` alone"
                    );
                    self.problems
                        .add(ProblemCode::InvalidValue, item.at, message);
                    continue;
                }
            };
            if let Some(then) = self.status(target, label, code)
                && (when.is_some() || otherwise.is_some())
            {
                let at = item.at;
                cases.push(ExitCase { when, then, at });
            }
        }
        if cases.len() == items.len() {
            self.check_exhaustive(&cases, node, label);
        }
        cases
    }

    fn check_exhaustive(&mut self, cases: &[ExitCase], node: &Node, label: &str) {
        let guards: Vec<&When> = cases.iter().filter_map(|case| case.when.as_ref()).collect();
        if guards.len() < cases.len() {
            return;
        }
        let missing = match intervals::find_uncovered(&guards) {
            Ok(None) => return,
            Ok(Some(witness)) if witness.is_empty() => String::from("has no case"),
            Ok(Some(witness)) => format!("has no case for {}", rules::format_witness(&witness)),
            Err(intervals::TooComplicated) => {
                String::from("cannot be checked: its guards are too complicated")
            }
        };
        let message = format!("{label}: `then_when` {missing}");
        let hint = "add a case for it, or end with `- else: <state>`";
        let code = ProblemCode::ThenWhenNotExhaustive;
        self.problems.add_with_hint(code, node.at, message, hint);
    }
}

/// The keys that only `action: crash` takes.
struct CrashNodes<'node> {
    stuck_after: Option<&'node Node>,
    on_crash: Option<&'node Node>,
    backoff: Option<&'node Node>,
}

impl<'node> CrashNodes<'node> {
    fn take(rule: &mut Mapping<'node>) -> Self {
        Self {
            stuck_after: rule.take("stuck_after"),
            on_crash: rule.take("on_crash"),
            backoff: rule.take("backoff"),
        }
    }
}
