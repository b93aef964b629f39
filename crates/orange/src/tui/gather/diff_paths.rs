//! The path of each file in a diff, as git prints it.

/// The path of each file in a diff; of a renamed file, the new one.
///
/// A path is read from a line that holds only a path. A file without changed lines has such a line
/// only if it was renamed or copied. Otherwise the first line, which holds the path twice, is read.
pub(super) fn paths(text: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<Vec<u8>> = Vec::new();
    let mut is_header = false;
    for line in text.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            is_header = true;
            paths.push(repeated_path(names).unwrap_or_else(|| names.as_bytes().to_vec()));
        } else if line.starts_with("@@") {
            is_header = false;
        } else if let (true, Some(last)) = (is_header, paths.last_mut())
            && let Some(path) = only_path(line)
        {
            *last = path;
        }
    }
    paths
}

/// The path of a line that holds only a path.
fn only_path(line: &str) -> Option<Vec<u8>> {
    for begin in ["rename to ", "copy to "] {
        if let Some(path) = line.strip_prefix(begin) {
            return Some(unquote(path));
        }
    }
    for (begin, prefix) in [("--- ", b"a/"), ("+++ ", b"b/")] {
        if let Some(path) = line.strip_prefix(begin) {
            // git ends a path that has spaces with a tab.
            let path = unquote(path.trim_end_matches('\t'));
            return path.strip_prefix(prefix).map(<[u8]>::to_vec);
        }
    }
    None
}

/// The path in `a/PATH b/PATH`; `None` for two different paths.
fn repeated_path(names: &str) -> Option<Vec<u8>> {
    let (old, new) = names.split_at_checked(names.len() / 2)?;
    let (old, new) = (unquote(old), unquote(new.strip_prefix(' ')?));
    let path = new.strip_prefix(b"b/")?;
    (old.strip_prefix(b"a/")? == path).then(|| path.to_vec())
}

/// Decodes a path that git has quoted, and returns any other path unchanged.
fn unquote(path: &str) -> Vec<u8> {
    let inside = path.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let Some(inside) = inside else {
        return path.as_bytes().to_vec();
    };
    let mut bytes = inside.bytes();
    let mut path = Vec::new();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            path.push(byte);
            continue;
        }
        path.push(match bytes.next() {
            Some(b'a') => 0x07,
            Some(b'b') => 0x08,
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'v') => 0x0b,
            Some(b'f') => 0x0c,
            Some(b'r') => b'\r',
            Some(first @ b'0'..=b'3') => {
                let digits = [first, bytes.next().unwrap_or(0), bytes.next().unwrap_or(0)];
                let value = digits.iter().map(|digit| digit & 7);
                value.fold(0, |all, digit| all << 3 | digit)
            }
            Some(other) => other,
            None => b'\\',
        });
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let paths = paths(text).into_iter();
        paths
            .map(|path| String::from_utf8_lossy(&path).into_owned())
            .collect()
    }

    #[test]
    fn a_path_with_any_character_is_found() {
        for path in ["é", "漢", "ü/é.rs", "a b/b", "a b/a b", "x", "🦀é"] {
            let mode = format!("diff --git a/{path} b/{path}\nold mode 100644\nnew mode 100755\n");
            assert_eq!(shown(&mode), [path], "unchanged text");
            let change = format!("{mode}index 1..2\n--- a/{path}\t\n+++ b/{path}\t\n@@ -1 +1 @@\n");
            assert_eq!(shown(&change), [path], "changed text");
        }
    }

    #[test]
    fn a_quoted_path_is_decoded() {
        let text = r#"diff --git "a/\303\251\t\"\\" "b/\303\251\t\"\\"
new file mode 100644
diff --git "a/a\nb" "b/a\nb"
index 1..2 100644
--- "a/a\nb"
+++ "b/a\nb"
@@ -1 +1 @@
-+++ b/other
+--- a/other
"#;
        assert_eq!(shown(text), ["é\t\"\\", "a\nb"]);
    }

    #[test]
    fn a_renamed_file_has_its_new_path() {
        let text = "diff --git a/old b/a much longer name\nsimilarity index 100%\n\
                    rename from old\nrename to a much longer name\n\
                    diff --git a/xy b/漢字漢字漢字\nsimilarity index 100%\nrename from xy\n\
                    rename to 漢字漢字漢字\n\
                    diff --git a/é b/漢字\nsimilarity index 90%\nrename from é\n\
                    rename to 漢字\nindex 1..2 100644\n--- a/é\n+++ b/漢字\n@@ -1 +1 @@\n";
        let expected = ["a much longer name", "漢字漢字漢字", "漢字"];
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn a_deleted_file_has_its_old_path() {
        let text = "diff --git a/x b/x\ndeleted file mode 100644\nindex 1..0\n--- a/x\n\
                    +++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
        assert_eq!(shown(text), ["x"]);
    }
}
