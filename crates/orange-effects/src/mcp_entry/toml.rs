//! Changes one table of a TOML file, and no other byte.

use serde_json::{Map, Value as Json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::TextError;

/// The value at these keys.
pub(super) fn find(text: &str, keys: &[&str]) -> Result<Option<Json>, TextError> {
    let document = parse(text)?;
    let mut at: &dyn TableLike = document.as_table();
    let [parents @ .., name] = keys else {
        return Ok(None);
    };
    for key in parents {
        match at.get(key) {
            None => return Ok(None),
            Some(item) => at = item.as_table_like().ok_or_else(|| no_table(key))?,
        }
    }
    Ok(at.get(name).map(json_of))
}

/// The text with a table at these keys, where there is none yet.
pub(super) fn insert(text: &str, keys: &[&str], value: &Json) -> Result<String, TextError> {
    let mut document = parse(text)?;
    let is_empty = document.as_table().is_empty();
    let [parents @ .., name] = keys else {
        return Err(TextError::NotAnObject(String::from("the file")));
    };
    let mut at: &mut dyn TableLike = document.as_table_mut();
    for key in parents {
        let item = at.entry(key).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        at = item.as_table_like_mut().ok_or_else(|| no_table(key))?;
    }
    let mut table = Table::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        table.insert(key, Item::Value(toml_of(value)));
    }
    if !is_empty {
        table.decor_mut().set_prefix("\n");
    }
    at.insert(name, Item::Table(table));
    let text = document.to_string();
    // A table cannot be inside an inline table.
    let inserted = find(&text, keys).ok().flatten();
    if inserted.as_ref() == Some(value) {
        return Ok(text);
    }
    Err(TextError::NotAnObject(parents.join(".")))
}

/// The text without the table at these keys, and without the tables that are then empty.
pub(super) fn remove(text: &str, keys: &[&str]) -> Result<String, TextError> {
    let mut document = parse(text)?;
    remove_in(document.as_table_mut(), keys)?;
    Ok(document.to_string())
}

fn remove_in(table: &mut dyn TableLike, keys: &[&str]) -> Result<(), TextError> {
    let [key, rest @ ..] = keys else {
        return Ok(());
    };
    if rest.is_empty() {
        table.remove(key);
        return Ok(());
    }
    let Some(item) = table.get_mut(key) else {
        return Ok(());
    };
    remove_in(item.as_table_like_mut().ok_or_else(|| no_table(key))?, rest)?;
    let is_left_over = item
        .as_table()
        .is_some_and(|it| it.is_empty() && it.is_implicit());
    if is_left_over {
        table.remove(key);
    }
    Ok(())
}

fn parse(text: &str) -> Result<DocumentMut, TextError> {
    let parsed = text.parse::<DocumentMut>();
    parsed.map_err(|error| TextError::Broken(error.to_string().trim().replace('\n', " ")))
}

fn no_table(key: &str) -> TextError {
    TextError::NotAnObject(key.to_owned())
}

fn json_of(item: &Item) -> Json {
    match item {
        Item::None => Json::Null,
        Item::Value(value) => json_of_value(value),
        Item::Table(table) => json_of_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|it| json_of_table(it)).collect(),
    }
}

fn json_of_table(table: &dyn TableLike) -> Json {
    let entries = table.iter();
    let entries = entries.map(|(key, item)| (key.to_owned(), json_of(item)));
    Json::Object(entries.collect::<Map<_, _>>())
}

fn json_of_value(value: &Value) -> Json {
    match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => (*number.value()).into(),
        Value::Float(number) => (*number.value()).into(),
        Value::Boolean(is_so) => (*is_so.value()).into(),
        Value::Datetime(time) => time.value().to_string().into(),
        Value::Array(items) => items.iter().map(json_of_value).collect(),
        Value::InlineTable(table) => json_of_table(table),
    }
}

fn toml_of(value: &Json) -> Value {
    match value {
        Json::Bool(is_so) => (*is_so).into(),
        Json::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Json::Array(items) => items.iter().map(toml_of).collect::<Array>().into(),
        Json::Object(map) => {
            let entries = map
                .iter()
                .map(|(key, value)| (key.as_str(), toml_of(value)));
            entries.collect::<InlineTable>().into()
        }
        Json::Null => "".into(),
        Json::String(text) => text.as_str().into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEYS: [&str; 2] = ["mcp_servers", "orange"];

    fn entry() -> Json {
        json!({ "args": ["mcp"], "command": "orange", "env_vars": ["ORANGE_HOME"] })
    }

    const FILES: [&str; 8] = [
        "",
        "model = \"m\" # mine\n",
        "# first\n\nmodel = \"m\"\n\n[a.b]\nc = 1\n# last\n",
        "[mcp_servers.x]\ncommand = \"x\" # mine\nargs = []\n\n[z]\na = 1\n",
        "[mcp_servers]\n\n[mcp_servers.x]\ncommand = \"x\"\n",
        "[z]\na = 1\n\n[mcp_servers.x]\ncommand = \"x\"\n\n[b]\n",
        "[[a]]\nb = 1\n[[a]]\nb = 2\n",
        "a = 1\r\n",
    ];

    #[test]
    fn a_table_is_added_and_removed_and_the_rest_stays() {
        for text in FILES {
            let added = insert(text, &KEYS, &entry()).unwrap();
            assert_eq!(find(&added, &KEYS).unwrap(), Some(entry()), "{added}");
            for line in text.lines() {
                assert!(added.contains(line), "{line:?} in {added}");
            }
            let removed = remove(&added, &KEYS).unwrap();
            assert_eq!(
                removed.replace("\r\n", "\n"),
                text.replace("\r\n", "\n"),
                "{added}"
            );
        }
        let added = insert("model = \"m\"\n", &KEYS, &entry()).unwrap();
        let expected = "model = \"m\"\n\n[mcp_servers.orange]\nargs = [\"mcp\"]\ncommand = \
                        \"orange\"\nenv_vars = [\"ORANGE_HOME\"]\n";
        assert_eq!(added, expected);
    }

    #[test]
    fn what_cannot_hold_the_table_is_refused() {
        for broken in ["a = ", "[a", "a = 1\na = 2\n", "= 1"] {
            let refused = insert(broken, &KEYS, &entry());
            assert!(matches!(refused, Err(TextError::Broken(_))), "{broken}");
        }
        for other in ["mcp_servers = 1\n", "[[mcp_servers]]\na = 1\n"] {
            let refused = insert(other, &KEYS, &entry());
            assert!(matches!(refused, Err(TextError::NotAnObject(_))), "{other}");
        }
        let inline = "mcp_servers = { x = { command = \"x\" } }\n";
        match insert(inline, &KEYS, &entry()) {
            Ok(added) => assert_eq!(find(&added, &KEYS).unwrap(), Some(entry()), "{added}"),
            Err(error) => assert!(matches!(error, TextError::NotAnObject(_)), "{error}"),
        }
    }
}
