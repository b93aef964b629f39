//! Tells the user about a project that was registered for a task.

use orange_driver::{Driver, Registration};

use crate::cli::project::add::warn_unread_filters;
use crate::output::{Output, Style, Text};

pub fn narrate_registration(driver: &Driver, registration: &Registration, output: &mut Output) {
    let project = &registration.project;
    let (name, path) = (&project.name, project.path.display());
    let branch = &project.default_branch;
    let harness = &registration.harness;
    let width = output.narration_width();
    let mut text = Text::new();
    let message = format!(
        "registered `{path}` as project `{name}` with the default branch `{branch}` and the \
         harness `{harness}`; `orange project update --help` says how to change these settings"
    );
    text.push_line(&[(Style::Plain, &message)], 4, width);
    if let Some(permissions) = &registration.permissions {
        text.push_line(&[(Style::Plain, &permissions.to_string())], 4, width);
    }
    output.narrate(&text);
    warn_unread_filters(driver, project, output);
}
