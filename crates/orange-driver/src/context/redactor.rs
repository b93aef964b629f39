//! The redactor that knows the user's own secrets.

use std::ffi::OsStr;

use orange_effects::forge::redact::Redactor;
use orange_effects::forge::token::Token;

use crate::context::Context;

/// The parts of a variable's name that mark its value as a secret.
const SECRET_NAMES: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];

impl Context {
    /// A redactor that removes this token, these texts, and the values of variables that look like
    /// secrets.
    pub(crate) fn redactor(&self, token: Option<&Token>, texts: &[&str]) -> Redactor {
        let mut variables = self.environment.variables().clone();
        let saved = self.saved_environment();
        variables.extend(saved.into_iter().flat_map(|it| it.variables().clone()));
        let is_secret = |name: &OsStr| {
            let name = name.to_string_lossy().to_uppercase();
            SECRET_NAMES.iter().any(|part| name.contains(part))
        };
        let secrets = variables.iter().filter(|(name, _)| is_secret(name));
        let secrets = secrets.filter_map(|(_, value)| value.to_str());
        Redactor::new(token, secrets.chain(texts.iter().copied()))
    }
}
