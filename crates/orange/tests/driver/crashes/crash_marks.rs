//! Which marks count, and at which a process dies.

use std::fs;

use crate::support::Stage;

/// Chooses the marks that count, and those at which a process is killed.
pub fn set_crash_marks(stage: &Stage, steps: &[&str], deaths: &[usize]) {
    let folder = stage.path("home/crash-points");
    fs::create_dir_all(&folder).unwrap();
    let steps = steps.iter().map(|step| format!("{step}\n"));
    let deaths = deaths.iter().map(|death| format!("{death}\n"));
    let orders: String = steps.chain(deaths).collect();
    fs::write(folder.join("orders"), orders).unwrap();
}

/// The marks that were reached, in order.
pub fn reached_marks(stage: &Stage) -> Vec<String> {
    let path = stage.path("home/crash-points/reached");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
