//! Ids and secrets from the system's random source.

use std::fmt::Write as _;

use orange_engine::names::{FreshId, RequestId, TaskId};
use sha2::{Digest as _, Sha256};

use crate::DriverError;

/// Unambiguous letters and digits; 32 of them, so that each encodes five bits.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// How many characters of the alphabet are letters; an id begins with a letter.
const LETTERS: usize = 24;

/// The length of the shortest task id.
pub(crate) const SHORTEST: usize = 4;

/// A task id with this many characters.
pub(crate) fn task_id(length: usize) -> Result<TaskId, DriverError> {
    text(length).map(TaskId::new)
}

/// The id of a request; the user types it.
pub(crate) fn request_id(length: usize) -> Result<RequestId, DriverError> {
    text(length).map(RequestId::new)
}

/// A random id that no earlier input to the engine contained.
pub(crate) fn fresh() -> Result<FreshId, DriverError> {
    text(16).map(FreshId::new)
}

/// A secret that cannot be guessed.
pub(crate) fn secret() -> Result<String, DriverError> {
    text(32)
}

/// The token of a runner, in the form that servers expect.
pub(crate) fn runner_token() -> Result<String, DriverError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| DriverError::NoRandomness(error.to_string()))?;
    let mut token = String::from("orr_");
    for byte in bytes {
        let _infallible = write!(token, "{byte:02x}");
    }
    Ok(token)
}

/// An id for an agent's conversation: a random UUID, which is what agents accept.
pub(crate) fn session() -> Result<String, DriverError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| DriverError::NoRandomness(error.to_string()))?;
    let number = u128::from_be_bytes(bytes);
    let versioned = (number & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{versioned:032x}");
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    let parts = [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ];
    Ok(parts.join("-"))
}

/// The hash of a secret. Only the hash is stored.
pub(crate) fn hash(secret: &str) -> String {
    let mut digits = String::new();
    for byte in Sha256::digest(secret.as_bytes()) {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

fn text(length: usize) -> Result<String, DriverError> {
    let mut bytes = vec![0; length];
    getrandom::fill(&mut bytes).map_err(|error| DriverError::NoRandomness(error.to_string()))?;
    let characters = bytes.iter().enumerate().map(|(index, byte)| {
        let among = if index == 0 { LETTERS } else { ALPHABET.len() };
        let letter = ALPHABET.get(usize::from(*byte) % among);
        char::from(letter.copied().unwrap_or(b'a'))
    });
    Ok(characters.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_plain_and_differ() {
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let id = fresh().unwrap();
            assert!(id.as_str().starts_with(|it: char| it.is_ascii_lowercase()));
            assert!(id.as_str().bytes().all(|it| ALPHABET.contains(&it)));
            assert!(seen.insert(id));
        }
        assert_eq!(task_id(SHORTEST).unwrap().as_str().len(), SHORTEST);
        assert_eq!(hash("a").len(), 64);
        let session = session().unwrap();
        let parts: Vec<&str> = session.split('-').collect();
        assert_eq!(parts.iter().map(|it| it.len()).sum::<usize>(), 32);
        assert!(parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']));
    }
}
