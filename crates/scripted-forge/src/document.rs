//! Parses and validates GraphQL documents.

use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};

/// From the message about the rule of the specification that GitHub does not apply, and that
/// queries of `gh` break.
const NOT_APPLIED: &str = "must not select different types using the same name";

/// Parses a document; the error says what is wrong with it. GitHub is laxer than the specification:
/// with `lax`, a response key may stand for different types in different branches.
pub fn parse(
    schema: &Valid<Schema>,
    text: &str,
    lax: bool,
) -> Result<Valid<ExecutableDocument>, Vec<String>> {
    let found = match ExecutableDocument::parse_and_validate(schema, text, "query") {
        Ok(document) => return Ok(document),
        Err(found) => found,
    };
    let errors: Vec<String> = found.errors.iter().map(|it| it.error.to_string()).collect();
    if lax && errors.iter().all(|it| it.contains(NOT_APPLIED)) {
        return Ok(Valid::assume_valid(found.partial));
    }
    Err(errors)
}
