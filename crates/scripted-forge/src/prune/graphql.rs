//! Cuts the GraphQL schema to the fields that our operations use.

use std::collections::{BTreeMap, BTreeSet};

use apollo_compiler::ast::{
    Definition, DirectiveList, Document, FieldDefinition, InputValueDefinition,
};
use apollo_compiler::executable::{Selection, SelectionSet};
use apollo_compiler::{Name, Node, Schema};

use crate::document::parse;

/// The used types and their used fields. A type without fields, such as a scalar or an input, is
/// kept as a whole.
type Used = BTreeMap<String, BTreeSet<String>>;

/// The schema, reduced to the types and fields that the operations use.
pub fn prune(schema: &str, operations: &[&str]) -> Result<String, String> {
    let mut document = Document::parse(schema, "schema.graphql").map_err(|it| it.to_string())?;
    for definition in &mut document.definitions {
        drop_repeated_fields(definition);
    }
    let valid = document.to_schema_validate().map_err(|it| it.to_string())?;
    let mut used = Used::new();
    for operations in operations {
        let operations = parse(&valid, operations, true).map_err(|it| it.join("\n"))?;
        let fragments = operations.fragments.values().map(|it| &it.selection_set);
        let bodies = operations.operations.iter().map(|it| &it.selection_set);
        for selections in bodies.chain(fragments) {
            collect(selections, &mut used);
        }
    }
    close(&valid, &document, &mut used);
    document.definitions.retain_mut(|it| keep(it, &used));
    Ok(document.to_string())
}

/// Removes repeated fields: the published schema declares a field twice, and strict parsing refuses
/// the whole schema.
fn drop_repeated_fields(definition: &mut Definition) {
    if let Definition::ObjectTypeDefinition(object) = definition {
        let mut seen = BTreeSet::new();
        object
            .make_mut()
            .fields
            .retain(|it| seen.insert(it.name.clone()));
    }
}

fn collect(selections: &SelectionSet, used: &mut Used) {
    used.entry(selections.ty.to_string()).or_default();
    for selection in &selections.selections {
        match selection {
            Selection::Field(field) => {
                if !field.name.starts_with("__") {
                    let fields = used.entry(selections.ty.to_string()).or_default();
                    fields.insert(field.name.to_string());
                }
                if !field.selection_set.selections.is_empty() {
                    collect(&field.selection_set, used);
                }
            }
            Selection::InlineFragment(inner) => collect(&inner.selection_set, used),
            Selection::FragmentSpread(_) => {}
        }
    }
}

/// Completes the used types: adds the types of used fields and arguments, and gives each type the
/// used fields of its interfaces.
fn close(schema: &Schema, document: &Document, used: &mut Used) {
    loop {
        let before: usize = used.values().map(|it| it.len() + 1).sum();
        for definition in &document.definitions {
            let (Some(name), interfaces, fields) = parts(definition) else {
                continue;
            };
            if !used.contains_key(name.as_str()) {
                continue;
            }
            for interface in interfaces {
                let inherited = used.get(interface.as_str()).cloned().unwrap_or_default();
                used.entry(name.to_string()).or_default().extend(inherited);
            }
            // A type must have a field, even if only its name was asked for.
            if used[name.as_str()].is_empty()
                && let Some(first) = fields.iter().find(|it| it.name == "id").or(fields.first())
            {
                used.entry(name.to_string())
                    .or_default()
                    .insert(first.name.to_string());
            }
            let kept = used[name.as_str()].clone();
            for field in fields.iter().filter(|it| kept.contains(it.name.as_str())) {
                used.entry(field.ty.inner_named_type().to_string())
                    .or_default();
                for argument in &field.arguments {
                    use_input(schema, argument.ty.inner_named_type(), used);
                }
            }
        }
        if before == used.values().map(|it| it.len() + 1).sum::<usize>() {
            return;
        }
    }
}

/// Marks an input as used. Inputs are kept whole, because a client may set any of their fields.
fn use_input(schema: &Schema, name: &Name, used: &mut Used) {
    if used.insert(name.to_string(), BTreeSet::new()).is_some() {
        return;
    }
    for field in schema
        .get_input_object(name)
        .iter()
        .flat_map(|it| it.fields.values())
    {
        use_input(schema, field.ty.inner_named_type(), used);
    }
}

fn parts(definition: &Definition) -> (Option<&Name>, &[Name], &[Node<FieldDefinition>]) {
    match definition {
        Definition::ObjectTypeDefinition(it) => {
            (Some(&it.name), &it.implements_interfaces, &it.fields)
        }
        Definition::InterfaceTypeDefinition(it) => {
            (Some(&it.name), &it.implements_interfaces, &it.fields)
        }
        _ => (None, &[], &[]),
    }
}

fn keep(definition: &mut Definition, used: &Used) -> bool {
    if matches!(definition, Definition::SchemaDefinition(_)) {
        return true;
    }
    let fields = definition.name().and_then(|it| used.get(it.as_str()));
    let Some(fields) = fields.cloned() else {
        return false;
    };
    match definition {
        Definition::ScalarTypeDefinition(it) => {
            let it = it.make_mut();
            (it.description, it.directives) = (None, DirectiveList::new());
        }
        Definition::ObjectTypeDefinition(it) => {
            let it = it.make_mut();
            (it.description, it.directives) = (None, DirectiveList::new());
            it.implements_interfaces
                .retain(|it| used.contains_key(it.as_str()));
            keep_fields(&mut it.fields, &fields);
        }
        Definition::InterfaceTypeDefinition(it) => {
            let it = it.make_mut();
            (it.description, it.directives) = (None, DirectiveList::new());
            it.implements_interfaces
                .retain(|it| used.contains_key(it.as_str()));
            keep_fields(&mut it.fields, &fields);
        }
        Definition::UnionTypeDefinition(it) => {
            let it = it.make_mut();
            (it.description, it.directives) = (None, DirectiveList::new());
            it.members.retain(|it| used.contains_key(it.as_str()));
        }
        Definition::EnumTypeDefinition(it) => {
            let it = it.make_mut();
            (it.description, it.directives) = (None, DirectiveList::new());
            for value in &mut it.values {
                let value = value.make_mut();
                (value.description, value.directives) = (None, DirectiveList::new());
            }
        }
        Definition::InputObjectTypeDefinition(it) => {
            let it = it.make_mut();
            it.description = None;
            strip_inputs(&mut it.fields);
        }
        _ => return false,
    }
    true
}

fn keep_fields(fields: &mut Vec<Node<FieldDefinition>>, used: &BTreeSet<String>) {
    fields.retain(|it| used.contains(it.name.as_str()));
    for field in fields {
        let field = field.make_mut();
        (field.description, field.directives) = (None, DirectiveList::new());
        strip_inputs(&mut field.arguments);
    }
}

fn strip_inputs(inputs: &mut [Node<InputValueDefinition>]) {
    for input in inputs {
        let input = input.make_mut();
        (input.description, input.directives) = (None, DirectiveList::new());
    }
}
