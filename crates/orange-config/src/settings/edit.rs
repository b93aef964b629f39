//! Writes the user's decision to do without a sandbox.

use std::fs;
use std::io;
use std::path::PathBuf;

use toml_edit::{DocumentMut, value};

use super::Settings;
use crate::{Home, user_file};

impl Settings {
    /// Sets `sandbox.mode` to `off` in `config.toml` and leaves the rest of the file as it is.
    /// Returns the path of the file that was written.
    pub fn turn_sandbox_off(home: &Home) -> io::Result<PathBuf> {
        let path = home.settings();
        let _lock = user_file::lock(&path)?;
        // The file may be a link into a folder where the user keeps such files.
        let path = match fs::canonicalize(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => path,
            found => found?,
        };
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text?,
        };
        user_file::write(&path, &without_sandbox(&text)?)?;
        Ok(path)
    }
}

fn without_sandbox(text: &str) -> io::Result<String> {
    let document: Result<DocumentMut, _> = text.parse();
    let mut document = document.map_err(io::Error::other)?;
    let Some(table) = document.get_mut("sandbox") else {
        let gap = match text {
            "" => "",
            text if text.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        return Ok(format!("{text}{gap}[sandbox]\nmode = \"off\"\n"));
    };
    let table = table.as_table_like_mut();
    let table = table.ok_or_else(|| io::Error::other("`sandbox` is not a table"))?;
    table.insert("mode", value("off"));
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_written_and_the_rest_stays() {
        let cases = [
            ("", "[sandbox]\nmode = \"off\"\n"),
            ("# mine", "# mine\n\n[sandbox]\nmode = \"off\"\n"),
            (
                "# mine\nwait = \"8s\" # long\n",
                "# mine\nwait = \"8s\" # long\n\n[sandbox]\nmode = \"off\"\n",
            ),
            (
                "[sandbox]\n# why\nnetwork = \"list\"\n\n[pool]\nsize = 2\n",
                "[sandbox]\n# why\nnetwork = \"list\"\nmode = \"off\"\n\n[pool]\nsize = 2\n",
            ),
            (
                "sandbox.network = \"list\"\n",
                "sandbox.network = \"list\"\nsandbox.mode = \"off\"\n",
            ),
            (
                "[sandbox]\nmode = \"auto\"\n",
                "[sandbox]\nmode = \"off\"\n",
            ),
        ];
        for (before, after) in cases {
            assert_eq!(without_sandbox(before).unwrap(), after);
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_left_alone() {
        for text in ["sandbox = 3\n", "[sandbox\n"] {
            without_sandbox(text).unwrap_err();
        }
    }

    #[test]
    fn a_link_that_leads_nowhere_is_an_error_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let environment = crate::Environment::of([("ORANGE_HOME", folder.path())]);
        let home = Home::resolve(&environment).unwrap();
        std::os::unix::fs::symlink("/nowhere/mine.toml", home.settings()).unwrap();
        Settings::turn_sandbox_off(&home).unwrap_err();
        Settings::load(&home, &environment, None).unwrap_err();
        assert!(home.settings().is_symlink());
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let environment = crate::Environment::of([("ORANGE_HOME", folder.path().join("home"))]);
        let home = Home::resolve(&environment).unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        let real = folder.path().join("mine.toml");
        fs::write(&real, "wait = \"8s\"\n").unwrap();
        std::os::unix::fs::symlink(&real, home.settings()).unwrap();
        assert_eq!(
            Settings::turn_sandbox_off(&home).unwrap(),
            fs::canonicalize(&real).unwrap()
        );
        assert!(fs::symlink_metadata(home.settings()).unwrap().is_symlink());
        let written = fs::read_to_string(&real).unwrap();
        assert_eq!(written, "wait = \"8s\"\n\n[sandbox]\nmode = \"off\"\n");
    }
}
