//! Performs mutations, before the executor builds the answer from their results.

use std::collections::HashMap;

use apollo_compiler::ast;
use apollo_compiler::executable::Field;
use apollo_compiler::resolvers::{ObjectValue, ResolveInfo};
use apollo_compiler::response::JsonMap;
use serde_json::{Map, Value};

use super::issue::{IssueObject, linked_branch};
use super::object::{Object, Record, Resolved, View, object, refuse};
use super::pull::{PullObject, queue_entry};
use super::review::ThreadObject;
use crate::git::try_git;
use crate::world::World;
use crate::world::merge::merged_tree;
use crate::world::node::Found;
use crate::world::repository::Permission;

/// What a mutation changed.
#[derive(Clone, Debug)]
pub struct Change {
    repository: u64,
    /// The number of the issue or pull request.
    number: u64,
    subject: Subject,
}

#[derive(Clone, Debug)]
enum Subject {
    Draft,
    Thread {
        id: u64,
    },
    Queue,
    /// No branch is made if one with the requested name exists.
    LinkedBranch {
        id: Option<u64>,
    },
}

/// GitHub's error type and message.
pub type Refusal = (&'static str, String);

/// Performs one field of a mutation.
pub fn perform(
    world: &mut World,
    viewer: &str,
    name: &str,
    input: &Value,
) -> Result<Change, Refusal> {
    let text = |key: &str| input[key].as_str().unwrap_or_default();
    let key = match name {
        "resolveReviewThread" => "threadId",
        "createLinkedBranch" => "issueId",
        _ => "pullRequestId",
    };
    let not_found = || {
        let id = text(key);
        (
            "NOT_FOUND",
            format!("Could not resolve to a node with the global id of '{id}'"),
        )
    };
    let found = world.node(text(key)).ok_or_else(not_found)?;
    let repository = found.repository().ok_or_else(not_found)?;
    let permission = world.permission(repository, viewer);
    if permission < Permission::Read {
        return Err(not_found());
    }
    let repository_id = repository.id;
    let is_author = match found {
        Found::Pull(_, issue) | Found::Thread(_, issue, _) => issue.author == viewer,
        _ => false,
    };
    if permission < Permission::Write && !is_author {
        let message = format!("{viewer} does not have the correct permissions to execute `{name}`");
        return Err(("FORBIDDEN", message));
    }
    let change = |number, subject| Change {
        repository: repository_id,
        number,
        subject,
    };
    match (name, found) {
        ("markPullRequestReadyForReview", Found::Pull(_, issue)) => {
            let number = issue.number;
            world.set_draft(repository_id, number, false, viewer);
            Ok(change(number, Subject::Draft))
        }
        ("convertPullRequestToDraft", Found::Pull(_, issue)) => {
            let number = issue.number;
            world.set_draft(repository_id, number, true, viewer);
            Ok(change(number, Subject::Draft))
        }
        ("resolveReviewThread", Found::Thread(_, issue, thread)) => {
            let (number, thread) = (issue.number, thread.id);
            world.change_issue(repository_id, number, |issue, at, _| {
                issue.updated_at = at;
                let mut threads = issue.pull.iter_mut().flat_map(|it| &mut it.threads);
                if let Some(thread) = threads.find(|it| it.id == thread) {
                    thread.resolved_by.get_or_insert(viewer.to_owned());
                }
            });
            Ok(change(number, Subject::Thread { id: thread }))
        }
        ("enqueuePullRequest", Found::Pull(_, issue)) => {
            let number = issue.number;
            judge_enqueue(
                world,
                repository_id,
                number,
                input["expectedHeadOid"].as_str(),
            )?;
            world.enqueue(repository_id, number, viewer);
            Ok(change(number, Subject::Queue))
        }
        ("createLinkedBranch", Found::Issue(_, issue)) => {
            let number = issue.number;
            let id = link(world, repository_id, number, input)?;
            Ok(change(number, Subject::LinkedBranch { id }))
        }
        _ => Err(not_found()),
    }
}

fn judge_enqueue(world: &World, id: u64, number: u64, head: Option<&str>) -> Result<(), Refusal> {
    let refused = |message: &str| Err(("UNPROCESSABLE", message.to_owned()));
    let Some(repository) = world.repository_by_id(id) else {
        return refused("not found");
    };
    let Some(issue) = repository.issue(number) else {
        return refused("not found");
    };
    let Some(pull) = &issue.pull else {
        return refused("not found");
    };
    if !issue.is_open {
        return refused("Pull request is closed");
    }
    if !repository.protection(&pull.base_ref).queue {
        return refused("Merge queue is not enabled for this branch");
    }
    if pull.queued.is_some() {
        return refused("Pull request is already queued to merge");
    }
    if head.is_some_and(|it| it != pull.head_sha) {
        return refused("Head branch was modified. Review and try the merge again.");
    }
    if pull.draft {
        return refused("Pull request is in draft state");
    }
    if merged_tree(&repository.path, &pull.base_sha, &pull.head_sha).is_none() {
        return refused("Pull request has merge conflicts");
    }
    Ok(())
}

/// Creates a branch for an issue, and links them; returns the id of the link.
fn link(
    world: &mut World,
    repository: u64,
    number: u64,
    input: &Value,
) -> Result<Option<u64>, Refusal> {
    let branch = world.new_id();
    let missing = || ("NOT_FOUND", "Could not resolve to a repository".to_owned());
    let repository = world.repository_mut(repository).ok_or_else(missing)?;
    let title = repository
        .issue(number)
        .map(|it| it.title().to_lowercase())
        .unwrap_or_default();
    let slug: Vec<&str> = title
        .split(|it: char| !it.is_alphanumeric())
        .filter(|it| !it.is_empty())
        .collect();
    let name = input["name"].as_str().map(str::to_owned);
    let name = name.unwrap_or_else(|| format!("{number}-{}", slug.join("-")));
    let oid = input["oid"].as_str().unwrap_or_default();
    let target = format!("refs/heads/{name}");
    // With this old value, git refuses if the branch exists.
    let none = "0".repeat(40);
    if try_git(&repository.path, &["update-ref", &target, oid, &none]).is_err() {
        return Ok(None);
    }
    if let Some(issue) = repository.issue_mut(number) {
        issue.linked_branches.push((branch, name));
    }
    world.sync();
    Ok(Some(branch))
}

/// The root of a mutation, whose fields have been performed.
pub struct MutationRoot<'w> {
    pub view: View<'w>,
    /// By the key in the answer: the result of the mutation, and its `clientMutationId`.
    pub changes: &'w HashMap<String, (Result<Change, Refusal>, Value)>,
}

