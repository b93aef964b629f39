//! Reports for errors of the web API's devices.

use std::path::Path;

use serde_json::json;

use super::report::{Kind, Report};

pub(super) fn no_device() -> Report {
    Report::new(Kind::NotFound, "device-not-found").hint("run `orange web devices` to list them")
}

pub(super) fn device_exists(name: &str) -> Report {
    Report::new(Kind::Refused, "device-exists").hint(format!(
        "choose another name, or revoke that device with `orange web revoke {name}`"
    ))
}

pub(super) fn devices_full() -> Report {
    Report::new(Kind::Refused, "devices-full")
        .hint("revoke devices that you no longer use with `orange web revoke NAME`")
}

pub(super) fn devices_untrusted(path: &Path, reason: &str) -> Report {
    let path = path.to_string_lossy();
    Report::new(Kind::Refused, "devices-untrusted")
        .hint(format!(
            "look at it with `ls -ld {path}`; if you cannot say how it got so, delete it, and pair \
             your devices again"
        ))
        .details(json!({ "path": path, "reason": reason }))
}
