//! The options for a new task.

use orange_config::{Catalog, Harnesses, Projects};
use orange_driver::Driver;

use crate::tui::model::{Choices, TaskDefaults};

/// What cannot be read is not offered, and neither is an agent that is not installed.
pub fn choices(driver: &Driver) -> Choices {
    let home = driver.context.home();
    let projects = Projects::load(home).map(|it| it.projects);
    let projects = projects.unwrap_or_default();
    let harnesses = Harnesses::load(home).ok();
    let installed = harnesses.map(|it| driver.context.installed(&it));
    let installed = installed.unwrap_or_default();
    let defaults = projects.iter().filter_map(|project| {
        let settings = driver.context.settings(Some(project)).ok()?;
        let harness = settings.harness.or_else(|| installed.first().cloned());
        let defaults = TaskDefaults {
            harness: harness.map(|it| it.to_string()),
            workflow: settings.workflow,
        };
        Some((project.name.to_string(), defaults))
    });
    let workflows = Catalog::load(home).map(|it| it.names());
    let mut workflows = workflows.unwrap_or_default();
    for project in &projects {
        let catalog = driver.context.catalog(Some(&project.name));
        let names = catalog.map(|it| it.names()).unwrap_or_default();
        let new: Vec<String> = names
            .into_iter()
            .filter(|it| !workflows.contains(it))
            .collect();
        workflows.extend(new);
    }
    let here = driver.callers.project_here(None).ok().flatten();
    Choices {
        defaults: defaults.collect(),
        projects: projects.iter().map(|it| it.name.to_string()).collect(),
        harnesses: installed.iter().map(ToString::to_string).collect(),
        workflows,
        here: here.map(|it| it.name.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    use orange_config::Environment;

    use super::*;

    #[test]
    fn only_agents_that_are_installed_are_offered() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let (home, programs) = (folder("home"), folder("programs"));
        let definitions = folder("home/harnesses");
        let harness = definitions.join("broken.toml");
        fs::write(harness, "name = \"broken\"\nbinary = \"codex\"\n").unwrap();
        let environment = Environment::of([
            ("ORANGE_HOME", home.as_path()),
            ("HOME", root.path()),
            ("PATH", programs.as_path()),
        ]);
        let driver = Driver::new(&environment, PathBuf::from("/nowhere/orange")).unwrap();
        assert_eq!(choices(&driver).harnesses, [] as [&str; 0]);
        for name in ["codex", "claude"] {
            let program = programs.join(name);
            fs::write(&program, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        }
        assert_eq!(choices(&driver).harnesses, ["claude", "codex"]);
        // Neither is one that is no longer a program.
        let program = programs.join("codex");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(choices(&driver).harnesses, ["claude"]);
    }
}
