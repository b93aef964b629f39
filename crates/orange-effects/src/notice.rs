//! Notifies the user through programs that are installed.
//!
//! The text never goes through a shell, and the address of a webhook, which is often a secret,
//! never appears in a process list.

use std::time::Duration;

use orange_config::Environment;

use super::command::{CommandError, Invocation};

/// Timeout for a desktop notification.
const DESKTOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for a webhook's response, in seconds, and for the program that calls it.
const RESPONSE_TIMEOUT_SECONDS: u64 = 10;
const POST_TIMEOUT: Duration = Duration::from_secs(15);

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

/// Posts JSON to a URL; only a response proves that it arrived.
pub fn post_webhook(
    environment: &Environment,
    address: &str,
    json: &str,
) -> Result<(), CommandError> {
    let settings = format!(
        "url = {}\nheader = \"Content-Type: application/json\"\ndata-binary = {}\nmax-time = \
         {RESPONSE_TIMEOUT_SECONDS}\nsilent\nshow-error\nfail\n",
        quote(address),
        quote(json)
    );
    let curl = Invocation::new("curl", environment.passed_variables([]));
    let curl = curl.arguments(["--disable", "--config", "-"]);
    curl.input(settings)
        .timeout(POST_TIMEOUT)
        .require_success()?;
    Ok(())
}

/// Quotes a text for a curl config file.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
