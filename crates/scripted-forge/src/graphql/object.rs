//! Objects whose fields the GraphQL executor reads: records and connections.

use apollo_compiler::resolvers::{FieldError, ObjectValue, ResolveInfo, ResolvedValue};
use apollo_compiler::response::JsonMap;
use serde_json::Value;

use crate::world::World;
use crate::world::quota::Rate;

/// The world as the calling account sees it.
#[derive(Clone, Copy)]
pub struct View<'w> {
    pub world: &'w World,
    pub viewer: &'w str,
    /// The quota after this request, the request's points, and the nodes that it asks for.
    pub rate: Rate,
    pub points: u64,
    pub nodes: u64,
}

pub type Object<'w> = Box<dyn ObjectValue + 'w>;
pub type Resolved<'a> = Result<ResolvedValue<'a>, FieldError>;

/// What a field of a record holds.
pub enum Slot<'w> {
    Leaf(Value),
    Object(Option<Object<'w>>),
    List(Vec<Object<'w>>),
}

/// An object whose fields are known when it is created. Asking for any other field is an error.
pub struct Record<'w> {
    name: &'static str,
    fields: Vec<(&'static str, Slot<'w>)>,
}

impl<'w> Record<'w> {
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            fields: Vec::new(),
        }
    }

    #[must_use]
    pub fn leaf(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.fields.push((name, Slot::Leaf(value.into())));
        self
    }

    #[must_use]
    pub fn object(mut self, name: &'static str, value: Option<Object<'w>>) -> Self {
        self.fields.push((name, Slot::Object(value)));
        self
    }

    #[must_use]
    pub fn list(mut self, name: &'static str, values: Vec<Object<'w>>) -> Self {
        self.fields.push((name, Slot::List(values)));
        self
    }

    pub fn boxed(self) -> Object<'w> {
        Box::new(self)
    }
}

impl ObjectValue for Record<'_> {
    fn type_name(&self) -> &str {
        self.name
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Resolved<'a> {
        let found = self
            .fields
            .iter()
            .find(|(name, _)| *name == info.field_name());
        match found {
            None => Err(self.unknown_field_error(info)),
            Some((_, Slot::Leaf(value))) => Ok(leaf(value.clone())),
            Some((_, Slot::Object(None))) => Ok(ResolvedValue::null()),
            Some((_, Slot::Object(Some(object)))) => Ok(borrowed(object)),
            Some((_, Slot::List(objects))) => Ok(ResolvedValue::list(objects.iter().map(borrowed))),
        }
    }
}

/// A reference to an object that another object owns.
struct Borrowed<'a>(&'a (dyn ObjectValue + 'a));

impl ObjectValue for Borrowed<'_> {
    fn type_name(&self) -> &str {
        self.0.type_name()
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Resolved<'a> {
        self.0.resolve_field(info)
    }
}

fn borrowed<'a>(object: &'a Object<'_>) -> ResolvedValue<'a> {
    ResolvedValue::object(Borrowed(object.as_ref()))
}

pub fn leaf<'a>(value: impl Into<Value>) -> ResolvedValue<'a> {
    ResolvedValue::Leaf(value.into().into())
}

pub fn object(value: Option<Object<'_>>) -> ResolvedValue<'_> {
    value.map_or_else(ResolvedValue::null, ResolvedValue::Object)
}

/// An error that GitHub returns on purpose: its type and its message.
pub fn refuse(kind: &str, message: &str) -> FieldError {
    FieldError {
        message: format!("{kind}: {message}"),
    }
}

pub fn text<'a>(arguments: &'a JsonMap, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(|it| it.as_str())
}

pub fn number(arguments: &JsonMap, name: &str) -> Option<u64> {
    arguments
        .get(name)
        .and_then(apollo_compiler::response::JsonValue::as_u64)
}

/// One page of a list, as `first`, `last`, `after` and `before` ask for it.
pub fn connection<'w, T>(
    name: &'static str,
    items: Vec<T>,
    arguments: &JsonMap,
    render: impl Fn(T) -> Object<'w>,
) -> Object<'w> {
    let total = items.len();
    let cursor = |name| {
        let text = text(arguments, name)?;
        text.strip_prefix("cursor:")
            .and_then(|it| it.parse::<usize>().ok())
    };
    let mut start = cursor("after").map_or(0, |it| it + 1).min(total);
    let mut end = cursor("before").unwrap_or(total).min(total).max(start);
    let limit = |name| number(arguments, name).and_then(|it| usize::try_from(it).ok());
    if let Some(first) = limit("first") {
        end = end.min(start.saturating_add(first));
    }
    if let Some(last) = limit("last") {
        start = start.max(end.saturating_sub(last));
    }
    let mark = |at: Option<usize>| at.map(|it| format!("cursor:{it}"));
    let is_empty = start == end;
    let page = Record::new("PageInfo")
        .leaf("hasNextPage", end < total)
        .leaf("hasPreviousPage", start > 0)
        .leaf("startCursor", mark((!is_empty).then_some(start)))
        .leaf("endCursor", mark((!is_empty).then(|| end - 1)));
    let shown = items
        .into_iter()
        .skip(start)
        .take(end - start)
        .map(render)
        .collect();
    Record::new(name)
        .leaf("totalCount", total)
        .object("pageInfo", Some(page.boxed()))
        .list("nodes", shown)
        .boxed()
}
