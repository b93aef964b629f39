//! The report as one HTML page that needs no other file.

use orange_engine::statistics::{CostLine, Costs, Reviews, Statistics, StatusTime, Throughput};

use super::durations::in_words;
use super::html::Html;
use super::plot::{Bar, SERIES, push_bars, push_throughput};
use super::words::{back_sentence, cost_sentence, count, model_name, period_heading, tokens};

/// How a page begins; only a file that begins like this is replaced.
pub const MARK: &str = "<!doctype html>\n<!-- Written by `orange report`. -->\n";

/// No script runs and nothing is loaded, whatever the page contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

const STYLE: &str = include_str!("page.css");

pub fn render(statistics: &Statistics, heading: &str) -> String {
    let mut html = Html::default();
    let policy = format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">");
    html.markup(MARK)
        .markup("<html lang=\"en\"><head><meta charset=\"utf-8\">\n")
        .markup(&policy)
        .markup("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        .element("title", &format!("orange: {heading}"))
        .markup("\n<style>\n")
        .markup(STYLE)
        .markup("</style></head>\n<body>\n<header>")
        .element("h1", heading);
    let window = &statistics.window;
    let times = format!("{} to {}", minute(window.since), minute(window.until));
    html.element("p", &times).markup("</header>\n");
    push_figures(&mut html, statistics);
    section(&mut html, "Tasks", |html| {
        throughput(html, &statistics.throughput);
    });
    section(&mut html, "Time per status", |html| {
        statuses(html, &statistics.statuses);
    });
    section(&mut html, "Reviews", |html| {
        reviews(html, &statistics.reviews);
    });
    section(&mut html, "Failures", |html| failures(html, statistics));
    section(&mut html, "Cost", |html| costs(html, &statistics.costs));
    html.markup("</body></html>\n");
    html.into_string()
}

/// The time in UTC, to the minute.
fn minute(at: orange_engine::time::Timestamp) -> String {
    let text = at.to_string().replace('T', " ");
    format!("{} UTC", text.get(..16).unwrap_or(&text))
}

fn section(html: &mut Html, title: &str, fill: impl FnOnce(&mut Html)) {
    html.markup("<section>").element("h2", title);
    fill(html);
    html.markup("</section>\n");
}

fn push_figures(html: &mut Html, statistics: &Statistics) {
    let total = &statistics.throughput.total;
    let failures: u64 = statistics.failures.iter().map(|it| it.count).sum();
    html.markup("<div class=\"figures\">");
    for (figure, name) in [
        (total.created.to_string(), "tasks created"),
        (total.done.to_string(), "tasks done"),
        (total.merged.to_string(), "of them merged"),
        (total.cancelled.to_string(), "tasks cancelled"),
        (failures.to_string(), "failures"),
        (statistics.costs.total.cost_text(), "cost"),
    ] {
        html.markup("<div>").element("b", &figure);
        html.element("span", name).markup("</div>");
    }
    html.markup("</div>\n");
}

fn key(html: &mut Html, entries: &[(&str, &str)]) {
    html.markup("<p class=\"key\">");
    for (class, name) in entries {
        let sign = format!("<i class=\"{class}\"></i>");
        html.markup(&sign).text(name);
    }
    html.markup("</p>");
}

fn throughput(html: &mut Html, throughput: &Throughput) {
    push_throughput(html, throughput);
    key(html, &SERIES.map(|(class, name, _)| (class, name)));
    html.markup("<details>").element("summary", "As a table");
    let heading = period_heading(throughput.days_per_period);
    table(
        html,
        &[heading, "CREATED", "DONE", "MERGED", "CANCELLED"],
        "",
    );
    for period in &throughput.periods {
        let counts = &period.counts;
        html.markup("<tr>").element("td", &period.from);
        for number in [counts.created, counts.done, counts.merged, counts.cancelled] {
            html.element("td class=\"n\"", &number.to_string());
        }
        html.markup("</tr>");
    }
    html.markup("</table></div></details>");
}

