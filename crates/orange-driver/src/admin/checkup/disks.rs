//! Checks that orange's files are on disks that keep them.

use std::path::Path;

use orange_config::Project;
use orange_store::{FileSystem, file_system_of};

use super::{Checkup, Health};
use crate::admin::Admin;

/// The fix for a home in the wrong place.
const ANOTHER_HOME: &str =
    "name a home on a local disk, such as `export ORANGE_HOME=/var/lib/orange`";

impl Admin {
    /// Checks the file systems of the home, the worktrees and the repositories. Reports a good
    /// result for the home only.
    pub(crate) fn check_disks(&self, projects: &[Project], found: &mut Vec<Checkup>) {
        let home = self.context.home.path();
        found.push(match judged(home) {
            Ok(FileSystem::Unsafe { kind }) => Checkup::new(
                "disk of the home",
                Health::Bad,
                format!(
                    "`{}` is on {kind}, where two processes can damage a database",
                    home.display()
                ),
            )
            .mended_by(ANOTHER_HOME),
            Ok(kind) => {
                let passing = of_passing("disk of the home", home, kind, ANOTHER_HOME);
                let local = || Checkup::new("disk of the home", Health::Good, "a local disk");
                passing.unwrap_or_else(local)
            }
            Err(why) => {
                Checkup::new("disk of the home", Health::Unknown, why).mended_by(ANOTHER_HOME)
            }
        });
        let worktrees = self.context.home.workspaces();
        found.extend(of_files("disk of the worktrees", &worktrees, ANOTHER_HOME));
        for project in projects {
            let what = format!("disk of {}", project.name);
            let mend =
                "clone the repository onto a local disk, then run `orange project add` there";
            found.extend(of_files(&what, &project.path, mend));
        }
    }
}

/// Reports a problem with a location that holds files but no database.
fn of_files(what: &str, path: &Path, mend: &str) -> Option<Checkup> {
    match judged(path).ok()? {
        FileSystem::Unsafe { kind } => {
            let unsure = format!(
                "`{}` is on {kind}, where locks and news of changed files cannot be relied on",
                path.display()
            );
            Some(Checkup::new(what, Health::Doubtful, unsure).mended_by(mend))
        }
        kind => of_passing(what, path, kind, mend),
    }
}

fn of_passing(what: &str, path: &Path, kind: FileSystem, mend: &str) -> Option<Checkup> {
    let FileSystem::Passing { kind, until } = kind else {
        return None;
    };
    let gone = format!(
        "`{}` is on {kind}: all of it is gone {until}",
        path.display()
    );
    Some(Checkup::new(what, Health::Doubtful, gone).mended_by(mend))
}

/// The file system of the path; a folder that does not exist yet will be on its parent's.
fn judged(path: &Path) -> Result<FileSystem, String> {
    let there = path.ancestors().find(|it| it.exists());
    let there = there.unwrap_or(Path::new("/"));
    let kind = file_system_of(there);
    kind.map_err(|error| {
        format!(
            "cannot tell the file system of `{}`: {error}",
            there.display()
        )
    })
}
