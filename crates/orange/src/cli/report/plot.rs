//! Plots as inline SVG: bars over time, and bars with labels.

use orange_engine::statistics::{Counts, Throughput};

use super::html::Html;

/// The size of the plot over time, and the room around its bars.
const WIDTH: u64 = 760;
const HEIGHT: u64 = 240;
const LEFT: u64 = 36;
const TOP: u64 = 12;
const BOTTOM: u64 = 28;

/// How many dates fit below the plot.
const MOST_DATES: u64 = 10;

/// Where labels end and bars begin, and the widest bar.
const LABELS: u64 = 220;
const WIDEST: u64 = 250;
const ROW: u64 = 28;

/// The longest label, in characters; the rest is in the tooltip.
const LONGEST_LABEL: usize = 30;

/// A class for the colour of a series, its name, and its numbers.
type Series = (&'static str, &'static str, fn(&Counts) -> u64);

/// The series of the plot over time.
pub const SERIES: [Series; 3] = [
    ("first", "tasks created", |it| it.created),
    ("second", "tasks done", |it| it.done),
    ("third", "tasks cancelled", |it| it.cancelled),
];

/// One bar with a label before and a text after it.
pub struct Bar {
    pub label: String,
    /// The length of the bar.
    pub value: u64,
    /// The length of a paler bar behind it.
    pub far_value: u64,
    pub text: String,
}

/// Bars with labels, one below the other.
pub fn push_bars(html: &mut Html, title: &str, bars: &[Bar]) {
    let most = bars.iter().map(|bar| bar.value.max(bar.far_value));
    let most = most.max().unwrap_or(0).max(1);
    let rows = u64::try_from(bars.len()).unwrap_or(0);
    open(html, WIDTH, rows * ROW + 4, title);
    for (row, bar) in (0..).zip(bars) {
        let (top, base): (u64, u64) = (row * ROW + 4, row * ROW + 19);
        html.markup("<g>")
            .element("title", &format!("{}: {}", bar.label, bar.text));
        for (class, value) in [("far", bar.far_value), ("near", bar.value)] {
            // Something that happened is never invisible.
            let least = if value > 0 { 2 } else { 0 };
            let length = scale(value, most, WIDEST).max(least);
            push_rectangle(html, class, [LABELS, top, length, 20]);
        }
        let place = format!("text class=\"label\" x=\"{}\" y=\"{base}\"", LABELS - 10);
        html.element(&place, &shorten(&bar.label));
        let end = scale(bar.value.max(bar.far_value), most, WIDEST);
        let place = format!("text x=\"{}\" y=\"{base}\"", LABELS + end + 8);
        html.element(&place, &bar.text);
        html.markup("</g>");
    }
    html.markup("</svg>");
}

/// Groups of bars, one group for each period.
pub fn push_throughput(html: &mut Html, throughput: &Throughput) {
    let periods = &throughput.periods;
    let numbers = periods
        .iter()
        .flat_map(|it| SERIES.map(|(_, _, number)| number(&it.counts)));
    let most = ceiling(numbers.max().unwrap_or(0));
    let (bottom, room) = (HEIGHT - BOTTOM, HEIGHT - BOTTOM - TOP);
    open(html, WIDTH, HEIGHT, "Tasks created, done and cancelled");
    for step in 0..=4 {
        let value = most * step / 4;
        let y = bottom - scale(value, most, room);
        let end = WIDTH - 4;
        let line = format!("<path class=\"grid\" d=\"M{LEFT} {y}H{end}\"/>");
        html.markup(&line);
        let place = format!("text class=\"label\" x=\"{}\" y=\"{}\"", LEFT - 6, y + 4);
        html.element(&place, &value.to_string());
    }
    let count = u64::try_from(periods.len()).unwrap_or(1).max(1);
    let group = (WIDTH - LEFT - 4) * 10 / count;
    let bar = (group / 4).clamp(10, 240) / 10;
    let every = count.div_ceil(MOST_DATES);
    for (at, period) in (0..).zip(periods) {
        let middle = LEFT + (at * group + group / 2) / 10;
        html.markup("<g>");
        let text = SERIES.map(|(_, name, number)| format!("{} {name}", number(&period.counts)));
        html.element("title", &format!("{}: {}", period.from, text.join(", ")));
        for (index, (class, _, number)) in (0..).zip(SERIES) {
            let height = scale(number(&period.counts), most, room);
            let left = middle + index * bar - bar * 3 / 2;
            let width = bar.saturating_sub(1).max(1);
            push_rectangle(html, class, [left, bottom - height, width, height]);
        }
        html.markup("</g>");
        if at % every == 0 {
            let place = format!("text class=\"date\" x=\"{middle}\" y=\"{}\"", HEIGHT - 8);
            html.element(&place, period.from.get(5..).unwrap_or_default());
        }
    }
    html.markup("</svg>");
}

fn open(html: &mut Html, width: u64, height: u64, title: &str) {
    let size = format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\">");
    html.markup(&size).element("title", title);
}

fn push_rectangle(html: &mut Html, class: &str, [x, y, width, height]: [u64; 4]) {
    if width == 0 || height == 0 {
        return;
    }
    let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
    let rectangle = format!("<rect class=\"{class}\" {place} rx=\"2\"/>");
    html.markup(&rectangle);
}

/// The part of `room` that a value takes.
fn scale(value: u64, most: u64, room: u64) -> u64 {
    let part = u128::from(value) * u128::from(room) / u128::from(most.max(1));
    u64::try_from(part).unwrap_or(room).min(room)
}

/// The smallest multiple of four that is at least this, so that each grid line is a whole number.
fn ceiling(most: u64) -> u64 {
    most.max(1).div_ceil(4).saturating_mul(4)
}

fn shorten(label: &str) -> String {
    if label.chars().count() <= LONGEST_LABEL {
        return label.to_owned();
    }
    let start = label.chars().take(LONGEST_LABEL - 1);
    start.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_stay_within_the_plot() {
        assert_eq!(scale(1, 2, 100), 50);
        assert_eq!(scale(u64::MAX, u64::MAX, 100), 100);
        assert_eq!(scale(5, 0, 100), 100);
        assert_eq!([0, 1, 4, 5].map(ceiling), [4, 4, 4, 8]);
    }

    #[test]
    fn a_small_value_is_visible_and_a_long_label_is_cut() {
        let bar = |label: &str, value: u64| Bar {
            label: label.to_owned(),
            value,
            far_value: 0,
            text: value.to_string(),
        };
        let mut html = Html::default();
        push_bars(
            &mut html,
            "x",
            &[bar("one", 1_000_000), bar(&"é".repeat(60), 1)],
        );
        let text = html.into_string();
        assert!(text.contains("width=\"250\""), "{text}");
        assert!(text.contains("width=\"2\""), "{text}");
        assert!(text.contains(&format!(">{}…<", "é".repeat(29))), "{text}");
    }
}
