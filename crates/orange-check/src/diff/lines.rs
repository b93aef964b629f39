//! The lines that were removed from and added to a text.

use super::change::Sign;

/// The largest number of line pairs that is compared line by line.
const MAX_PAIRS: usize = 1 << 20;

/// The removed and added lines, in order; unchanged lines between two of them become one `…`.
pub fn lines<'a>(old: &'a str, new: &'a str) -> Vec<(Sign, &'a str)> {
    let (mut old, mut new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    old.drain(..start);
    new.drain(..start);
    let ends = old.iter().rev().zip(new.iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    old.truncate(old.len() - end);
    new.truncate(new.len() - end);

    // For each pair of positions, the length of the longest common subsequence of the lines that
    // follow.
    let width = new.len() + 1;
    let mut common = vec![0; (old.len() + 1) * width];
    if old.len().saturating_mul(new.len()) <= MAX_PAIRS {
        for row in (0..old.len()).rev() {
            for column in (0..new.len()).rev() {
                let here = row * width + column;
                common[here] = if old[row] == new[column] {
                    common[here + width + 1] + 1
                } else {
                    common[here + width].max(common[here + 1])
                };
            }
        }
    }
    let same = (Sign::Changed, "…");
    let mut lines = Vec::new();
    let (mut row, mut column) = (0, 0);
    while row < old.len() || column < new.len() {
        let here = row * width + column;
        let is_last = (row == old.len(), column == new.len());
        if is_last == (false, false) && common[here] > 0 && old[row] == new[column] {
            if lines.last().is_some_and(|last| *last != same) {
                lines.push(same);
            }
            (row, column) = (row + 1, column + 1);
        } else if !is_last.0 && (is_last.1 || common[here] == common[here + width]) {
            lines.push((Sign::Removed, old[row]));
            row += 1;
        } else {
            lines.push((Sign::Added, new[column]));
            column += 1;
        }
    }
    lines
}
