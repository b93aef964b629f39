//! Rejects meaningless names for files and folders.

use std::path::Path;

use crate::verdict::Violation;

const EMPTY_WORDS: [&str; 12] = [
    "common", "commons", "helper", "helpers", "manager", "managers", "misc", "service", "services",
    "stuff", "util", "utils",
];

/// A violation when the last part of a path contains a meaningless word.
pub fn check(path: &str) -> Vec<Violation> {
    let is_code = path.starts_with("crates/") || path.starts_with("fuzz/");
    let stem = Path::new(path)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    let empty = stem
        .split(['_', '-', '.'])
        .find(|word| EMPTY_WORDS.contains(word));
    let Some(word) = empty.filter(|_| is_code) else {
        return Vec::new();
    };
    vec![Violation::new(
        path,
        1,
        format!("`{word}` says nothing: name the concept"),
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_words_are_found_in_files_and_folders() {
        for word in EMPTY_WORDS {
            assert_eq!(
                check(&format!("crates/orange/src/{word}.rs")).len(),
                1,
                "{word}"
            );
            assert_eq!(
                check(&format!("crates/orange/tests/{word}")).len(),
                1,
                "{word}"
            );
            assert_eq!(check(&format!("fuzz/task_{word}.rs")).len(), 1, "{word}");
        }
        assert_eq!(check("crates/orange/src/TaskManager_Service").len(), 1);
    }

    #[test]
    fn words_that_only_contain_one_are_exempt() {
        for path in [
            "crates/orange/src/commonmark.rs",
            "crates/orange/src/utility_bill.rs",
        ] {
            assert_eq!(check(path).len(), 0, "{path}");
        }
    }
}
