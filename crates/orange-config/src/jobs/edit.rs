//! Adds, removes, enables and disables jobs in the user's file.

use std::fs;
use std::io;

use orange_engine::time::Timestamp;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::{Job, Jobs, JobsError};
use crate::{Home, reason, user_file};

/// A job to add, as keys and values of its table, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewJob {
    keys: Vec<(&'static str, NewValue)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum NewValue {
    Text(String),
    Number(i64),
}

impl NewJob {
    #[must_use]
    pub fn text(mut self, key: &'static str, text: Option<impl Into<String>>) -> NewJob {
        let value = text.map(|it| (key, NewValue::Text(it.into())));
        self.keys.extend(value);
        self
    }

    #[must_use]
    pub fn number(mut self, key: &'static str, number: Option<i64>) -> NewJob {
        self.keys
            .extend(number.map(|it| (key, NewValue::Number(it))));
        self
    }

    /// The text of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.keys.iter().find(|(known, _)| *known == key);
        match found {
            Some((_, NewValue::Text(text))) => Some(text),
            _ => None,
        }
    }

    /// The job as it stands in the file.
    fn to_text(&self) -> String {
        let mut table = Table::new();
        for (key, given) in &self.keys {
            let item = match given {
                NewValue::Text(text) => value(text),
                NewValue::Number(number) => value(*number),
            };
            table.insert(key, item);
        }
        format!("[[job]]\n{table}")
    }
}

impl Jobs {
    /// Adds a job at the end of the file. A job that could not run is not written.
    pub fn add(home: &Home, new: &NewJob, now: Timestamp) -> Result<Job, JobsError> {
        let name = new.keys.iter().find(|(key, _)| *key == "name");
        let Some((_, NewValue::Text(name))) = name else {
            return Err(JobsError::NotAJob(String::from("it needs a name")));
        };
        let jobs = change(home, now, |jobs, text| {
            if jobs.has(name) {
                return Err(JobsError::Exists(name.clone()));
            }
            let gap = match text {
                "" => "",
                text if text.ends_with('\n') => "\n",
                _ => "\n\n",
            };
            Ok(format!("{text}{gap}{}", new.to_text()))
        })?;
        jobs.require(name).cloned()
    }

    /// Removes a job, also one that cannot run.
    pub fn remove(home: &Home, name: &str, now: Timestamp) -> Result<(), JobsError> {
        let removed = change(home, now, |jobs, text| {
            edit(home, text, |tables| {
                let index = find(jobs, tables, name)?;
                tables.remove(index);
                Ok(())
            })
        });
        removed.map(drop)
    }

    /// Enables or disables a job.
    pub fn set_enabled(
        home: &Home,
        name: &str,
        is_enabled: bool,
        now: Timestamp,
    ) -> Result<Job, JobsError> {
        let jobs = change(home, now, |jobs, text| {
            edit(home, text, |tables| {
                let index = find(jobs, tables, name)?;
                let table = tables.get_mut(index);
                if is_enabled {
                    table.map(|it| it.remove("enabled"));
                } else {
                    table.map(|it| it.insert("enabled", value(false)));
                }
                Ok(())
            })
        })?;
        jobs.require(name).cloned()
    }

    fn has(&self, name: &str) -> bool {
        let mut jobs = self.jobs.iter().map(|it| it.name.as_str());
        let mut broken = self.problems.iter().filter_map(|it| it.name.as_deref());
        jobs.any(|it| it == name) || broken.any(|it| it == name)
    }
}

fn find(jobs: &Jobs, tables: &ArrayOfTables, name: &str) -> Result<usize, JobsError> {
    let is_named = |table: &Table| table.get("name").and_then(Item::as_str) == Some(name);
    let found = tables.iter().position(is_named);
    found.ok_or_else(|| JobsError::Unknown {
        name: name.to_owned(),
        names: jobs.jobs.iter().map(|it| it.name.to_string()).collect(),
    })
}

/// Changes the file; returns the jobs as they are now. A change that adds a mistake is not written.
fn change(
    home: &Home,
    now: Timestamp,
    change: impl FnOnce(&Jobs, &str) -> Result<String, JobsError>,
) -> Result<Jobs, JobsError> {
    let path = home.jobs();
    let failed = |attempt: &'static str| {
        let path = path.clone();
        move |error: io::Error| JobsError::File {
            attempt,
            path,
            reason: reason(&error),
        }
    };
    let _lock = user_file::lock(&path).map_err(failed("lock"))?;
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text.map_err(failed("read"))?,
    };
    let jobs = Jobs::read(home, &text, now)?;
    let text = change(&jobs, &text)?;
    let changed = Jobs::read(home, &text, now)?;
    if changed.problems.len() > jobs.problems.len()
        && let Some(problem) = changed.problems.last()
    {
        return Err(JobsError::NotAJob(problem.reason.clone()));
    }
    user_file::write(&path, &text).map_err(failed("write"))?;
    Ok(changed)
}

