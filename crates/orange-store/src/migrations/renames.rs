//! Gives stored JSON from before schema 10 its current names.

use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::Value;

use crate::error::{StoreError, failed};

/// Renamed keys: the old name and the current one.
const KEYS: [(&str, &str); 12] = [
    ("asked", "is_request"),
    ("because", "evidence"),
    ("brought_by", "submitted_by"),
    ("crashes_are_old", "crash_count_is_stale"),
    ("do", "action"),
    ("forwarded", "fast_forwarded"),
    ("otherwise", "spawn_if_absent"),
    ("said", "output_line"),
    ("starts_itself", "starts_automatically"),
    ("told_at", "sent_at"),
    ("tuning", "agent_settings"),
    ("unsettled", "unfinished_plan"),
];

/// Renamed values: the key, the old value and the current one.
const VALUES: [(&str, &str, &str); 7] = [
    ("origin", "before", "already_merged"),
    ("state", "given_up", "failed"),
    ("state", "leaving", "releasing"),
    ("state", "wanted", "acquiring"),
    ("type", "effect.given_up", "effect.failed"),
    ("type", "error.noted", "error.recorded"),
    ("type", "task.brought_back", "task.restored"),
];

/// Objects whose keys are names from a workflow or ids, which must not be renamed.
const NAMED_BY_USERS: [&str; 4] = ["children", "fields", "runs", "sections"];

/// Renames keys and values in place. Current JSON stays as it is, so this is safe to repeat.
pub(crate) fn rename(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            *entries = std::mem::take(entries)
                .into_iter()
                .map(rename_entry)
                .collect();
        }
        Value::Array(values) => values.iter_mut().for_each(rename),
        _ => {}
    }
}

fn rename_entry((key, mut value): (String, Value)) -> (String, Value) {
    match &mut value {
        Value::Object(entries) if NAMED_BY_USERS.contains(&key.as_str()) => {
            entries.values_mut().for_each(rename);
        }
        Value::String(text) => {
            let renamed = VALUES.iter().find(|(at, old, _)| *at == key && old == text);
            if let Some((_, _, new)) = renamed {
                *text = String::from(*new);
            }
        }
        _ => rename(&mut value),
    }
    let renamed = KEYS.iter().find(|(old, _)| *old == key);
    (renamed.map_or(key, |(_, new)| String::from(*new)), value)
}

/// Reads JSON that may be from before schema 10.
pub(crate) fn read<T: serde::de::DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    let mut value: Value = serde_json::from_slice(json)?;
    rename(&mut value);
    serde_json::from_value(value)
}

/// Renames keys and values in every column that holds such JSON.
pub(super) fn rewrite(connection: &Connection) -> Result<(), StoreError> {
    let attempt = "rename stored keys";
    for (select, update) in [
        (
            "SELECT rowid, event FROM events WHERE rowid > ?1 ORDER BY rowid LIMIT 1",
            "UPDATE events SET event = ?2 WHERE rowid = ?1",
        ),
        (
            "SELECT rowid, planned FROM pending WHERE rowid > ?1 ORDER BY rowid LIMIT 1",
            "UPDATE pending SET planned = ?2 WHERE rowid = ?1",
        ),
        (
            "SELECT rowid, snapshot FROM tasks WHERE rowid > ?1 ORDER BY rowid LIMIT 1",
            "UPDATE tasks SET snapshot = ?2 WHERE rowid = ?1",
        ),
    ] {
        let mut select = connection.prepare(select).map_err(failed(attempt))?;
        let mut update = connection.prepare(update).map_err(failed(attempt))?;
        let mut last = i64::MIN;
        loop {
            let next = select.query_row([last], |row| {
                let text = row.get_ref(1)?.as_bytes_or_null()?;
                Ok((row.get(0)?, text.map(<[u8]>::to_vec).unwrap_or_default()))
            });
            let Some((row, old)) = next.optional().map_err(failed(attempt))? else {
                break;
            };
            last = row;
            // Leave text that is not JSON alone; the next reader reports it.
            match renamed(&old) {
                Ok(new) if new.as_bytes() != old => {
                    update.execute(params![row, new]).map_err(failed(attempt))?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The text with its current names.
fn renamed(text: &[u8]) -> serde_json::Result<String> {
    let mut value: Value = serde_json::from_slice(text)?;
    rename(&mut value);
    serde_json::to_string(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_renamed_at_any_depth() {
        let old =
            r#"{"type":"effect.given_up","a":[{"do":"spawn","otherwise":null}],"state":"wanted"}"#;
        let new = r#"{"a":[{"action":"spawn","spawn_if_absent":null}],"state":"acquiring","type":"effect.failed"}"#;
        assert_eq!(renamed(old.as_bytes()).unwrap(), new);
        assert_eq!(renamed(new.as_bytes()).unwrap(), new);
    }

    #[test]
    fn names_and_texts_of_users_stay() {
        let kept = r#"{"fields":{"asked":1,"do":2},"runs":{"said":{"state":"alive"}},"sections":{"because":{"hash":"wanted"}},"summary":"given_up"}"#;
        assert_eq!(renamed(kept.as_bytes()).unwrap(), kept);
    }
}