fn statuses(html: &mut Html, statuses: &[StatusTime]) {
    if statuses.is_empty() {
        html.element("p class=\"note\"", "No task left a status.");
        return;
    }
    let bars: Vec<Bar> = statuses
        .iter()
        .map(|it| Bar {
            label: format!("{} ({})", it.status, it.stays),
            value: it.median_seconds,
            far_value: it.p90_seconds,
            text: match (in_words(it.median_seconds), in_words(it.p90_seconds)) {
                (median, p90) if median == p90 => median,
                (median, p90) => format!("{median}; {p90}"),
            },
        })
        .collect();
    push_bars(html, "Time per status", &bars);
    let entries = [
        ("near", "half of the stays were at most this long"),
        ("far", "nine of ten were"),
    ];
    key(html, &entries);
    let note =
        "Stays that ended in this time, with their whole length; their number is in brackets.";
    html.element("p class=\"note\"", note);
}

fn reviews(html: &mut Html, reviews: &Reviews) {
    html.element("p", &back_sentence(reviews));
    let bars: Vec<Bar> = reviews
        .distribution
        .iter()
        .map(|it| Bar {
            label: match it.times {
                0 => String::from("never sent back"),
                times => format!("sent back {}", count(times, "time", "times")),
            },
            value: it.tasks,
            far_value: 0,
            text: count(it.tasks, "task", "tasks"),
        })
        .collect();
    if !bars.is_empty() {
        push_bars(html, "How often tasks were sent back", &bars);
    }
}

fn failures(html: &mut Html, statistics: &Statistics) {
    if statistics.failures.is_empty() {
        html.element("p class=\"note\"", "Nothing failed.");
        return;
    }
    let failures = statistics.failures.iter();
    let bars: Vec<Bar> = failures
        .map(|it| Bar {
            label: it.text.to_owned(),
            value: it.count,
            far_value: 0,
            text: format!("{} in {}", it.count, count(it.tasks, "task", "tasks")),
        })
        .collect();
    push_bars(html, "Failures by cause", &bars);
}

fn costs(html: &mut Html, costs: &Costs) {
    html.element("p", &cost_sentence(&costs.total));
    if costs.total.runs == 0 {
        return;
    }
    let agents = costs.agents.iter();
    let agents: Vec<Bar> = agents
        .map(|it| cost_bar(it.name.to_string(), &it.cost))
        .collect();
    html.element("p class=\"note\"", "By agent");
    push_bars(html, "Cost by agent", &agents);
    let models = costs.models.iter();
    let models: Vec<Bar> = models
        .map(|it| cost_bar(model_name(it.name.as_deref()), &it.cost))
        .collect();
    html.element("p class=\"note\"", "By model that the task sets");
    push_bars(html, "Cost by model", &models);
    table(html, &["TASK", "RUNS", "TOKENS", "COST"], "SUMMARY");
    for it in &costs.tasks {
        html.markup("<tr>").element("td", it.task.as_str());
        html.element("td class=\"n\"", &it.cost.runs.to_string());
        html.element("td class=\"n\"", &tokens(&it.cost));
        html.element("td class=\"n\"", &it.cost.cost_text());
        let deleted = if it.deleted { " (deleted)" } else { "" };
        let summary = format!("{}: {}{deleted}", it.project, it.summary);
        html.element("td class=\"s\"", &summary).markup("</tr>");
    }
    html.markup("</table></div>");
    if costs.other_tasks > 0 {
        let more = format!("and {} more tasks", costs.other_tasks);
        html.element("p class=\"note\"", &more);
    }
}

fn cost_bar(label: String, cost: &CostLine) -> Bar {
    let runs = count(cost.runs, "run", "runs");
    Bar {
        label,
        value: cost.cost_usd.map_or(0, |money| money.0),
        far_value: 0,
        text: format!("{}, {} tokens, {runs}", cost.cost_text(), tokens(cost)),
    }
}

/// Opens a table; its first column and the last one hold text, the others numbers.
fn table(html: &mut Html, headings: &[&str], last: &str) {
    html.markup("<div class=\"wide\"><table><tr>");
    for (at, heading) in headings.iter().enumerate() {
        let tag = if at == 0 { "th" } else { "th class=\"n\"" };
        html.element(tag, heading);
    }
    if !last.is_empty() {
        html.element("th", last);
    }
    html.markup("</tr>");
}
