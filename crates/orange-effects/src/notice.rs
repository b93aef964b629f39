//! Notifies the user through programs that are installed.
//!
//! The text never goes through a shell.

use std::time::Duration;

use orange_config::Environment;

use super::command::{CommandError, Invocation};

/// Timeout for a desktop notification.
const DESKTOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Shows a notification on the desktop.
pub fn show_on_desktop(
    environment: &Environment,
    title: &str,
    text: &str,
) -> Result<(), CommandError> {
    let display = ["DISPLAY", "WAYLAND_DISPLAY"];
    let notification = if cfg!(target_os = "macos") {
        let script = [
            "-e",
            "on run argv",
            "-e",
            "display notification (item 2 of argv) with title (item 1 of argv)",
            "-e",
            "end run",
        ];
        let osascript = Invocation::new("osascript", environment.passed_variables([]));
        osascript.arguments(script).arguments([title, text])
    } else {
        let notify_send = Invocation::new("notify-send", environment.passed_variables(display));
        notify_send.arguments(["--app-name=orange", "--", title, text])
    };
    notification.timeout(DESKTOP_TIMEOUT).require_success()?;
    Ok(())
}
