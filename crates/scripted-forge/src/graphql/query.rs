//! The root of a query.

use std::cell::RefCell;

use apollo_compiler::resolvers::{ObjectValue, ResolveInfo, ResolvedValue};
use apollo_compiler::response::JsonValue;
use serde_json::{Value, json};

use super::actor::{RepositoryObject, actor};
use super::issue::IssueObject;
use super::object::{Object, Record, Resolved, View, leaf, object, refuse, text};
use super::pull::PullObject;
use super::review::ThreadObject;
use crate::world::node::Found;
use crate::world::repository::Permission;
use crate::world::stamp;

pub struct QueryRoot<'w> {
    pub view: View<'w>,
    /// Errors of single nodes; the other nodes are returned all the same.
    pub errors: RefCell<Vec<Value>>,
}

impl<'w> QueryRoot<'w> {
    /// The node, unless it does not exist or the viewer may not see it.
    fn node(&self, id: &str) -> Result<Object<'w>, super::FieldError> {
        let view = self.view;
        let message = format!("Could not resolve to a node with the global id of '{id}'");
        let found = view.world.node(id).filter(|it| {
            let repository = it.repository();
            repository.is_none_or(|it| view.world.permission(it, view.viewer) >= Permission::Read)
        });
        let object = match found {
            Some(Found::User(user)) => actor(view.world, &user.login),
            Some(Found::Repository(it)) => Some(RepositoryObject::boxed(view, it)),
            Some(Found::Issue(it, issue)) => Some(IssueObject::boxed(view, it, issue)),
            Some(Found::Pull(it, issue)) => Some(PullObject::boxed(view, it, issue)),
            Some(Found::Thread(it, issue, thread)) => {
                Some(ThreadObject::boxed(view, it, issue, thread))
            }
            None => None,
        };
        object.ok_or_else(|| refuse("NOT_FOUND", &message))
    }

    fn repository(&self, info: &ResolveInfo) -> Result<Object<'w>, super::FieldError> {
        let (view, arguments) = (self.view, info.arguments());
        let owner = text(arguments, "owner").unwrap_or_default();
        let name = text(arguments, "name").unwrap_or_default();
        let follow = arguments.get("followRenames").and_then(JsonValue::as_bool) != Some(false);
        let found = view.world.repository(owner, name);
        let old = || {
            view.world
                .renamed_repository(owner, name)
                .filter(|_| follow)
        };
        let found = found.or_else(old);
        let found = found.and_then(|it| RepositoryObject::visible(view, it.id));
        let message = format!("Could not resolve to a Repository with the name '{owner}/{name}'.");
        found.ok_or_else(|| refuse("NOT_FOUND", &message))
    }
}

impl ObjectValue for QueryRoot<'_> {
    fn type_name(&self) -> &'static str {
        "Query"
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Resolved<'a> {
        let view = self.view;
        Ok(match info.field_name() {
            "id" => leaf("query"),
            "viewer" => object(actor(view.world, view.viewer)),
            "repository" => object(Some(self.repository(info)?)),
            "node" => {
                let id = text(info.arguments(), "id").unwrap_or_default();
                object(Some(self.node(id)?))
            }
            "nodes" => {
                let ids = info.arguments().get("ids").and_then(|it| it.as_array());
                let ids = ids
                    .into_iter()
                    .flatten()
                    .map(|it| it.as_str().unwrap_or_default());
                let key = info
                    .field_selections()
                    .first()
                    .map(|it| it.response_key().to_string());
                let nodes = ids.enumerate().map(move |(index, id)| match self.node(id) {
                    Ok(node) => object(Some(node)),
                    Err(error) => {
                        let error = json!({ "message": error.message, "path": [key, index] });
                        self.errors.borrow_mut().push(error);
                        object(None)
                    }
                });
                ResolvedValue::list(nodes)
            }
            "rateLimit" => object(Some(
                Record::new("RateLimit")
                    .leaf("cost", view.points)
                    .leaf("nodeCount", view.nodes)
                    .leaf("limit", view.rate.limit)
                    .leaf("used", view.rate.used)
                    .leaf("remaining", view.rate.remaining())
                    .leaf("resetAt", stamp(view.rate.reset))
                    .boxed(),
            )),
            _ => return Err(self.unknown_field_error(info)),
        })
    }
}
