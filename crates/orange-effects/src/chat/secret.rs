//! The token of a chat: from a file or variable, never shown.

use std::fmt;
use std::path::Path;

use orange_config::Environment;

use crate::forge::redact::REDACTED;
use crate::private_file;

/// The largest token file.
const MAX_BYTES: u64 = 4096;

/// A token. Neither `Debug` nor an error shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The token in a file that only the user can read, else in a variable. Fails with the reason.
    pub fn find(
        file: Option<&Path>,
        environment: &Environment,
        variable: &'static str,
    ) -> Result<Secret, String> {
        if let Some(file) = file {
            let text = private_file::read(file, MAX_BYTES).map_err(|error| error.to_string())?;
            return Secret::new(&String::from_utf8_lossy(&text))
                .ok_or_else(|| format!("`{}` does not hold a token", file.display()));
        }
        let value = environment.variable(variable);
        let value = value.ok_or_else(|| format!("there is no token: set `{variable}`"))?;
        let token = Secret::new(&value.to_string_lossy());
        token.ok_or_else(|| format!("`{variable}` is not a token"))
    }

    /// A token that fits a header and a path: one word of plain characters.
    pub fn new(text: &str) -> Option<Secret> {
        let text = text.trim();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.~:=+".contains(c);
        let is_token = text.len() >= 8 && text.chars().all(is_plain);
        is_token.then(|| Secret(text.to_owned()))
    }

    /// The token itself, for a request or the redactor.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A text without the token.
    pub(super) fn hide(&self, text: &str) -> String {
        text.replace(&self.0, REDACTED)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}