impl<'w> MutationRoot<'w> {
    fn payload(&self, name: &str, change: &Change) -> Option<Record<'w>> {
        let view = self.view;
        let repository = view.world.repository_by_id(change.repository)?;
        let issue = repository.issue(change.number)?;
        Some(match (name, &change.subject) {
            ("enqueuePullRequest", Subject::Queue) => {
                let entry = queue_entry(view, repository, issue, issue.pull.as_ref()?);
                Record::new("EnqueuePullRequestPayload").object("mergeQueueEntry", entry)
            }
            ("resolveReviewThread", Subject::Thread { id }) => {
                let thread = issue
                    .pull
                    .as_ref()?
                    .threads
                    .iter()
                    .find(|it| it.id == *id)?;
                let thread = ThreadObject::boxed(view, repository, issue, thread);
                Record::new("ResolveReviewThreadPayload").object("thread", Some(thread))
            }
            ("createLinkedBranch", Subject::LinkedBranch { id }) => {
                let made = issue.linked_branches.iter().find(|it| Some(it.0) == *id);
                Record::new("CreateLinkedBranchPayload")
                    .object("issue", Some(IssueObject::boxed(view, repository, issue)))
                    .object(
                        "linkedBranch",
                        made.map(|it| linked_branch(view, repository, it)),
                    )
            }
            (_, Subject::Draft) => {
                let pull: Object = PullObject::boxed(view, repository, issue);
                let name = match name {
                    "convertPullRequestToDraft" => "ConvertPullRequestToDraftPayload",
                    _ => "MarkPullRequestReadyForReviewPayload",
                };
                Record::new(name).object("pullRequest", Some(pull))
            }
            _ => return None,
        })
    }
}

impl ObjectValue for MutationRoot<'_> {
    fn type_name(&self) -> &'static str {
        "Mutation"
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Resolved<'a> {
        let key = info
            .field_selections()
            .first()
            .map(|it| it.response_key().to_string());
        let change = key.and_then(|it| self.changes.get(&it));
        match change {
            Some((Ok(change), client)) => {
                let payload = self.payload(info.field_name(), change);
                let payload = payload.ok_or_else(|| self.unknown_field_error(info))?;
                Ok(object(Some(
                    payload.leaf("clientMutationId", client.clone()).boxed(),
                )))
            }
            Some((Err((kind, message)), _)) => Err(refuse(kind, message)),
            None => Err(self.unknown_field_error(info)),
        }
    }
}

/// The argument `input` of a field, with its variables filled in.
pub fn input(field: &Field, variables: &JsonMap) -> Value {
    let value = field.specified_argument_by_name("input");
    value.map_or(Value::Null, |it| to_json(it, variables))
}

fn to_json(value: &ast::Value, variables: &JsonMap) -> Value {
    match value {
        ast::Value::Null => Value::Null,
        ast::Value::Enum(name) => Value::from(name.as_str()),
        ast::Value::String(text) => Value::from(text.as_str()),
        ast::Value::Boolean(value) => Value::from(*value),
        ast::Value::Int(number) => Value::from(number.try_to_i32().unwrap_or_default()),
        ast::Value::Float(number) => Value::from(number.try_to_f64().unwrap_or_default()),
        ast::Value::List(list) => list.iter().map(|it| to_json(it, variables)).collect(),
        ast::Value::Variable(name) => {
            let value = variables.get(name.as_str()).cloned();
            value.map_or(Value::Null, |it| {
                serde_json::to_value(it).unwrap_or_default()
            })
        }
        ast::Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, it)| (name.to_string(), to_json(it, variables)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}
