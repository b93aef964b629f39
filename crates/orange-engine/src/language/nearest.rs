//! Finds the name that was probably meant.

/// The known name closest to a word, if it is close enough to be a typo.
pub fn nearest<'name>(
    word: &str,
    names: impl IntoIterator<Item = &'name str>,
) -> Option<&'name str> {
    let allowed = 1 + word.chars().count() / 4;
    names
        .into_iter()
        .map(|name| (distance(word, name), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// How many letters must be added, dropped, replaced or swapped with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.chars().take(64).collect();
    let other: Vec<char> = other.chars().take(64).collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let replaced = rows[i][j] + usize::from(a != b);
            let mut best = replaced.min(rows[i][j + 1] + 1).min(row[j] + 1);
            let swapped = i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b;
            if swapped {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_suggests_the_name_and_another_word_does_not() {
        let names = ["working", "reviewing", "done"];
        for (word, expected) in [
            ("wroking", Some("working")),
            ("workin", Some("working")),
            ("worrking", Some("working")),
            ("wirking", Some("working")),
            ("dne", Some("done")),
            ("revieving", Some("reviewing")),
            ("banana", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), expected, "{word}");
        }
    }

    #[test]
    fn distances_count_single_edits() {
        for (one, other, expected) in [
            ("", "", 0),
            ("a", "", 1),
            ("ab", "ba", 1),
            ("abc", "acb", 1),
            ("kitten", "sitting", 3),
            ("ca", "abc", 3),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
            assert_eq!(distance(other, one), expected, "{other} {one}");
        }
    }
}
