//! What a user would see, with run-specific values replaced.

use std::collections::BTreeMap;

use orange_engine::names::TaskId;

use crate::support::Stage;

impl Stage {
    /// The command, its answer, its narration and its exit code.
    pub fn transcript(&self, arguments: &[&str]) -> String {
        let output = self.orange(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let shown: Vec<String> = arguments
            .iter()
            .map(|it| {
                let is_plain = !it.is_empty() && !it.contains(char::is_whitespace);
                if is_plain {
                    (*it).to_owned()
                } else {
                    format!("{it:?}")
                }
            })
            .collect();
        let narration = match text(&output.stderr) {
            text if text.is_empty() => text,
            text => format!("[stderr]\n{text}"),
        };
        let message = format!(
            "$ orange {}\n{}{narration}[exit {}]\n",
            shown.join(" "),
            text(&output.stdout),
            output.status.code().unwrap_or(-1)
        );
        self.normalize(&message)
    }

    /// The text with ids, times and paths replaced; tasks are numbered in order of creation.
    pub fn normalize(&self, text: &str) -> String {
        let text = text.replace(self.path("").to_str().unwrap(), "[ROOT]/");
        let names = self.names();
        let mut plain = String::new();
        for word in text.split_inclusive(|it: char| !is_part(it)) {
            let (core, rest) = match word.char_indices().last() {
                Some((at, last)) if !is_part(last) => word.split_at(at),
                _ => (word, ""),
            };
            match names.get(core) {
                Some(name) => plain.push_str(name),
                None if is_commit(core) => plain.push_str("[COMMIT]"),
                None => plain.push_str(core),
            }
            plain.push_str(rest);
        }
        without_times(&plain)
    }

    fn names(&self) -> BTreeMap<String, String> {
        let mut names = BTreeMap::new();
        let Ok(store) = orange_store::Store::open_read_only(&self.home()) else {
            return names;
        };
        let listing = store.list(&orange_store::TaskFilter::default()).unwrap();
        let mut tasks: Vec<_> = listing.tasks.into_iter().map(|it| it.task.id).collect();
        tasks.sort_by_key(|id: &TaskId| store.events(id, 0).unwrap()[0].sequence);
        for (number, task) in tasks.iter().enumerate() {
            let letter = ["first", "second", "third", "fourth", "fifth", "sixth"];
            let name = letter.get(number).copied().unwrap_or("another");
            names.insert(task.to_string(), format!("[{name}]"));
            for run in store.runs(task).unwrap() {
                names.insert(run.id.to_string(), String::from("[run]"));
            }
        }
        names
    }
}

fn is_part(it: char) -> bool {
    it.is_ascii_alphanumeric()
}

/// A commit in full, or shortened as in sentences.
fn is_commit(word: &str) -> bool {
    [40, 12].contains(&word.len()) && word.chars().all(|it| it.is_ascii_hexdigit())
}

/// Timestamps, as programs and as users see them.
const SHAPES: [&str; 2] = ["0000-00-00T00:00:00.000Z", "0000-00-00 00:00:00"];

fn without_times(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let time = SHAPES.iter().find(|shape| {
            let candidate = rest.get(..shape.len());
            candidate.is_some_and(|it| {
                let mut pairs = it.chars().zip(shape.chars());
                pairs.all(|(it, shape)| it == shape || shape == '0' && it.is_ascii_digit())
            })
        });
        if let Some(shape) = time {
            plain.push_str("[TIME]");
            rest = &rest[shape.len()..];
        } else {
            plain.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    plain
}
