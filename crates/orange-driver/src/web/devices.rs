//! Devices of the web API, and the codes that pair them.
//!
//! Each device and each code is a file of its own, named after the device or after the hash of the
//! code. Revoking a device deletes its file, and nothing ever writes that file again: a use of the
//! device only changes the time of the file, which fails once the file is gone. A code is
//! used by deleting its file, which only one process can do; so it pairs one device.

use std::fs::{self, File};
use std::hint::black_box;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_config::{clock, reason};
use orange_effects::private_file::{self, PrivateFileError};
use orange_engine::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::DriverError;
use crate::context::ids;
use crate::web::Web;

/// How long a code can be used.
const CODE_LIFETIME: Duration = Duration::from_mins(10);

/// How precisely the last use of a device is noted.
const USE_PRECISION: Duration = Duration::from_mins(1);

/// The most devices, and the most codes that wait.
const MAX_DEVICES: usize = 100;
const MAX_CODES: usize = 20;

const MAX_NAME: usize = 40;

/// The largest file of a device that is read.
const MAX_FILE: u64 = 16 * 1024;

/// What a device may do; a later one includes the earlier ones.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum DeviceScope {
    /// Ask questions.
    Read,
    /// Also do what the user may do with tasks, notes, jobs and issues.
    Act,
}

/// A device that was paired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Device {
    /// Its name.
    pub name: String,
    pub scope: DeviceScope,
    /// When it was paired.
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    pub seen_at: Timestamp,
    /// Names this pairing: another device of the same name has another one.
    #[serde(skip)]
    pub id: String,
}

/// A code that pairs a device, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairingCode {
    pub code: String,
    pub expires_at: Timestamp,
}

/// A device that was just paired. Its token is shown only here, and only its hash is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairedDevice {
    pub name: String,
    pub scope: DeviceScope,
    pub token: String,
}

/// The file of a device.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceFile {
    name: String,
    scope: DeviceScope,
    /// The SHA-256 of its token.
    token_hash: String,
    created_at: Timestamp,
}

/// The file of a code.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeFile {
    name: String,
    scope: DeviceScope,
    expires_at: Timestamp,
}

impl Web {
    /// A new code with which one device of this name can be paired; an earlier one for this name
    /// can no longer be used.
    pub fn add_code(&self, name: &str, scope: DeviceScope) -> Result<PairingCode, DriverError> {
        self.callers.require_user("pair a device")?;
        require_name(name)?;
        self.require_folders()?;
        self.require_free(name)?;
        self.remove_codes(name)?;
        if names_in(&self.codes())?.len() >= MAX_CODES {
            let what = "too many codes wait; each expires after 10 minutes";
            return Err(DriverError::DevicesFull { what });
        }
        let (code, expires_at) = (ids::secret()?, clock::after(CODE_LIFETIME));
        let file = CodeFile {
            name: name.to_owned(),
            scope,
            expires_at,
        };
        write(&self.codes().join(ids::hash(&code)), &file)?;
        Ok(PairingCode { code, expires_at })
    }

    /// Pairs the device that presents this code; `None` if the code is unknown, used or expired.
    pub fn pair(&self, code: &str) -> Result<Option<PairedDevice>, DriverError> {
        self.require_folders()?;
        let path = self.codes().join(ids::hash(code));
        if !path.exists() {
            return Ok(None);
        }
        let file: CodeFile = read(&path)?;
        if fs::remove_file(&path).is_err() || file.expires_at <= clock::now() {
            return Ok(None);
        }
        self.require_free(&file.name)?;
        let token = ids::secret()?;
        let device = DeviceFile {
            name: file.name,
            scope: file.scope,
            token_hash: ids::hash(&token),
            created_at: clock::now(),
        };
        write(&self.devices_folder().join(&device.name), &device)?;
        Ok(Some(PairedDevice {
            name: device.name,
            scope: device.scope,
            token,
        }))
    }

    /// Every device, by name. Fails if another user could have written one of the files.
    pub fn devices(&self) -> Result<Vec<Device>, DriverError> {
        let files = self.device_files()?.into_iter();
        let mut devices: Vec<Device> = files.map(|(path, file)| device(&path, file)).collect();
        devices.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(devices)
    }

    /// The device with this token. Compares with every device, so that the time it takes says
    /// nothing about any of them.
    pub fn find_device(&self, token: &str) -> Result<Option<Device>, DriverError> {
        let hash = ids::hash(token);
        let mut found = None;
        for (path, file) in self.device_files()? {
            if is_equal(&hash, &file.token_hash) {
                found = Some((path, file));
            }
        }
        let Some((path, file)) = found else {
            return Ok(None);
        };
        let device = device(&path, file);
        if clock::now().seconds_since(device.seen_at) >= USE_PRECISION.as_secs() {
            // Only the time of an existing file changes, so this cannot bring back a device that is
            // revoked meanwhile. A time that cannot be noted is no reason to refuse the device.
            let _unnoted = File::open(&path).and_then(|file| file.set_modified(clock::system()));
        }
        Ok(Some(device))
    }

