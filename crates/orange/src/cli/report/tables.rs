//! The report as tables for the terminal.

use orange_engine::statistics::{CostLine, Costs, Reviews, Statistics, Throughput};

use super::durations::in_words;
use super::words::{back_sentence, cost_sentence, model_name, period_heading, tokens};
use crate::output::{Alignment, Cell, Style, Table, Text};

/// The texts of the report so far.
struct Layout {
    texts: Vec<Text>,
    width: Option<usize>,
}

impl Layout {
    /// Begins a part with a sentence.
    fn begin(&mut self, style: Style, sentence: &str) {
        let mut text = Text::new();
        if !self.texts.is_empty() {
            text.end_line();
        }
        text.push_line(&[(style, sentence)], 2, self.width);
        self.texts.push(text);
    }

    fn add<const N: usize>(&mut self, table: &Table<N>) {
        self.texts.push(table.to_text(self.width));
    }
}

pub fn render(statistics: &Statistics, heading: &str, width: Option<usize>) -> Vec<Text> {
    let texts = Vec::new();
    let mut layout = Layout { texts, width };
    layout.begin(Style::Bold, heading);
    push_throughput(&statistics.throughput, &mut layout);
    push_statuses(statistics, &mut layout);
    push_reviews(&statistics.reviews, &mut layout);
    push_failures(statistics, &mut layout);
    push_costs(&statistics.costs, &mut layout);
    layout.texts
}

fn number(number: u64) -> Cell {
    Cell::new(Style::Plain, &number.to_string())
}

fn plain(text: &str) -> Cell {
    Cell::new(Style::Plain, text)
}

fn push_throughput(throughput: &Throughput, layout: &mut Layout) {
    let columns = [
        (period_heading(throughput.days_per_period), Alignment::Left),
        ("CREATED", Alignment::Right),
        ("DONE", Alignment::Right),
        ("MERGED", Alignment::Right),
        ("CANCELLED", Alignment::Right),
    ];
    let mut table = Table::new(columns, "");
    let total = (String::from("total"), throughput.total);
    let periods = throughput.periods.iter();
    let rows = periods.map(|it| (it.from.clone(), it.counts));
    for (name, counts) in rows.chain([total]) {
        let row = [
            Cell::new(Style::Bold, &name),
            number(counts.created),
            number(counts.done),
            number(counts.merged),
            number(counts.cancelled),
        ];
        table.push(row, plain(""));
    }
    layout.begin(Style::Bold, "Tasks");
    layout.add(&table);
}

fn push_statuses(statistics: &Statistics, layout: &mut Layout) {
    if statistics.statuses.is_empty() {
        return layout.begin(Style::Plain, "No task left a status.");
    }
    let columns = [
        ("STATUS", Alignment::Left),
        ("STAYS", Alignment::Right),
        ("HALF WITHIN", Alignment::Left),
    ];
    let mut table = Table::new(columns, "9 OF 10 WITHIN");
    for it in &statistics.statuses {
        let row = [
            Cell::new(Style::Bold, it.status.as_str()),
            number(it.stays),
            plain(&in_words(it.median_seconds)),
        ];
        table.push(row, plain(&in_words(it.p90_seconds)));
    }
    layout.begin(Style::Bold, "Time per status");
    layout.add(&table);
}

fn push_reviews(reviews: &Reviews, layout: &mut Layout) {
    layout.begin(Style::Plain, &back_sentence(reviews));
    if reviews.tasks == 0 {
        return;
    }
    let columns = [("SENT BACK", Alignment::Right), ("TASKS", Alignment::Right)];
    let mut table = Table::new(columns, "");
    for it in &reviews.distribution {
        table.push([number(it.times), number(it.tasks)], plain(""));
    }
    layout.add(&table);
}

fn push_failures(statistics: &Statistics, layout: &mut Layout) {
    if statistics.failures.is_empty() {
        return layout.begin(Style::Plain, "Nothing failed.");
    }
    let columns = [("TIMES", Alignment::Right), ("TASKS", Alignment::Right)];
    let mut table = Table::new(columns, "CAUSE");
    for it in &statistics.failures {
        table.push([number(it.count), number(it.tasks)], plain(it.text));
    }
    layout.begin(Style::Bold, "Failures");
    layout.add(&table);
}

fn push_costs(costs: &Costs, layout: &mut Layout) {
    layout.begin(Style::Plain, &cost_sentence(&costs.total));
    if costs.total.runs == 0 {
        return;
    }
    let agents = costs.agents.iter();
    let agents = agents.map(|it| (it.name.to_string(), &it.cost, String::new()));
    push_cost_table("AGENT", "", agents, layout);
    let models = costs.models.iter();
    let models = models.map(|it| (model_name(it.name.as_deref()), &it.cost, String::new()));
    push_cost_table("MODEL", "", models, layout);
    let tasks = costs.tasks.iter().map(|it| {
        let deleted = if it.deleted { " (deleted)" } else { "" };
        let summary = format!("{}{deleted}", it.summary);
        (it.task.to_string(), &it.cost, summary)
    });
    push_cost_table("TASK", "SUMMARY", tasks, layout);
    if costs.other_tasks > 0 {
        let more = format!("and {} more tasks", costs.other_tasks);
        layout.texts.push(Text::line(Style::Dim, &more));
    }
}

fn push_cost_table<'a>(
    heading: &str,
    last: &str,
    lines: impl Iterator<Item = (String, &'a CostLine, String)>,
    layout: &mut Layout,
) {
    let columns = [
        (heading, Alignment::Left),
        ("RUNS", Alignment::Right),
        ("TOKENS", Alignment::Right),
        ("COST", Alignment::Right),
    ];
    let mut table = Table::new(columns, last);
    for (name, cost, last) in lines {
        let row = [
            Cell::new(Style::Bold, &name),
            number(cost.runs),
            plain(&tokens(cost)),
            plain(&cost.cost_text()),
        ];
        table.push(row, plain(&last));
    }
    let mut gap = Text::new();
    gap.end_line();
    layout.texts.push(gap);
    layout.add(&table);
}
