//! Turns a diff into files with numbered lines.

use orange_driver::{BranchDiff, DiffPart};
use sha2::{Digest as _, Sha256};

use super::diff_paths::paths;
use crate::output::escape_controls;
use crate::tui::model::detail::Content;
use crate::tui::model::diff::{DiffLine, File, LineKind};

pub(super) fn diff(difference: &BranchDiff) -> Content {
    let mut all = files(&difference.committed);
    let mut uncommitted = Vec::new();
    if let Some(part) = &difference.uncommitted {
        uncommitted = files(part);
    }
    for file in &mut uncommitted {
        file.path += " (not committed)";
    }
    all.extend(uncommitted);
    if all.is_empty() {
        return Content::Nothing(String::from("no changes yet"));
    }
    Content::Files(all)
}

fn files(part: &DiffPart) -> Vec<File> {
    let text = String::from_utf8_lossy(&part.text);
    let mut files: Vec<File> = Vec::new();
    let mut is_header = false;
    let mut numbers = LineNumbers::default();
    for line in text.lines() {
        if line.starts_with("diff --git ") {
            is_header = true;
            files.push(File {
                path: String::new(),
                size: String::new(),
                digest: String::new(),
                lines: Vec::new(),
            });
            continue;
        }
        let Some(file) = files.last_mut() else {
            continue;
        };
        is_header &= !line.starts_with("@@");
        if is_header && repeats_path(line) {
            continue;
        }
        let kind = match line.as_bytes().first() {
            Some(b'@') if !is_header => LineKind::Hunk,
            Some(b'+') if !is_header => LineKind::Added,
            Some(b'-') if !is_header => LineKind::Removed,
            Some(b' ') if !is_header => LineKind::Context,
            _ => LineKind::Note,
        };
        let text = match kind.sign() {
            Some(_) => line.get(1..).unwrap_or_default(),
            None => line,
        };
        file.lines.push(DiffLine {
            kind,
            text: plain(text),
            number: numbers.next(kind, line),
        });
    }
    for (file, digest) in files.iter_mut().zip(digests(&part.text)) {
        file.digest = digest;
    }
    for (file, path) in files.iter_mut().zip(paths(&text)) {
        file.size = size(file);
        file.path = plain(&String::from_utf8_lossy(&path));
    }
    files
}

/// How many lines the diff of a file adds and removes. They are counted here, because in
/// `part.files` a renamed file is one file that was removed and another that was added.
fn size(file: &File) -> String {
    let is_binary = |it: &DiffLine| it.kind == LineKind::Note && it.text.starts_with("Binary ");
    if file.lines.iter().any(is_binary) {
        return String::from("binary");
    }
    let count = |kind: LineKind| file.lines.iter().filter(|it| it.kind == kind).count();
    let (added, removed) = (count(LineKind::Added), count(LineKind::Removed));
    format!("+{added} -{removed}")
}

/// A digest of each file's diff. SHA-256, because an agent must not be able to change a file that
/// the user has viewed without the file losing its mark.
fn digests(text: &[u8]) -> Vec<String> {
    let mut digests: Vec<Sha256> = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            digests.push(Sha256::new());
        }
        if let Some(last) = digests.last_mut() {
            last.update(line);
        }
    }
    let digits = |digest: Sha256| {
        let bytes = digest.finalize();
        bytes
            .iter()
            .fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"))
    };
    digests.into_iter().map(digits).collect()
}

/// The text without tabs and without characters that act on a terminal. Right-to-left text is not
/// isolated yet: a line may be wrapped within it.
fn plain(text: &str) -> String {
    let text = text.replace('\t', "    ");
    escape_controls(&text).replace(['\u{2068}', '\u{2069}'], "")
}

/// The numbers of the next lines in the old and in the new file.
#[derive(Default)]
struct LineNumbers {
    old: u32,
    new: u32,
}

impl LineNumbers {
    /// The number of a line of the file; the first line of a hunk sets the numbers.
    fn next(&mut self, kind: LineKind, line: &str) -> Option<u32> {
        let counter = match kind {
            LineKind::Note => return None,
            LineKind::Hunk => {
                let start = |word: Option<&str>| {
                    let number = word?.get(1..)?.split(',').next()?;
                    number.parse().ok()
                };
                let mut words = line.split(' ').skip(1);
                self.old = start(words.next()).unwrap_or(0);
                self.new = start(words.next()).unwrap_or(0);
                return None;
            }
            LineKind::Context => {
                self.old = self.old.saturating_add(1);
                &mut self.new
            }
            LineKind::Added => &mut self.new,
            LineKind::Removed => &mut self.old,
        };
        let number = *counter;
        *counter = counter.saturating_add(1);
        Some(number)
    }
}

/// Whether a line before the first hunk holds only the file's name or its object ids.
fn repeats_path(line: &str) -> bool {
    let prefixes = ["+++ ", "--- ", "index "];
    prefixes.iter().any(|begin| line.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use orange_engine::names::CommitId;

    use super::*;

    #[test]
    fn a_new_file_shows_its_lines_and_not_its_header() {
        let text = "diff --git a/words/fr b/words/fr\nnew file mode 100644\n\
                    index 0000000..632e4fe\n--- /dev/null\n+++ b/words/fr\n\
                    @@ -0,0 +1,2 @@\n+Bonjour\n+++ tout\n";
        let difference = BranchDiff {
            base: CommitId::new("a"),
            head: CommitId::new("b"),
            commits: 1,
            committed: DiffPart {
                text: text.as_bytes().to_vec(),
                ..DiffPart::default()
            },
            uncommitted: None,
        };
        let Content::Files(files) = diff(&difference) else {
            panic!("no file");
        };
        let lines = files[0].lines.iter();
        let lines: Vec<_> = lines.map(|it| (it.text.as_str(), it.number)).collect();
        let expected = [
            ("new file mode 100644", None),
            ("@@ -0,0 +1,2 @@", None),
            ("Bonjour", Some(1)),
            ("++ tout", Some(2)),
        ];
        assert_eq!(
            (files[0].path.as_str(), lines),
            ("words/fr", expected.to_vec())
        );
    }

    #[test]
    fn a_file_has_the_size_of_its_own_diff() {
        let text = "diff --git a/old b/new\nsimilarity index 90%\nrename from old\nrename to new\n\
                    --- a/old\n+++ b/new\n@@ -1,2 +1,2 @@\n same\n-one\n+two\n\
                    diff --git a/x b/x\nBinary files a/x and b/x differ\n";
        let part = DiffPart {
            text: text.as_bytes().to_vec(),
            ..DiffPart::default()
        };
        let found = files(&part);
        let sizes = found.iter().map(|it| it.size.as_str());
        assert_eq!(sizes.collect::<Vec<_>>(), ["+1 -1", "binary"]);
    }

    #[test]
    fn every_line_has_its_number_and_no_tab_or_escape_code() {
        let text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,3 +4,3 @@ fn f\n one\n\
                    -\ttwo\n+z\u{1b}[2Jwei\n three\n\\ No newline at end of file\n";
        let part = DiffPart {
            text: text.as_bytes().to_vec(),
            ..DiffPart::default()
        };
        let lines = files(&part).remove(0).lines;
        let lines: Vec<_> = lines
            .iter()
            .map(|it| (it.text.as_str(), it.number))
            .collect();
        let expected = [
            ("@@ -3,3 +4,3 @@ fn f", None),
            ("one", Some(4)),
            ("    two", Some(4)),
            ("z\u{fffd}[2Jwei", Some(5)),
            ("three", Some(6)),
            ("\\ No newline at end of file", None),
        ];
        assert_eq!(lines, expected);
    }
}
