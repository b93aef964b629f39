//! Checks that orange's files are on safe and permanent file systems.

use std::path::Path;

use orange_config::Project;
use orange_store::{FileSystem, file_system_of};

use super::{Checkup, Health};
use crate::admin::Admin;

/// The fix for a home on an unsuitable file system.
const CHOOSE_LOCAL_HOME: &str =
    "choose a home on a local disk, for example `export ORANGE_HOME=/var/lib/orange`";

impl Admin {
    /// Checks the file systems of the home, the worktrees and the repositories. The home always
    /// gets an entry, the others only if there is a problem.
    pub(crate) fn check_disks(&self, projects: &[Project], found: &mut Vec<Checkup>) {
        let home = self.context.home.path();
        found.push(match file_system_at(home) {
            Ok(FileSystem::Unsafe { kind }) => Checkup::new(
                "disk of orange's home",
                Health::Error,
                format!(
                    "`{}` is on {kind}, where two processes can damage a database",
                    home.display()
                ),
            )
            .with_fix(CHOOSE_LOCAL_HOME),
            Ok(kind) => {
                let temporary = check_temporary_location(
                    "disk of orange's home",
                    home,
                    kind,
                    CHOOSE_LOCAL_HOME,
                );
                let local = || Checkup::new("disk of orange's home", Health::Ok, "a local disk");
                temporary.unwrap_or_else(local)
            }
            Err(why) => Checkup::new("disk of orange's home", Health::Unknown, why)
                .with_fix(CHOOSE_LOCAL_HOME),
        });
        let worktrees = self.context.home.workspaces();
        found.extend(check_files_location(
            "disk of the worktrees",
            &worktrees,
            CHOOSE_LOCAL_HOME,
        ));
        for project in projects {
            let what = format!("disk of {}", project.name);
            let fix = "clone the repository onto a local disk, then run `orange project add` there";
            found.extend(check_files_location(&what, &project.path, fix));
        }
    }
}

/// Warns about an unsuitable file system under a directory that has no database in it.
fn check_files_location(what: &str, path: &Path, fix: &str) -> Option<Checkup> {
    match file_system_at(path).ok()? {
        FileSystem::Unsafe { kind } => {
            let message = format!(
                "`{}` is on {kind}, where file locks and change notifications are not reliable",
                path.display()
            );
            Some(Checkup::new(what, Health::Warning, message).with_fix(fix))
        }
        kind => check_temporary_location(what, path, kind, fix),
    }
}

fn check_temporary_location(
    what: &str,
    path: &Path,
    kind: FileSystem,
    fix: &str,
) -> Option<Checkup> {
    let FileSystem::Volatile { kind, until } = kind else {
        return None;
    };
    let message = format!(
        "`{}` is on {kind}: everything in it is lost {until}",
        path.display()
    );
    Some(Checkup::new(what, Health::Warning, message).with_fix(fix))
}

/// The file system of the path; for a path that does not exist yet, of its nearest existing parent.
fn file_system_at(path: &Path) -> Result<FileSystem, String> {
    let existing = path.ancestors().find(|it| it.exists());
    let existing = existing.unwrap_or(Path::new("/"));
    let kind = file_system_of(existing);
    kind.map_err(|error| {
        format!(
            "cannot determine the file system of `{}`: {error}",
            existing.display()
        )
    })
}
