//! Runs the real `gh` against a forge, without any network.
#![expect(
    clippy::disallowed_methods,
    reason = "this crate is for tests, and starts gh as a user would"
)]

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::forge::Forge;
use crate::packages::{find, installed};
use crate::stop::stop;

/// The real `gh` with an empty environment, its own home, and no network: it reaches the forge by a
/// socket of the file system.
#[derive(Debug)]
pub struct Gh {
    program: PathBuf,
    home: PathBuf,
    token: String,
}

impl Gh {
    /// The installed `gh`, with this token. Without it, the test of this name is skipped.
    pub fn find(test: &str, forge: &Forge, token: &str) -> Option<Self> {
        let program = find(test, installed().join("bin/gh"))?;
        let home = forge.folder().join("home");
        let config = home.join(".config/gh");
        let socket = forge.socket();
        let text = format!("version: \"1\"\nhttp_unix_socket: {}\n", socket.display());
        let written =
            fs::create_dir_all(&config).and_then(|()| fs::write(config.join("config.yml"), text));
        if let Err(error) = written {
            stop(&format!("cannot configure gh: {error}"));
        }
        Some(Self {
            program,
            home,
            token: token.to_owned(),
        })
    }

    /// What `gh` prints; it must succeed.
    #[track_caller]
    pub fn call(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("unshare");
        if !fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0) {
            command.arg("--map-root-user");
        }
        command.arg("--net").arg(&self.program).args(arguments);
        let path = env::var_os("PATH").unwrap_or_default();
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", &self.home)
            .env("GH_TOKEN", &self.token)
            .env("GH_PROMPT_DISABLED", "1")
            .env("GH_NO_UPDATE_NOTIFIER", "1")
            .current_dir(&self.home);
        match command.output() {
            Ok(output) if output.status.success() => {
                String::from_utf8_lossy(&output.stdout).into_owned()
            }
            Ok(output) => {
                let error = String::from_utf8_lossy(&output.stderr);
                stop(&format!("`gh {}`: {error}", arguments.join(" ")))
            }
            Err(error) => stop(&format!("cannot start gh: {error}")),
        }
    }

    /// The JSON that `gh` prints.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let text = self.call(arguments);
        let parsed = serde_json::from_str(&text);
        parsed.unwrap_or_else(|error| stop(&format!("`gh {}`: {error}", arguments.join(" "))))
    }
}
