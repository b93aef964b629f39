//! No cycle between files of different folders, including through method calls.
//!
//! `use` lines show only some of the arrows: methods of one type may be spread over many files and
//! call each other without a `use`. So this check infers receiver types as far as signatures and
//! fields allow, and finds a method that only one type of the crate has by its name.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use crate::source::{Source, is_for_tests, module};
use crate::verdict::Violation;

/// Standard library method names that our types may share; the name alone proves nothing.
const COMMON: [&str; 68] = [
    "add", "all", "as_str", "begin", "chars", "clear", "close", "collect", "contains", "count",
    "cycle", "drain", "end", "entries", "extend", "find", "first", "flush", "fold", "get", "hash",
    "id", "insert", "is_empty", "is_none", "iter", "join", "keys", "kind", "last", "len", "lines",
    "list", "load", "lock", "map", "max", "message", "min", "name", "next", "open", "parse",
    "path", "pop", "position", "push", "read", "remove", "reset", "rev", "run", "send", "skip",
    "sort", "spawn", "start", "state", "status", "step", "sum", "swap", "take", "text", "then",
    "wait", "watch", "write",
];

/// Methods that return the receiver, or what it wraps.
const TRANSPARENT: [&str; 14] = [
    "as_deref",
    "as_mut",
    "as_ref",
    "clone",
    "cloned",
    "expect",
    "filter",
    "map_err",
    "ok",
    "ok_or_else",
    "to_owned",
    "unwrap",
    "unwrap_or_default",
    "or_else",
];

const WRAPPERS: [&str; 7] = ["Arc", "Box", "Mutex", "Option", "Rc", "RefCell", "Result"];

/// The cycles of each crate that cross folders.
pub fn check(sources: &[Source]) -> Vec<Violation> {
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test) {
        if let Some((name, _)) = source.path.split_once("/src/") {
            crates.entry(name).or_default().push(source);
        }
    }
    let crates = crates.into_values();
    crates
        .flat_map(|sources| Crate::read(&sources).cycles())
        .collect()
}

/// A type of the crate, by the module that defines it.
type Key = (Vec<String>, String);

/// What is known about the type of an expression.
#[derive(Clone)]
enum Kind {
    Ours(Key),
    Foreign,
    Unknown,
}

struct File {
    path: String,
    module: Vec<String>,
    syntax: syn::File,
    /// The names used in the file, each with its path from the crate root.
    names: BTreeMap<String, Vec<String>>,
}

#[derive(Default)]
struct Crate {
    files: BTreeMap<Vec<String>, File>,
    /// What each module defines or re-exports, by name.
    items: BTreeMap<Vec<String>, BTreeMap<String, Vec<String>>>,
    fields: BTreeMap<(Key, String), Kind>,
    /// The module that holds a method, and the method's return type.
    methods: BTreeMap<(Key, String), (Vec<String>, Kind)>,
    functions: BTreeMap<Key, Kind>,
}

impl Crate {
    fn read(sources: &[&Source]) -> Crate {
        let mut found = Crate::default();
        for source in sources {
            let module = module(&source.path);
            let Ok(syntax) = syn::parse_file(&source.text) else {
                continue;
            };
            let mut file = File {
                path: source.path.clone(),
                module: module.clone(),
                syntax,
                names: BTreeMap::new(),
            };
            let items = found.items.entry(module.clone()).or_default();
            for item in file.syntax.items.iter().filter(|item| !is_test_item(item)) {
                if let Some(name) = defined(item) {
                    let own = [module.as_slice(), std::slice::from_ref(&name)].concat();
                    items.insert(name.clone(), own.clone());
                    file.names.insert(name, own);
                }
                if let syn::Item::Use(item) = item {
                    for (name, path) in used(&item.tree, &module) {
                        items.insert(name.clone(), path.clone());
                        file.names.insert(name, path);
                    }
                }
            }
            found.files.insert(module, file);
        }
        found.read_types();
        found
    }