/// The text after a change of its tables; everything else stays as it is.
fn edit(
    home: &Home,
    text: &str,
    change: impl FnOnce(&mut ArrayOfTables) -> Result<(), JobsError>,
) -> Result<String, JobsError> {
    let invalid = |reason: String| JobsError::Invalid {
        path: home.jobs(),
        line: 1,
        reason,
    };
    let document: Result<DocumentMut, _> = text.parse();
    let mut document =
        document.map_err(|error: toml_edit::TomlError| invalid(error.message().to_owned()))?;
    let tables = document
        .entry("job")
        .or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    let Some(tables) = tables.as_array_of_tables_mut() else {
        return Err(invalid(String::from("write each job as a table `[[job]]`")));
    };
    change(tables)?;
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;

    const USERS: &str = "# mine\n\n[[job]]\nname = \"old\" # keep\nschedule = \"0 9 * * *\"\n\
                         project = \"app\"\nsummary = \"Look\"\n\n[[job]]\nname = \"bad\"\n\
                         schedule = \"nonsense\"\nproject = \"app\"\nsummary = \"x\"\n";

    fn now() -> Timestamp {
        Timestamp::parse("2026-11-17T12:00:00Z").unwrap()
    }

    fn stage(text: &str) -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::resolve(&Environment::of([("ORANGE_HOME", folder.path())])).unwrap();
        fs::write(home.jobs(), text).unwrap();
        (folder, home)
    }

    fn report() -> NewJob {
        NewJob::default()
            .text("name", Some("report"))
            .text("schedule", Some("0 9 * * 1"))
            .text("project", Some("app"))
            .text("summary", Some("Write \"the\" report"))
            .number("priority", Some(2))
    }

    #[test]
    fn a_job_is_added_disabled_and_removed_and_the_users_text_stays() {
        let (_folder, home) = stage(USERS);
        let added = Jobs::add(&home, &report(), now()).unwrap();
        assert_eq!(added.name.as_str(), "report");
        let text = fs::read_to_string(home.jobs()).unwrap();
        assert!(text.starts_with(USERS), "{text}");
        assert_eq!(
            Jobs::add(&home, &report(), now()).unwrap_err(),
            JobsError::Exists(String::from("report"))
        );
        let old = Jobs::set_enabled(&home, "old", false, now()).unwrap();
        assert!(!old.is_enabled);
        assert!(
            Jobs::set_enabled(&home, "old", true, now())
                .unwrap()
                .is_enabled
        );
        Jobs::remove(&home, "report", now()).unwrap();
        assert_eq!(fs::read_to_string(home.jobs()).unwrap(), USERS);
        // One that cannot run can be removed, too.
        Jobs::remove(&home, "bad", now()).unwrap();
        assert_eq!(Jobs::load(&home, now()).unwrap().problems, []);
    }

    #[test]
    fn a_mistake_disables_its_job_and_no_other() {
        let (_folder, home) = stage(USERS);
        let jobs = Jobs::load(&home, now()).unwrap();
        assert_eq!(jobs.jobs.len(), 1);
        let problem = &jobs.problems[0];
        assert_eq!((problem.name.as_deref(), problem.line), (Some("bad"), 9));
        assert!(
            problem.reason.contains("it has 1 field; write five"),
            "{problem:?}"
        );
    }

    #[test]
    fn a_job_that_could_not_run_is_not_written() {
        let (_folder, home) = stage(USERS);
        let both = report().text("command", Some("true"));
        let error = Jobs::add(&home, &both, now()).unwrap_err().to_string();
        assert!(error.contains("either `summary`"), "{error}");
        let slow = report().text("window", Some("900h"));
        assert!(Jobs::add(&home, &slow, now()).is_err());
        assert_eq!(fs::read_to_string(home.jobs()).unwrap(), USERS);
        fs::write(home.jobs(), "[[job]\n").unwrap();
        let error = Jobs::add(&home, &report(), now()).unwrap_err();
        assert!(
            matches!(error, JobsError::Invalid { line: 1, .. }),
            "{error}"
        );
        assert_eq!(fs::read_to_string(home.jobs()).unwrap(), "[[job]\n");
    }
}
