//! The secret with which GitHub signs its webhooks.

use std::path::PathBuf;

use orange_effects::private_file;
use serde::{Deserialize, Serialize};

use super::devices::{file_error, read, write};
use crate::DriverError;
use crate::context::ids;
use crate::web::Web;

/// The file of the secret.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretFile {
    secret: String,
}

impl Web {
    /// The secret; `None` while webhooks are off. Fails if another user could have read or written
    /// its file.
    pub fn webhook_secret(&self) -> Result<Option<String>, DriverError> {
        let path = self.secret_path();
        if !path.exists() && !path.is_symlink() {
            return Ok(None);
        }
        let file: SecretFile = read(&path)?;
        Ok(Some(file.secret))
    }

    /// Turns webhooks on. Returns the secret: the known one, unless a new one is to replace it.
    pub fn turn_webhooks_on(&self, is_new: bool) -> Result<String, DriverError> {
        self.callers.require_user("accept webhooks")?;
        if !is_new && let Some(secret) = self.webhook_secret()? {
            return Ok(secret);
        }
        let path = self.secret_path();
        let made = private_file::make_folder(&path);
        made.map_err(|error| file_error("make the folder of", &path, error.to_string()))?;
        let secret = ids::secret()?;
        let file = SecretFile {
            secret: secret.clone(),
        };
        write(&path, &file)?;
        Ok(secret)
    }

    /// Turns webhooks off: the secret is deleted.
    pub fn turn_webhooks_off(&self) -> Result<(), DriverError> {
        self.callers.require_user("refuse webhooks")?;
        let path = self.secret_path();
        let removed = private_file::remove(&path);
        removed.map_err(|error| file_error("delete", &path, error.to_string()))
    }

    fn secret_path(&self) -> PathBuf {
        self.context.home.web().join("webhook-secret")
    }
}
