//! How one list becomes another: what stays, goes and comes.

/// A table of more cells than this is not filled in; the lists then have nothing in common.
const MAX_CELLS: usize = 1 << 20;

/// One item on the way from the old list to the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// In both, at these places.
    Kept(usize, usize),
    /// Only in the old list.
    Removed(usize),
    /// Only in the new list.
    Added(usize),
}

/// The fewest items that go and come, in order; what goes stands before what comes.
pub(super) fn align<T>(old: &[T], new: &[T], is_same: impl Fn(&T, &T) -> bool) -> Vec<Edit> {
    let pairs = old.iter().zip(new);
    let start = pairs.take_while(|(a, b)| is_same(a, b)).count();
    let pairs = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = pairs.take_while(|(a, b)| is_same(a, b)).count();
    let (rows, columns) = (old.len() - start - end, new.len() - start - end);

    let mut edits: Vec<Edit> = (0..start).map(|place| Edit::Kept(place, place)).collect();
    let longest = if rows.saturating_mul(columns) > MAX_CELLS {
        None
    } else {
        let middle = (&old[start..start + rows], &new[start..start + columns]);
        Some(longest_common(middle.0, middle.1, is_same))
    };
    let (mut row, mut column) = (0, 0);
    while row < rows || column < columns {
        let length = |row: usize, column: usize| {
            let table = longest.as_ref().map_or(&[][..], Vec::as_slice);
            table
                .get(row * (columns + 1) + column)
                .copied()
                .unwrap_or(0)
        };
        let here = length(row, column);
        let is_kept = row < rows
            && column < columns
            && here > length(row + 1, column)
            && here > length(row, column + 1);
        if is_kept {
            edits.push(Edit::Kept(start + row, start + column));
            row += 1;
            column += 1;
        } else if row < rows && (column == columns || here == length(row + 1, column)) {
            edits.push(Edit::Removed(start + row));
            row += 1;
        } else {
            edits.push(Edit::Added(start + column));
            column += 1;
        }
    }
    edits.extend(
        (0..end)
            .rev()
            .map(|back| Edit::Kept(old.len() - 1 - back, new.len() - 1 - back)),
    );
    edits
}

/// For each pair of places, how many items the rests of both lists have in common, in order.
fn longest_common<T>(old: &[T], new: &[T], is_same: impl Fn(&T, &T) -> bool) -> Vec<usize> {
    let width = new.len() + 1;
    let mut table = vec![0; (old.len() + 1) * width];
    for row in (0..old.len()).rev() {
        for column in (0..new.len()).rev() {
            let here = row * width + column;
            table[here] = if is_same(&old[row], &new[column]) {
                table[here + width + 1] + 1
            } else {
                table[here + width].max(table[here + 1])
            };
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The edits as a text: what stays bare, what goes after `-`, what comes after `+`.
    fn shown(old: &str, new: &str) -> String {
        let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
        let edits = align(&old, &new, |a, b| a == b);
        let shown = edits.iter().map(|edit| match edit {
            Edit::Kept(a, b) => {
                assert_eq!(old[*a], new[*b]);
                old[*a].to_string()
            }
            Edit::Removed(place) => format!("-{}", old[*place]),
            Edit::Added(place) => format!("+{}", new[*place]),
        });
        shown.collect()
    }

    #[test]
    fn the_fewest_items_move() {
        for (old, new, expected) in [
            ("", "", ""),
            ("abc", "abc", "abc"),
            ("", "ab", "+a+b"),
            ("ab", "", "-a-b"),
            ("abc", "xabc", "+xabc"),
            ("abc", "abcx", "abc+x"),
            ("abc", "ac", "a-bc"),
            ("abcd", "axyd", "a-b-c+x+yd"),
            ("ab", "ba", "-ab+a"),
            ("aa", "a", "a-a"),
            ("abxcd", "cdxab", "-a-b-xcd+x+a+b"),
        ] {
            assert_eq!(shown(old, new), expected, "{old} -> {new}");
        }
    }

    #[test]
    fn lists_that_are_too_long_have_only_their_ends_in_common() {
        let old: Vec<usize> = (0..2000).collect();
        let new: Vec<usize> = (0..2000)
            .map(|it| if it % 1999 == 0 { it } else { it + 1 })
            .collect();
        let edits = align(&old, &new, |a, b| a == b);
        assert_eq!(edits.len(), 2 + 2 * 1998);
        assert_eq!(edits[0], Edit::Kept(0, 0));
        assert_eq!(edits[1], Edit::Removed(1));
        assert_eq!(edits.last(), Some(&Edit::Kept(1999, 1999)));
    }
}
