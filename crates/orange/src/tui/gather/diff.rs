//! Turns a diff into files with styled lines.

use std::os::unix::ffi::OsStrExt as _;

use orange_driver::{BranchDiff, DiffPart};
use ratatui::text::{Line, Span};

use super::diff_paths::paths;
use crate::tui::fit::cut;
use crate::tui::model::detail::{Content, File};
use crate::tui::theme::{Theme, Tone};

pub(super) fn diff(difference: &BranchDiff, theme: Theme) -> Content {
    let mut all = files(&difference.committed, theme);
    let mut uncommitted = Vec::new();
    if let Some(part) = &difference.uncommitted {
        uncommitted = files(part, theme);
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

fn files(part: &DiffPart, theme: Theme) -> Vec<File> {
    let text = String::from_utf8_lossy(&part.text);
    let mut files: Vec<File> = Vec::new();
    let mut is_header = false;
    for line in text.lines() {
        if line.starts_with("diff --git ") {
            is_header = true;
            files.push(File {
                path: String::new(),
                size: String::new(),
                lines: Vec::new(),
            });
        }
        let Some(file) = files.last_mut() else {
            continue;
        };
        is_header &= !line.starts_with("@@");
        let tone = match line.as_bytes().first() {
            _ if line.starts_with("diff --git ") => continue,
            _ if is_header && repeats_path(line) => continue,
            Some(b'+') => Tone::Added,
            Some(b'-') => Tone::Removed,
            Some(b'@') => Tone::Place,
            Some(b' ') => Tone::Plain,
            _ => Tone::Dim,
        };
        let line = cut(&line.replace('\t', "    "), usize::MAX);
        file.lines
            .push(Line::from(Span::styled(line, theme.style(tone))));
    }
    // Find the numbers by path, not by position: a renamed file is one file in the text, but two in
    // `part.files`.
    let numbers = &part.files;
    for (file, path) in files.iter_mut().zip(paths(&text)) {
        let number = numbers
            .iter()
            .find(|it| it.path.as_os_str().as_bytes() == path);
        file.size = match number.map(|it| (it.added, it.removed)) {
            Some((Some(added), Some(removed))) => format!("+{added} -{removed}"),
            Some(_) => String::from("binary"),
            None => String::new(),
        };
        file.path = cut(&String::from_utf8_lossy(&path), usize::MAX);
    }
    files
}

/// Whether a line before the first hunk holds only the file's name or its object ids.
fn repeats_path(line: &str) -> bool {
    let begins = ["+++ ", "--- ", "index "];
    begins.iter().any(|begin| line.starts_with(begin))
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
        let Content::Files(files) = diff(&difference, Theme::Plain) else {
            panic!("no file");
        };
        let lines: Vec<String> = files[0].lines.iter().map(ToString::to_string).collect();
        let expected = [
            "new file mode 100644",
            "@@ -0,0 +1,2 @@",
            "+Bonjour",
            "+++ tout",
        ];
        assert_eq!(
            (files[0].path.as_str(), lines),
            ("words/fr", expected.map(str::to_owned).to_vec())
        );
    }
}
