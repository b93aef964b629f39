//! Reads hooks and their parameters.

use super::Reader;
use super::mapping::{Mapping, items, suggest};
use crate::language::defaults;
use crate::language::hooks::{Action, Channel, HarnessChoice, Hook, OnError, SpawnHook};
use crate::language::problem::ProblemCode;
use crate::language::workflow::{Change, NewValue};
use crate::language::yaml::{Key, Node, Value};
use crate::merge_strategy::MergeStrategy;
use crate::names::FieldName;
use crate::role::Role;

const HARNESSES: [(&str, HarnessChoice); 2] = [
    ("task", HarnessChoice::Task),
    ("review", HarnessChoice::Review),
];

const ON_ERROR: [(&str, OnError); 2] = [("stop", OnError::Stop), ("continue", OnError::Continue)];

/// How a forge merges; it cannot fast-forward.
const STRATEGIES: [(&str, MergeStrategy); 4] = [
    ("auto", MergeStrategy::Auto),
    ("merge", MergeStrategy::Merge),
    ("rebase", MergeStrategy::Rebase),
    ("squash", MergeStrategy::Squash),
];

/// The hooks of earlier versions; a task whose pinned text has one continues without it.
const REMOVED: [&str; 3] = ["comment_issue", "label_issue", "close_issue"];

const ACTIONS: [&str; 23] = [
    "acquire_workspace",
    "release_workspace",
    "spawn_agent",
    "spawn_reviewer",
    "run_headless",
    "kill_session",
    "kill_reviewer",
    "kill_agent",
    "notify_worker",
    "spawn_next",
    "push_branch",
    "create_pr",
    "ready_pr",
    "merge_pr",
    "delete_remote_branch",
    "increment_review_round",
    "set_field",
    "archive_section",
    "notify",
    "run_command",
    "route",
    "create_children",
    "merge_children",
];