    /// The module that defines a path's target, and its name there.
    fn resolve(&self, path: &[String], depth: usize) -> Option<Key> {
        if self.files.contains_key(path) {
            return Some((path.to_vec(), String::new()));
        }
        let (name, module) = path.split_last()?;
        let aliased = |target: &Vec<String>| {
            let is_itself = target == path;
            if is_itself {
                return Some((module.to_vec(), name.clone()));
            }
            (depth < 8).then(|| self.resolve(target, depth + 1))?
        };
        if let Some(items) = self.items.get(module) {
            let target = items.get(name)?;
            return aliased(target);
        }
        // The part before the last name may be a type, or a module under another name.
        let (owner, rest) = self.resolve(module, depth + 1).filter(|_| depth < 8)?;
        let inside = [owner.as_slice(), std::slice::from_ref(&rest)].concat();
        if self.items.contains_key(&inside) {
            return self.resolve(&[inside, vec![name.clone()]].concat(), depth + 1);
        }
        Some((owner, rest))
    }

    /// What a path refers to in a file.
    fn named(&self, file: &File, segments: &[String]) -> Option<Key> {
        let (first, rest) = segments.split_first()?;
        let whole = match first.as_str() {
            "crate" => rest.to_vec(),
            "self" => [file.module.as_slice(), rest].concat(),
            "super" => {
                let ups = segments.iter().take_while(|it| *it == "super").count();
                let kept = file.module.len().saturating_sub(ups);
                [&file.module[..kept], &segments[ups..]].concat()
            }
            name => [file.names.get(name)?.as_slice(), rest].concat(),
        };
        self.resolve(&whole, 0)
    }

    fn kind(&self, file: &File, own: Option<&Key>, ty: &syn::Type) -> Kind {
        match ty {
            syn::Type::Reference(it) => self.kind(file, own, &it.elem),
            syn::Type::Paren(it) => self.kind(file, own, &it.elem),
            syn::Type::Path(it) => {
                let Some(last) = it.path.segments.last() else {
                    return Kind::Unknown;
                };
                if last.ident == "Self" {
                    return own.cloned().map_or(Kind::Unknown, Kind::Ours);
                }
                if WRAPPERS.iter().any(|wrapper| last.ident == wrapper) {
                    if let syn::PathArguments::AngleBracketed(inner) = &last.arguments
                        && let Some(syn::GenericArgument::Type(inner)) = inner.args.first()
                    {
                        return self.kind(file, own, inner);
                    }
                    return Kind::Unknown;
                }
                let segments = it.path.segments.iter().map(|it| it.ident.to_string());
                let segments: Vec<String> = segments.collect();
                self.named(file, &segments)
                    .map_or(Kind::Foreign, Kind::Ours)
            }
            syn::Type::Tuple(_) | syn::Type::ImplTrait(_) => Kind::Unknown,
            _ => Kind::Foreign,
        }
    }