    /// Revokes a device, or the code that would pair it: neither can be used from now on.
    pub fn revoke(&self, name: &str) -> Result<(), DriverError> {
        self.callers.require_user("revoke a device")?;
        require_name(name)?;
        // First the code, so that nothing pairs the device again.
        let had_code = self.remove_codes(name)?;
        let path = self.devices_folder().join(name);
        match fs::remove_file(&path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && had_code => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(DriverError::NoDevice(name.to_owned()))
            }
            Err(error) => Err(file_error("delete", &path, reason(&error))),
        }
    }

    fn device_files(&self) -> Result<Vec<(PathBuf, DeviceFile)>, DriverError> {
        let folder = self.devices_folder();
        let mut found = Vec::new();
        for name in names_in(&folder)? {
            let path = folder.join(&name);
            match read::<DeviceFile>(&path) {
                Ok(file) if file.name == name => found.push((path, file)),
                Ok(_) => {
                    let what = String::from("it names another device");
                    return Err(untrusted(&path, what));
                }
                // It was revoked meanwhile.
                Err(_) if !path.exists() && !path.is_symlink() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    fn require_free(&self, name: &str) -> Result<(), DriverError> {
        let names = names_in(&self.devices_folder())?;
        if names.iter().any(|it| it == name) {
            return Err(DriverError::DeviceExists(name.to_owned()));
        }
        if names.len() >= MAX_DEVICES {
            let what = "too many devices are paired";
            return Err(DriverError::DevicesFull { what });
        }
        Ok(())
    }

    /// Removes the codes that have expired and those for a device; whether there was one for it.
    fn remove_codes(&self, device: &str) -> Result<bool, DriverError> {
        let mut had_code = false;
        for name in names_in(&self.codes())? {
            let path = self.codes().join(name);
            let Ok(code) = read::<CodeFile>(&path) else {
                continue;
            };
            let (is_expired, is_for_it) = (code.expires_at <= clock::now(), code.name == device);
            if is_expired || is_for_it {
                // Another process may have used or removed it.
                let is_removed = fs::remove_file(&path).is_ok();
                had_code |= is_removed && is_for_it && !is_expired;
            }
        }
        Ok(had_code)
    }

    /// Makes the folders, which only the user may enter.
    fn require_folders(&self) -> Result<(), DriverError> {
        for folder in [self.devices_folder(), self.codes()] {
            let inside = folder.join("it");
            let made = private_file::make_folder(&inside);
            made.map_err(|error| file_error("make", &folder, error.to_string()))?;
        }
        Ok(())
    }

    fn devices_folder(&self) -> PathBuf {
        self.context.home.web().join("devices")
    }

    fn codes(&self) -> PathBuf {
        self.context.home.web().join("codes")
    }
}

fn device(path: &Path, file: DeviceFile) -> Device {
    let modified = fs::metadata(path).and_then(|it| it.modified());
    Device {
        name: file.name,
        scope: file.scope,
        created_at: file.created_at,
        seen_at: modified.map_or(file.created_at, clock::stamp),
        id: file.token_hash,
    }
}

/// Whether two hashes are equal, in a time that does not depend on where they differ.
fn is_equal(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    let difference = pairs.fold(0, |found, (a, b)| black_box(found | (a ^ b)));
    one.len() == other.len() && difference == 0
}

/// The names of the files in a folder that only the user can enter; none without it.
fn names_in(folder: &Path) -> Result<Vec<String>, DriverError> {
    let failed = |error: io::Error| file_error("read", folder, reason(&error));
    let metadata = match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(failed)?,
    };
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_dir() || !is_own || metadata.mode() & 0o077 != 0 {
        let what = "it is not a directory that only you can read";
        return Err(untrusted(folder, what.to_owned()));
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let name = name.to_string_lossy().into_owned();
        // A file that is being written begins with a dot.
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    Ok(names)
}

fn require_name(name: &str) -> Result<(), DriverError> {
    let is_part = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
    let is_valid = !name.starts_with('-') && name.chars().all(is_part);
    if is_valid && !name.is_empty() && name.len() <= MAX_NAME {
        return Ok(());
    }
    Err(DriverError::NameInvalid {
        what: "the name of a device",
        value: name.to_owned(),
        reason: "it may have lowercase letters, digits and dashes, at most 40",
        hint: "for example `orange web pair phone`",
    })
}

pub(super) fn write(path: &Path, file: &impl Serialize) -> Result<(), DriverError> {
    let bytes = serde_json::to_vec(file);
    let bytes = bytes.map_err(|error| file_error("write", path, error.to_string()))?;
    let written = private_file::write(path, &bytes);
    written.map_err(|error| file_error("write", path, private_reason(error)))
}

pub(super) fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, DriverError> {
    let bytes = private_file::read(path, MAX_FILE);
    let bytes = bytes.map_err(|error| untrusted(path, private_reason(error)))?;
    let parsed = serde_json::from_slice(&bytes);
    parsed.map_err(|error| file_error("read", path, error.to_string()))
}

fn private_reason(error: PrivateFileError) -> String {
    match error {
        PrivateFileError::System { reason, .. } => reason,
        PrivateFileError::NotRegular { .. } => String::from("it is not a regular file"),
        PrivateFileError::NotOwned { .. } => String::from("it belongs to another user"),
        PrivateFileError::Exposed { .. } => String::from("other users can access it"),
        other => other.to_string(),
    }
}

fn untrusted(path: &Path, reason: String) -> DriverError {
    DriverError::DevicesUntrusted {
        path: path.to_owned(),
        reason,
    }
}

pub(super) fn file_error(attempt: &'static str, path: &Path, reason: String) -> DriverError {
    DriverError::File {
        attempt,
        path: path.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_compared_as_a_whole() {
        assert!(is_equal("abc", "abc"));
        for other in ["abd", "xbc", "ab", "abcd", ""] {
            assert!(!is_equal("abc", other), "{other}");
        }
    }

    #[test]
    fn a_name_is_never_a_path_or_an_option() {
        for good in ["phone", "my-phone-2"] {
            assert!(require_name(good).is_ok(), "{good}");
        }
        let long = "a".repeat(MAX_NAME + 1);
        for bad in ["", "-x", "../x", "a/b", ".x", "A", "a b", "a\0", &long] {
            assert!(require_name(bad).is_err(), "{bad}");
        }
    }
}
