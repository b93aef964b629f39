//! Reads the `[[route]]` tables of `config.toml`.

use orange_engine::language::nearest;
use orange_engine::names::HarnessName;
use orange_engine::routing::RouteRule;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::file::SettingsReader;
use super::value::{Kind, Value};

/// The keys of a rule.
const RULE_KEYS: [&str; 6] = ["labels", "words", "projects", "harness", "model", "effort"];

impl SettingsReader<'_> {
    pub(super) fn read_routes(&mut self, value: &Spanned<DeValue<'_>>) {
        let entries = value.get_ref().as_array();
        for entry in entries.into_iter().flatten() {
            match entry.get_ref() {
                DeValue::Table(table) => self.read_route(entry, table),
                _ => self.report_route(entry),
            }
        }
        if entries.is_none() {
            self.report_route(value);
        }
    }

    fn report_route(&mut self, value: &Spanned<DeValue<'_>>) {
        let message = String::from("`route` is a list of tables: write `[[route]]`");
        self.report(&value.span(), message, None);
    }

    fn read_route(&mut self, entry: &Spanned<DeValue<'_>>, table: &DeTable<'_>) {
        for (name, _) in table {
            let key = name.get_ref().as_ref();
            if !RULE_KEYS.contains(&key) {
                let nearest = nearest(key, RULE_KEYS).map(str::to_owned);
                let message = format!("unknown key `{key}` of a `[[route]]`");
                self.report(&name.span(), message, nearest);
            }
        }
        if !table.contains_key("harness") {
            let message = String::from("a `[[route]]` needs `harness`, such as \"codex\"");
            self.report(&entry.span(), message, None);
        }
        let harness = self.read_rule_name(table, "harness").unwrap_or_default();
        let rule = RouteRule {
            labels: self.read_rule_names(table, "labels"),
            words: self.read_rule_names(table, "words"),
            projects: self.read_rule_names(table, "projects"),
            harness: HarnessName::new(harness),
            model: self.read_rule_name(table, "model"),
            effort: self.read_rule_name(table, "effort"),
        };
        self.routes.push(rule);
    }

    fn read_rule_name(&mut self, table: &DeTable<'_>, key: &str) -> Option<String> {
        let value = table.get(key)?;
        let text = value.get_ref().as_str().and_then(|it| Kind::Name.read(it));
        if let Some(Value::Text(name)) = text {
            return Some(name);
        }
        let message = format!("`{key}` must be {}", Kind::Name.expected());
        self.report(&value.span(), message, None);
        None
    }

    fn read_rule_names(&mut self, table: &DeTable<'_>, key: &str) -> Vec<String> {
        let Some(value) = table.get(key) else {
            return Vec::new();
        };
        self.names_of(key, Kind::Names, value).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::{Author, parse};

    #[test]
    fn rules_are_read_in_order() {
        let text = "[[route]]\nlabels = [\"docs\"]\nwords = [\"typo\"]\nharness = \"pi\"\n\
                    [[route]]\nprojects = [\"web\"]\nharness = \"codex\"\nmodel = \"m\"\neffort = \"low\"\n";
        let routes = parse(text, Author::User).unwrap().routes;
        assert_eq!(routes.len(), 2);
        assert_eq!(
            (&routes[0].labels[..], &routes[0].words[..]),
            (&["docs".into()][..], &["typo".into()][..])
        );
        assert_eq!(routes[0].harness.as_str(), "pi");
        assert_eq!(routes[1].projects, ["web"]);
        assert_eq!(routes[1].model.as_deref(), Some("m"));
        assert_eq!(routes[1].effort.as_deref(), Some("low"));
    }

    #[test]
    fn every_mistake_of_a_rule_is_reported() {
        for (text, expected) in [
            ("[[route]]\nlabels = [\"docs\"]\n", "needs `harness`"),
            ("[[route]]\nharness = 7\n", "`harness` must be a name"),
            (
                "[[route]]\nharness = \"a\"\nlabels = \"docs\"\n",
                "`labels` must be a list of names",
            ),
            (
                "[[route]]\nharness = \"a\"\nwords = [\"\"]\n",
                "`words` must be a list of names",
            ),
            (
                "[[route]]\nharness = \"a\"\nlabel = [\"docs\"]\n",
                "unknown key `label`",
            ),
            ("[route]\nharness = \"a\"\n", "write `[[route]]`"),
            ("route = [1]\n", "write `[[route]]`"),
        ] {
            let problems = parse(text, Author::User).unwrap_err();
            let message = &problems[0].message;
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