    fn read_types(&mut self) {
        let mut fields = BTreeMap::new();
        let mut methods = BTreeMap::new();
        let mut functions = BTreeMap::new();
        for file in self.files.values() {
            let answer = |own: Option<&Key>, signature: &syn::Signature| match &signature.output {
                syn::ReturnType::Default => Kind::Foreign,
                syn::ReturnType::Type(_, ty) => self.kind(file, own, ty),
            };
            for item in file.syntax.items.iter().filter(|item| !is_test_item(item)) {
                match item {
                    syn::Item::Struct(item) => {
                        let key = (file.module.clone(), item.ident.to_string());
                        for (index, field) in item.fields.iter().enumerate() {
                            let name = field.ident.as_ref();
                            let name = name.map_or_else(|| index.to_string(), ToString::to_string);
                            let kind = self.kind(file, Some(&key), &field.ty);
                            fields.insert((key.clone(), name), kind);
                        }
                    }
                    syn::Item::Fn(item) => {
                        let key = (file.module.clone(), item.sig.ident.to_string());
                        functions.insert(key, answer(None, &item.sig));
                    }
                    syn::Item::Impl(item) => {
                        if let (None, Kind::Ours(own)) =
                            (&item.trait_, self.kind(file, None, &item.self_ty))
                        {
                            for item in &item.items {
                                if let syn::ImplItem::Fn(item) = item {
                                    let kind = answer(Some(&own), &item.sig);
                                    let key = (own.clone(), item.sig.ident.to_string());
                                    methods.insert(key, (file.module.clone(), kind));
                                }
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        (self.fields, self.methods, self.functions) = (fields, methods, functions);
    }

    /// The files that a file uses.
    fn arrows(&self, file: &File) -> BTreeSet<Vec<String>> {
        let mut walk = Walk {
            krate: self,
            file,
            own: None,
            locals: Vec::new(),
            to: BTreeSet::new(),
        };
        for item in file.syntax.items.iter().filter(|item| !is_test_item(item)) {
            walk.visit_item(item);
        }
        walk.to.remove(&file.module);
        walk.to
    }

    fn cycles(&self) -> Vec<Violation> {
        let arrows: BTreeMap<&Vec<String>, BTreeSet<Vec<String>>> = self
            .files
            .values()
            .map(|file| (&file.module, self.arrows(file)))
            .collect();
        let reach = |from: &Vec<String>| {
            let mut seen: BTreeSet<Vec<String>> = BTreeSet::new();
            let mut open: Vec<Vec<String>> = arrows[from].iter().cloned().collect();
            while let Some(module) = open.pop() {
                if let Some(next) = arrows.get(&module)
                    && seen.insert(module)
                {
                    open.extend(next.iter().cloned());
                }
            }
            seen
        };
        let reached: BTreeMap<&Vec<String>, _> = arrows.keys().map(|it| (*it, reach(it))).collect();
        let mut done: BTreeSet<&Vec<String>> = BTreeSet::new();
        let mut found = Vec::new();
        for module in arrows.keys() {
            if !reached[module].contains(*module) || done.contains(module) {
                continue;
            }
            let is_mutual = |other: &&&Vec<String>| {
                reached[module].contains(**other) && reached[*other].contains(*module)
            };
            let cycle: Vec<&Vec<String>> = arrows.keys().filter(is_mutual).copied().collect();
            done.extend(&cycle);
            let paths: Vec<&str> = cycle
                .iter()
                .map(|it| self.files[*it].path.as_str())
                .collect();
            let folders: BTreeSet<_> = paths
                .iter()
                .map(|it| it.rsplit_once('/'))
                .map(|it| it.map(|it| it.0))
                .collect();
            if folders.len() > 1 {
                let inside = |from: &&Vec<String>| {
                    let to = arrows[*from].iter().filter(|to| cycle.contains(to));
                    let to: Vec<String> = to.map(|to| to.join("::")).collect();
                    format!("{} uses {}", from.join("::"), to.join(", "))
                };
                let arrows: Vec<String> = cycle.iter().map(inside).collect();
                let message = format!(
                    "{} files use each other in a cycle across folders: {}",
                    paths.len(),
                    arrows.join("; ")
                );
                found.push(Violation::new(paths[0], 1, message));
            }
        }
        found
    }
}

/// The state while collecting the arrows of one file.
struct Walk<'a> {
    krate: &'a Crate,
    file: &'a File,
    own: Option<Key>,
    locals: Vec<BTreeMap<String, Kind>>,
    to: BTreeSet<Vec<String>>,
}

impl Walk<'_> {
    fn local(&self, name: &str) -> Kind {
        if name == "self" {
            return self.own.clone().map_or(Kind::Unknown, Kind::Ours);
        }
        let found = self.locals.iter().rev().find_map(|scope| scope.get(name));
        found.cloned().unwrap_or(Kind::Unknown)
    }

    fn method(&self, receiver: &Kind, name: &str) -> Option<&(Vec<String>, Kind)> {
        match receiver {
            Kind::Ours(key) => self.krate.methods.get(&(key.clone(), name.to_owned())),
            Kind::Foreign => None,
            Kind::Unknown if COMMON.contains(&name) => None,
            Kind::Unknown => {
                let mut named = self.krate.methods.iter().filter(|((_, it), _)| it == name);
                let only = named.next();
                only.filter(|_| named.next().is_none())
                    .map(|(_, found)| found)
            }
        }
    }

    fn kind(&self, expression: &syn::Expr) -> Kind {
        match expression {
            syn::Expr::Path(it) if it.path.segments.len() == 1 => {
                self.local(&it.path.segments[0].ident.to_string())
            }
            syn::Expr::Field(it) => match (self.kind(&it.base), &it.member) {
                (Kind::Ours(key), syn::Member::Named(name)) => {
                    let found = self.krate.fields.get(&(key, name.to_string()));
                    found.cloned().unwrap_or(Kind::Unknown)
                }
                (kind, _) => kind,
            },
            syn::Expr::MethodCall(it) => {
                let receiver = self.kind(&it.receiver);
                let name = it.method.to_string();
                match self.method(&receiver, &name) {
                    Some((_, kind)) => kind.clone(),
                    None if TRANSPARENT.contains(&name.as_str()) => receiver,
                    None if matches!(receiver, Kind::Foreign) => Kind::Foreign,
                    None => Kind::Unknown,
                }
            }
            syn::Expr::Call(it) => {
                let syn::Expr::Path(path) = it.func.as_ref() else {
                    return Kind::Unknown;
                };
                let segments: Vec<String> = path
                    .path
                    .segments
                    .iter()
                    .map(|it| it.ident.to_string())
                    .collect();
                if let [wrapper] = segments.as_slice()
                    && ["Some", "Ok"].contains(&wrapper.as_str())
                {
                    return it
                        .args
                        .first()
                        .map_or(Kind::Unknown, |inner| self.kind(inner));
                }
                let own = segments.first().is_some_and(|it| it == "Self");
                let found = if own {
                    self.own.clone()
                } else {
                    self.krate.named(self.file, &segments)
                };
                let Some(key) = found else {
                    return Kind::Foreign;
                };
                if let Some(kind) = self.krate.functions.get(&key) {
                    return kind.clone();
                }
                let name = segments.last().cloned().unwrap_or_default();
                let method = self.krate.methods.get(&(key, name));
                method.map_or(Kind::Unknown, |(_, kind)| kind.clone())
            }
            syn::Expr::Struct(it) => {
                let segments: Vec<String> = it
                    .path
                    .segments
                    .iter()
                    .map(|it| it.ident.to_string())
                    .collect();
                self.krate
                    .named(self.file, &segments)
                    .map_or(Kind::Unknown, Kind::Ours)
            }
            syn::Expr::Reference(it) => self.kind(&it.expr),
            syn::Expr::Paren(it) => self.kind(&it.expr),
            syn::Expr::Try(it) => self.kind(&it.expr),
            syn::Expr::Unary(it) => self.kind(&it.expr),
            syn::Expr::Lit(_) | syn::Expr::Macro(_) => Kind::Foreign,
            _ => Kind::Unknown,
        }
    }

    fn bind(&mut self, pattern: &syn::Pat, kind: Kind) {
        match pattern {
            syn::Pat::Ident(it) => {
                if let Some(scope) = self.locals.last_mut() {
                    scope.insert(it.ident.to_string(), kind);
                }
            }
            syn::Pat::Type(it) => {
                let kind = self.krate.kind(self.file, self.own.as_ref(), &it.ty);
                self.bind(&it.pat, kind);
            }
            syn::Pat::Reference(it) => self.bind(&it.pat, kind),
            syn::Pat::TupleStruct(it) if it.elems.len() == 1 => {
                let is_wrapper = it
                    .path
                    .segments
                    .last()
                    .is_some_and(|it| it.ident == "Some" || it.ident == "Ok");
                self.bind(&it.elems[0], if is_wrapper { kind } else { Kind::Unknown });
            }
            _ => {}
        }
    }

    fn scoped(&mut self, walk: impl FnOnce(&mut Self)) {
        self.locals.push(BTreeMap::new());
        walk(self);
        self.locals.pop();
    }

    fn enter(&mut self, signature: &syn::Signature) {
        for input in &signature.inputs {
            if let syn::FnArg::Typed(input) = input {
                let kind = self.krate.kind(self.file, self.own.as_ref(), &input.ty);
                self.bind(&input.pat, kind);
            }
        }
    }
}

impl<'a> Visit<'a> for Walk<'_> {
    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        // A re-export is an arrow of the files that use it.
        if matches!(item.vis, syn::Visibility::Inherited) {
            for (_, path) in used(&item.tree, &self.file.module) {
                self.to.extend(self.krate.resolve(&path, 0).map(|it| it.0));
            }
        }
    }

    fn visit_item_mod(&mut self, _item: &'a syn::ItemMod) {}

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        self.own = match self.krate.kind(self.file, None, &item.self_ty) {
            Kind::Ours(key) => Some(key),
            Kind::Foreign | Kind::Unknown => None,
        };
        visit::visit_item_impl(self, item);
        self.own = None;
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.scoped(|walk| {
            walk.enter(&item.sig);
            visit::visit_item_fn(walk, item);
        });
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.scoped(|walk| {
            walk.enter(&item.sig);
            visit::visit_impl_item_fn(walk, item);
        });
    }

    fn visit_block(&mut self, block: &'a syn::Block) {
        self.scoped(|walk| visit::visit_block(walk, block));
    }

    fn visit_local(&mut self, local: &'a syn::Local) {
        visit::visit_local(self, local);
        if let Some(init) = &local.init {
            let kind = self.kind(&init.expr);
            self.bind(&local.pat, kind);
        }
    }

    fn visit_expr_let(&mut self, expression: &'a syn::ExprLet) {
        visit::visit_expr_let(self, expression);
        let kind = self.kind(&expression.expr);
        self.bind(&expression.pat, kind);
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        let receiver = self.kind(&call.receiver);
        let found = self.method(&receiver, &call.method.to_string());
        let found = found.map(|(module, _)| module.clone());
        self.to.extend(found);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|it| it.ident.to_string())
            .collect();
        if let Some(key) = self.krate.named(self.file, &segments) {
            // `Type::method` points to the file that has the method.
            let method = segments.last().map(|name| (key.clone(), name.clone()));
            let method = method.and_then(|it| self.krate.methods.get(&it));
            self.to
                .insert(method.map_or(key.0, |(module, _)| module.clone()));
        }
        visit::visit_path(self, path);
    }

    fn visit_attribute(&mut self, _attribute: &'a syn::Attribute) {}

    fn visit_visibility(&mut self, _visibility: &'a syn::Visibility) {}

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        let given = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        if let Ok(arguments) = call.parse_body_with(given) {
            for argument in &arguments {
                self.visit_expr(argument);
            }
        }
    }
}

fn is_test_item(item: &syn::Item) -> bool {
    match item {
        syn::Item::Mod(item) => is_for_tests(&item.attrs),
        syn::Item::Impl(item) => is_for_tests(&item.attrs),
        syn::Item::Use(item) => is_for_tests(&item.attrs),
        syn::Item::Fn(item) => is_for_tests(&item.attrs),
        _ => false,
    }
}

fn defined(item: &syn::Item) -> Option<String> {
    let name = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Mod(item) => &item.ident,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// The names that a `use` imports, each with its path from the crate root, without globs and other
/// crates.
fn used(tree: &syn::UseTree, module: &[String]) -> Vec<(String, Vec<String>)> {
    fn unfold(tree: &syn::UseTree, before: &[String], found: &mut Vec<(String, Vec<String>)>) {
        let with = |name: &syn::Ident| {
            let name = (name != "self").then(|| name.to_string());
            before.iter().cloned().chain(name).collect::<Vec<String>>()
        };
        match tree {
            syn::UseTree::Path(it) => {
                unfold(&it.tree, &[before, &[it.ident.to_string()]].concat(), found);
            }
            syn::UseTree::Name(it) => {
                let path = with(&it.ident);
                found.extend(path.last().cloned().map(|name| (name, path)));
            }
            syn::UseTree::Rename(it) => found.push((it.rename.to_string(), with(&it.ident))),
            syn::UseTree::Glob(_) => {}
            syn::UseTree::Group(it) => it.items.iter().for_each(|tree| unfold(tree, before, found)),
        }
    }
    let mut found = Vec::new();
    unfold(tree, &[], &mut found);
    let inside = found.into_iter().filter_map(|(name, path)| {
        let ups = path.iter().take_while(|it| *it == "super").count();
        let path = match path.first()?.as_str() {
            "crate" => path[1..].to_vec(),
            "self" => [module, &path[1..]].concat(),
            "super" => [&module[..module.len().checked_sub(ups)?], &path[ups..]].concat(),
            // A module or an item of this file.
            _ => [module, &path].concat(),
        };
        Some((name, path))
    });
    inside.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(files: &[(&str, &str)]) -> usize {
        let sources: Vec<Source> = files
            .iter()
            .map(|(path, text)| Source::new(&format!("crates/x/src/{path}"), text))
            .collect();
        check(&sources).len()
    }

    const ROOT: (&str, &str) = ("lib.rs", "mod a; mod b; mod c; pub use c::Part;");

    #[test]
    fn a_cycle_of_uses_is_found_only_across_folders() {
        let one = ("a/mod.rs", "use crate::b::two; pub fn one() { two() }");
        let two = ("b/mod.rs", "use crate::a::one; pub fn two() { one() }");
        assert_eq!(cycles(&[ROOT, one, two]), 1);
        let same = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod x; mod y;"),
            ("a/x.rs", "use super::y::two; pub fn one() { two() }"),
            ("a/y.rs", "use super::x::one; pub fn two() { one() }"),
        ];
        assert_eq!(cycles(&same), 0);
    }

    #[test]
    fn a_cycle_of_methods_of_one_type_is_found() {
        let part = ("c.rs", "pub struct Part;");
        let one = (
            "a/mod.rs",
            "use crate::Part; impl Part { pub fn one(&self) { self.two() } }",
        );
        let two = (
            "b/mod.rs",
            "use crate::Part; impl Part { pub fn two(&self) { self.one() } }",
        );
        assert_eq!(cycles(&[ROOT, part, one, two]), 1);
        let two = (
            "b/mod.rs",
            "use crate::Part; impl Part { pub fn two(&self) {} }",
        );
        assert_eq!(cycles(&[ROOT, part, one, two]), 0);
    }

    #[test]
    fn a_cycle_through_fields_and_answers_is_found() {
        let part = ("c.rs", "");
        let root = ("lib.rs", "mod a; mod b; mod c;");
        let one = (
            "a/mod.rs",
            "use crate::b::Low; pub struct High { low: Low } impl High { pub fn run(&self) { self.low.run() } }",
        );
        let calls = "pub struct Low; impl Low { fn high(&self) -> Option<crate::a::High> { None } \
                     pub fn run(&self) { if let Some(it) = self.high() { it.run() } } }";
        assert_eq!(cycles(&[root, part, one, ("b/mod.rs", calls)]), 1);
        assert_eq!(
            cycles(&[
                root,
                part,
                one,
                (
                    "b/mod.rs",
                    "pub struct Low; impl Low { pub fn run(&self) {} }"
                )
            ]),
            0
        );
    }
}
