//! Lets the user describe a new task in their editor.

use orange_driver::Driver;

use super::usage_error;
use crate::cli::Error;
use crate::output::Output;

/// The line between the user's text and the explanation below it.
const SEPARATOR: &str = "# -------- everything below this line is ignored --------";

/// The text with which the editor opens when the user describes a task.
const TEMPLATE: &str = "\n\n# -------- everything below this line is ignored --------\n\
    # What should the agent do? Write the summary on the first line, and more context below it.\n\
    # If you write nothing, no task is created.\n";

/// Lets the user describe the task in their editor: the summary, and the context below it.
pub(super) fn describe_in_editor(driver: &Driver, output: &Output) -> Result<String, Error> {
    if output.is_json() || !output.is_interactive() {
        return Err(usage_error(
            "no summary was given, and there is no terminal for your editor",
        ));
    }
    let (text, failure) = driver.requests.edit_text(TEMPLATE)?;
    let text = text.split(SEPARATOR).next().unwrap_or_default().trim();
    if let Some(failure) = failure {
        let error = Error::from(failure);
        if text.is_empty() {
            return Err(error);
        }
        let path = driver.requests.keep_text(text)?;
        return Err(error.hint(format!("your text is in `{}`", path.display())));
    }
    if text.is_empty() {
        return Err(usage_error("you wrote nothing"));
    }
    Ok(text.to_owned())
}

/// Splits a text into the summary, its first line, and the context, the lines after it.
pub(super) fn split_summary(text: &str) -> (String, Option<String>) {
    let (summary, context) = text.split_once('\n').unwrap_or((text, ""));
    let context = context.trim();
    let context = (!context.is_empty()).then(|| context.to_owned());
    (summary.trim().to_owned(), context)
}
