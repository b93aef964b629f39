//! Asks a person before something that may not be wanted.

use crate::cli::Error;
use crate::output::Output;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    Given,
    Denied,
    Nobody,
}

/// Asks whether to go on. The question says what will be touched and what is kept; only a person at
/// a terminal is asked, and anything but yes is no.
pub fn consent(question: &str, output: &mut Output) -> Result<Consent, Error> {
    if output.is_json() || !output.has_person() {
        return Ok(Consent::Nobody);
    }
    let typed = output.ask(&format!("{question} [y/N] "))?;
    let typed = typed.unwrap_or_default().trim().to_lowercase();
    Ok(if matches!(typed.as_str(), "y" | "yes") {
        Consent::Given
    } else {
        Consent::Denied
    })
}