impl Reader<'_> {
    pub(super) fn hooks(&mut self, node: &Node) -> Vec<Hook> {
        let items = self.list(node, "`hooks`").iter();
        items.filter_map(|item| self.hook(item)).collect()
    }

    /// A hook is a mapping with `action`, or just the action when it needs nothing else.
    fn hook(&mut self, node: &Node) -> Option<Hook> {
        if let Value::Scalar { .. } = &node.value {
            let key = Key {
                text: String::from("action"),
                at: node.at,
            };
            let spelled_out = Node {
                at: node.at,
                value: Value::Mapping(vec![(key, node.clone())]),
            };
            return self.hook(&spelled_out);
        }
        let mut hook = self.mapping(node, "a hook")?;
        let name = self.require(&mut hook, "action", "a hook")?;
        let text = self.text(name, "`action`")?;
        if self.is_pinned && REMOVED.contains(&text) {
            return None;
        }
        let Some(known) = ACTIONS.into_iter().find(|action| *action == text) else {
            let message = format!("hook `{text}` does not exist");
            let hint = suggest(text, &ACTIONS, |all| format!("the hooks are {all}"));
            self.problems
                .add_with_hint(ProblemCode::ActionUnknown, name.at, message, hint);
            return None;
        };
        let what = format!("hook `{known}`");
        let timeout = hook.take("timeout");
        let on_error = hook.take("on_error");
        let action = self.action(known, &mut hook, &what);
        self.finish(&hook, &what);
        let timeout = timeout.and_then(|node| self.duration(node, "`timeout`"));
        let on_error = on_error.and_then(|node| self.one_of(node, "`on_error`", &ON_ERROR));
        let action = action?;
        Some(Hook {
            on_error: on_error.unwrap_or_else(|| action.default_on_error()),
            action,
            timeout,
            at: node.at,
        })
    }

    fn action(&mut self, name: &str, hook: &mut Mapping<'_>, what: &str) -> Option<Action> {
        Some(match name {
            "acquire_workspace" => {
                let restore = hook.take("restore");
                let restore = restore.and_then(|node| self.boolean(node, "`restore`"));
                Action::AcquireWorkspace {
                    restore: restore.unwrap_or(false),
                }
            }
            "release_workspace" => Action::ReleaseWorkspace,
            "spawn_agent" | "spawn_reviewer" | "run_headless" => {
                Action::SpawnAgent(self.spawn(name, hook, what)?)
            }
            "kill_session" => Action::KillSession,
            "kill_reviewer" => Action::KillRole {
                role: Role::Reviewer,
            },
            "kill_agent" => {
                let role = self.require(hook, "role", what)?;
                Action::KillRole {
                    role: self.agent_role(role, what)?,
                }
            }
            "notify_worker" => Action::NotifyWorker {
                message: self.message(hook, what)?,
            },
            "spawn_next" => Action::SpawnNext,
            "push_branch" => Action::PushBranch,
            "create_pr" => {
                let draft = hook.take("draft");
                let labels = hook.take("labels");
                let draft = draft.and_then(|node| self.boolean(node, "`draft`"));
                let labels = labels.map(|node| {
                    let items = items(node).iter();
                    items
                        .filter_map(|item| self.text(item, "`labels`").map(str::to_owned))
                        .collect()
                });
                let labels = labels.unwrap_or_default();
                Action::CreatePr { draft, labels }
            }
            "ready_pr" => Action::ReadyPr,
            "merge_pr" => {
                let strategy = hook.take("strategy");
                let strategy =
                    strategy.and_then(|node| self.one_of(node, "`strategy`", &STRATEGIES));
                let strategy = strategy.unwrap_or_default();
                Action::MergePr { strategy }
            }
            "delete_remote_branch" => Action::DeleteRemoteBranch,
            "increment_review_round" => Action::SetField(Change {
                field: FieldName::new(defaults::REVIEW_ROUND),
                to: NewValue::Increment,
            }),
            "set_field" => Action::SetField(self.set_field(hook, what)?),
            "archive_section" => {
                let section = self.require(hook, "section", what)?;
                Action::ArchiveSection {
                    section: self.section(section)?,
                }
            }
            "notify" => {
                let via = hook.take("via");
                let message = self.message(hook, what);
                let via = via.map(|node| {
                    let items = items(node).iter();
                    items
                        .filter_map(|item| self.one_of(item, "`via`", &Channel::ALL))
                        .collect()
                });
                Action::Notify {
                    message: message?,
                    via: via.unwrap_or_else(|| vec![Channel::Desktop]),
                }
            }
            "run_command" => {
                let command = self.require(hook, "command", what)?;
                Action::RunCommand {
                    command: self.command(command, "`command`")?,
                }
            }
            "route" => Action::Route,
            "create_children" => Action::CreateChildren,
            _ => Action::MergeChildren,
        })
    }

    fn message(
        &mut self,
        hook: &mut Mapping<'_>,
        what: &str,
    ) -> Option<crate::language::prompt::Prompt> {
        let message = self.require(hook, "message", what)?;
        self.prompt(message, what)
    }

    fn set_field(&mut self, hook: &mut Mapping<'_>, what: &str) -> Option<Change> {
        let field = self.require(hook, "field", what);
        let value = self.require(hook, "value", what);
        let field = field?;
        let name = self.text(field, "`field`")?.to_owned();
        let name = self.settable_field(&name, field.at);
        let to = self.new_value(value?, "`value`");
        Some(Change {
            field: name?,
            to: to?,
        })
    }

    /// The three hooks that start an agent differ only in their defaults.
    fn spawn(&mut self, name: &str, hook: &mut Mapping<'_>, what: &str) -> Option<SpawnHook> {
        let headless = name == "run_headless";
        let is_review = name == "spawn_reviewer";
        let prompt = self.require(hook, "prompt", what);
        let role = hook.take("role");
        let harness = hook.take("harness");
        let permissions = hook.take("permissions");
        let window = hook.take("window");
        let increment = hook.take("increment");
        let (worktree, plan) = if headless {
            (hook.take("worktree"), hook.take("plan"))
        } else {
            (None, None)
        };

        let code = ProblemCode::PromptUnknown;
        let prompt = prompt.and_then(|node| self.prompt_name(node, what, code));
        let plan = plan.and_then(|node| self.prompt_name(node, what, ProblemCode::PromptUnknown));
        let harness = harness.and_then(|node| self.one_of(node, "`harness`", &HARNESSES));
        let harness = harness.unwrap_or(if is_review {
            HarnessChoice::Review
        } else {
            HarnessChoice::Task
        });
        let role = role.and_then(|node| self.agent_role(node, what));
        let role = role.unwrap_or_else(|| defaults::role_of(harness));
        let permissions = permissions.and_then(|node| self.permissions(node));
        let window = window.and_then(|node| self.prompt(node, what));
        let increment = increment.and_then(|node| {
            let text = self.text(node, "`increment`")?;
            self.settable_field(text, node.at)
        });
        Some(SpawnHook {
            prompt: prompt?,
            window: window.unwrap_or_else(|| defaults::window(&role)),
            permissions: permissions.unwrap_or_else(|| defaults::permissions(harness)),
            role,
            harness,
            increment,
            headless,
            without_worktree: worktree
                .and_then(|node| self.boolean(node, "`worktree`"))
                .is_some_and(|worktree| !worktree),
            plan,
        })
    }
}
