//! One idea per file, usually below 400 lines, never above 600.

use crate::source::Source;
use crate::verdict::Violation;

/// One idea per file, usually below 400 lines. An idea may need more; above this limit a file has
/// more than one.
const LIMIT: usize = 600;

/// A violation when the file has too many lines that are not tests.
pub fn check(source: &Source) -> Vec<Violation> {
    let count = source.text.lines().count();
    let live: Vec<usize> = (1..=count)
        .filter(|line| !source.is_test_line(*line))
        .collect();
    let Some(first_over) = live.get(LIMIT) else {
        return Vec::new();
    };
    let rule = format!(
        "{} lines without tests, at most {LIMIT}: split it by concept",
        live.len()
    );
    vec![Violation::new(&source.path, *first_over, rule)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::lines_of;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        lines_of(&check(&Source::new(path, text)))
    }

    #[test]
    fn a_long_file_is_found() {
        let path = "crates/orange/src/cli/mod.rs";
        assert_eq!(lines(path, &"// a\n".repeat(LIMIT)).len(), 0);
        assert_eq!(lines(path, &"// a\n".repeat(LIMIT + 1)), [LIMIT + 1]);
    }

    #[test]
    fn test_items_do_not_count_and_what_follows_them_does() {
        let path = "crates/orange/src/cli/mod.rs";
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "// a\n".repeat(LIMIT));
        assert_eq!(lines(path, &tests).len(), 0);
        let early = format!("#[cfg(test)]\nuse a::b;\n{}", "// a\n".repeat(LIMIT + 1));
        assert_eq!(lines(path, &early), [LIMIT + 3]);
    }

    #[test]
    fn tests_benches_and_fuzz_targets_are_exempt() {
        let long = "// a\n".repeat(LIMIT + 1);
        for path in [
            "crates/orange/tests/a.rs",
            "crates/orange-engine/benches/a.rs",
            "fuzz/a.rs",
        ] {
            assert_eq!(lines(path, &long).len(), 0, "{path}");
        }
    }
}
