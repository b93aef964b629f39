//! Tests of costs, limits and verdicts.

use proptest::prelude::*;

use super::*;
use crate::usage::{Cost, RunUsage, TokenCount};

fn table() -> PriceTable {
    let price = |input, cached, cache_write, output| ModelPrice {
        input,
        cached,
        cache_write,
        output,
    };
    let models = [
        ("big", price(3_000_000, 300_000, 3_750_000, 15_000_000)),
        ("small", price(100_000, 10_000, 125_000, 400_000)),
    ];
    PriceTable {
        models: models.map(|(name, price)| (name.to_owned(), price)).into(),
        ..PriceTable::default()
    }
}

fn usage(input: u64, cached: u64, cache_write: u64, output: u64) -> RunUsage {
    RunUsage {
        input_tokens: Some(input),
        cached_tokens: Some(cached),
        cache_write_tokens: Some(cache_write),
        output_tokens: Some(output),
        ..RunUsage::default()
    }
}

fn known(millionths: u64) -> RunCost {
    RunCost::Known(Money(millionths))
}

#[test]
fn lesson_106_a_cached_token_is_paid_for_once_at_its_own_price() {
    let cost = |usage: &RunUsage| cost_of_run(usage, Some("big"), &table());
    // 100,000 plain + 800,000 cached + 100,000 written to the cache + 10,000 output.
    let run = usage(1_000_000, 800_000, 100_000, 10_000);
    assert_eq!(cost(&run), known(300_000 + 240_000 + 375_000 + 150_000));
    // Counted beside the input it would cost 3.465 dollars more; free, 0.24 less.
    let uncached = usage(1_000_000, 0, 0, 10_000);
    assert_eq!(cost(&uncached), known(3_150_000));
    // More cached tokens than input are a mistake of the agent, not a credit.
    assert_eq!(cost(&usage(10, 500, 500, 0)), known(3));
}

#[test]
fn a_reported_cost_comes_first_and_no_cost_is_lost() {
    let mut run = usage(1_000_000, 0, 0, 0);
    run.cost = Cost::from_dollars(0.002_400_000_000_000_000_2);
    assert_eq!(cost_of_run(&run, Some("big"), &table()), known(2400));
    run.cost = Cost::from_dollars(0.000_000_000_4);
    assert_eq!(cost_of_run(&run, None, &table()), known(0));
    run.cost = Cost::from_dollars(0.000_000_001);
    assert_eq!(cost_of_run(&run, None, &table()), known(1));
    run.cost = None;
    assert_eq!(
        cost_of_run(&usage(1, 0, 0, 0), Some("small"), &table()),
        known(1)
    );
}

#[test]
fn the_tokens_of_each_model_have_its_own_price() {
    let mut run = usage(400, 0, 0, 80);
    let count = |input, output| TokenCount {
        input,
        output,
        ..TokenCount::default()
    };
    run.models = [("small", count(100, 20)), ("big", count(300, 60))]
        .map(|(name, count)| (name.to_owned(), count))
        .into();
    assert_eq!(cost_of_run(&run, None, &table()), known(10 + 8 + 900 + 900));
    // Tokens that no model is named for count as those of the dearest.
    run.input_tokens = Some(500);
    assert_eq!(
        cost_of_run(&run, Some("small"), &table()),
        known(10 + 8 + 900 + 900 + 300)
    );
    run.models.insert(String::from("new"), count(1, 1));
    let model = Some(String::from("new"));
    assert_eq!(
        cost_of_run(&run, None, &table()),
        RunCost::Unpriced { model }
    );
}

#[test]
fn what_is_not_reported_is_unknown_and_never_zero() {
    let unpriced = |model: Option<&str>| RunCost::Unpriced {
        model: model.map(str::to_owned),
    };
    let run = usage(1, 0, 0, 1);
    assert_eq!(cost_of_run(&run, None, &table()), unpriced(None));
    assert_eq!(cost_of_run(&run, Some("x"), &table()), unpriced(Some("x")));
    let none = RunUsage::default();
    assert_eq!(cost_of_run(&none, Some("big"), &table()), RunCost::Unknown);
}

#[test]
fn a_provider_and_a_note_do_not_hide_a_model() {
    for name in ["big", "openai/big", "a/b/big", "big[1m]", "a/big[1m]"] {
        assert!(table().price(name).is_some(), "{name}");
    }
    for name in ["", "bigger", "big/x", "/"] {
        assert_eq!(table().price(name), None, "{name}");
    }
}

#[test]
fn limits_are_read_and_shown_in_one_notation() {
    for (text, number, shown) in [
        ("5.00 USD", 5_000_000, "5.00 USD"),
        ("5 USD", 5_000_000, "5.00 USD"),
        ("0.000001 USD", 1, "0.000001 USD"),
        ("12.345 USD", 12_345_000, "12.345 USD"),
        ("0.5 USD", 500_000, "0.50 USD"),
        ("2M tokens", 2_000_000, "2M tokens"),
        ("2.5M tokens", 2_500_000, "2500k tokens"),
        ("500k tokens", 500_000, "500k tokens"),
        ("1G tokens", 1_000_000_000, "1G tokens"),
        ("1234567 tokens", 1_234_567, "1234567 tokens"),
    ] {
        let limit: Limit = text.parse().unwrap();
        assert_eq!(limit.number(), number, "{text}");
        assert_eq!(limit.to_string(), shown);
        assert_eq!(shown.parse::<Limit>().unwrap(), limit);
    }
    for wrong in [
        "",
        "5",
        "USD",
        "5USD",
        "5 EUR",
        "-5 USD",
        "0 USD",
        "0.0000001 USD",
        "5,00 USD",
        ".5 USD",
        "5. USD",
        "1e3 tokens",
        "0 tokens",
        "1.5 tokens",
        "2m tokens",
        "2MM tokens",
        "2M  tokens",
        "99999999999999999999 tokens",
        "99999999999999999 USD",
        "5 USD ",
    ] {
        assert_eq!(wrong.parse::<Limit>(), Err(()), "{wrong}");
    }
    assert_eq!(Limit::Tokens(0).to_string(), "0 tokens");
    assert_eq!(Limit::Money(Money(0)).to_string(), "0.00 USD");
}

fn budget(limit: &str) -> Budget {
    let figures = Figures {
        tokens: true,
        cost: true,
        model: true,
    };
    Budget {
        home: BudgetLimits {
            day: limit.parse().ok(),
            ..BudgetLimits::default()
        },
        figures: [(HarnessName::new("claude"), figures)].into(),
        prices: Arc::new(table()),
        ..Budget::default()
    }
}

fn judge<T>(harness: &str, model: Option<&str>, judge: impl FnOnce(&Start<'_>) -> T) -> T {
    judge(&Start {
        task: &TaskId::new("k3f9"),
        project: &ProjectName::new("app"),
        job: Some(&JobName::new("nightly")),
        harness: &HarnessName::new(harness),
        model,
    })
}

#[test]
fn a_limit_warns_from_80_percent_and_is_reached_at_all_of_it() {
    for (used, level) in [
        (0, Level::Free),
        (799_999, Level::Free),
        (800_000, Level::Warn),
        (999_999, Level::Warn),
        (1_000_000, Level::Reached),
        (u64::MAX, Level::Reached),
    ] {
        let mut budget = budget("1.00 USD");
        budget.spent.today.money = Money(used);
        let states = judge("claude", None, |start| budget.limits_of_start(start));
        let [state] = states.as_slice() else {
            panic!("{states:?}")
        };
        assert_eq!(state.level, level, "{used}");
        assert_eq!(state.left().number(), 1_000_000_u64.saturating_sub(used));
        let reached = judge("claude", None, |start| budget.reached(start));
        assert_eq!(!reached.is_empty(), level == Level::Reached);
    }
}

#[test]
fn each_scope_has_its_own_limit_and_a_project_may_set_its_own() {
    let mut budget = budget("1.00 USD");
    budget.home.task = "10 tokens".parse().ok();
    budget.home.job = "20 tokens".parse().ok();
    budget.home.project = "30 tokens".parse().ok();
    let amount = |tokens| Amount {
        tokens,
        ..Amount::default()
    };
    let project = ProjectName::new("app");
    let part = |tokens| ProjectAmount {
        project: project.clone(),
        amount: amount(tokens),
    };
    budget.spent.tasks.insert(TaskId::new("k3f9"), part(10));
    budget.spent.tasks.insert(TaskId::new("other"), part(99));
    budget.spent.jobs.insert(JobName::new("nightly"), part(19));
    budget.spent.projects.insert(project.clone(), amount(30));
    let reached = judge("claude", None, |start| budget.reached(start));
    let scopes: Vec<&str> = reached.iter().map(|it| it.scope.key()).collect();
    assert_eq!(scopes, ["project", "task"]);
    let uses = budget.uses();
    assert_eq!(uses.len(), 5, "the other task is listed too");
    assert!(uses.iter().all(|it| it.limit.is_some()));
    budget.projects.insert(
        project,
        BudgetLimits {
            project: "31 tokens".parse().ok(),
            ..BudgetLimits::default()
        },
    );
    assert_eq!(judge("claude", None, |start| budget.reached(start)), []);
}

#[test]
fn lesson_103_a_limit_that_cannot_be_checked_refuses_instead_of_doing_nothing() {
    let mut money = budget("1.00 USD");
    let figures = |tokens, cost, model| Figures {
        tokens,
        cost,
        model,
    };
    for (name, figures) in [
        ("silent", figures(false, false, false)),
        ("tokens", figures(true, false, false)),
        ("named", figures(true, false, true)),
        ("cost", figures(false, true, false)),
    ] {
        money.figures.insert(HarnessName::new(name), figures);
    }
    let mut tokens = money.clone();
    tokens.home.day = "1M tokens".parse().ok();
    let unpriced = |budget: &Budget, harness: &str, model: Option<&str>| {
        judge(harness, model, |start| budget.unpriced(start).is_some())
    };
    assert!(unpriced(&money, "silent", Some("big")));
    assert!(unpriced(&tokens, "silent", Some("big")));
    assert!(unpriced(&tokens, "cost", None));
    assert!(!unpriced(&tokens, "tokens", None));
    assert!(unpriced(&money, "tokens", None), "the model is unknown");
    assert!(unpriced(&money, "tokens", Some("new")));
    assert!(!unpriced(&money, "tokens", Some("big")));
    assert!(!unpriced(&money, "named", None), "the run will tell");
    assert!(!unpriced(&money, "cost", Some("new")));
    // The last run has told.
    let choice = (HarnessName::new("named"), None);
    money
        .spent
        .unpriced
        .insert(choice, Some(String::from("new")));
    assert!(unpriced(&money, "named", None));
    assert!(!unpriced(&money, "named", Some("big")));
    money.home.allows_unpriced = true;
    assert!(!unpriced(&money, "silent", None));
    // Without a limit nothing is checked.
    assert!(!unpriced(
        &Budget {
            home: BudgetLimits::default(),
            ..tokens
        },
        "silent",
        None
    ));
}

#[test]
fn a_day_is_a_utc_day() {
    let at = |text: &str| utc_day(Timestamp::parse(text).unwrap());
    assert_eq!(at("2026-11-18T23:59:59Z"), "2026-11-18");
    assert_eq!(at("2026-11-18T23:59:59-02:00"), "2026-11-19");
}

proptest! {
    #[test]
    fn sums_never_overflow_and_never_lose_a_run(
        runs in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()), 0..20),
    ) {
        let prices = table();
        let mut sum = Amount::default();
        for (input, cached, cache_write, output) in &runs {
            let run = usage(*input, *cached, *cache_write, *output);
            let RunCost::Known(money) = cost_of_run(&run, Some("big"), &prices) else {
                return Err(TestCaseError::fail("the model has a price"));
            };
            let before = sum;
            sum = sum.plus(Amount { tokens: run.tokens().unwrap().total(), money, ..Amount::default() });
            prop_assert!(sum.money >= before.money && sum.tokens >= before.tokens);
        }
        let limit = Limit::Money(Money(1));
        let level = state(limit, sum).level;
        prop_assert_eq!(level == Level::Reached, sum.money >= Money(1));
    }

    #[test]
    fn a_cost_is_exact_to_a_millionth(
        input in 0..u64::from(u32::MAX), cached in 0..u64::from(u32::MAX),
        written in 0..u64::from(u32::MAX), output in 0..u64::from(u32::MAX),
    ) {
        let (cached, written) = (cached.min(input), written.min(input - cached.min(input)));
        let plain = u128::from(input - cached - written);
        let exact = plain * 3_000_000 + u128::from(cached) * 300_000
            + u128::from(written) * 3_750_000 + u128::from(output) * 15_000_000;
        let cost = cost_of_run(&usage(input, cached, written, output), Some("big"), &table());
        prop_assert_eq!(cost, known(u64::try_from(exact.div_ceil(1_000_000)).unwrap()));
    }

    #[test]
    fn every_limit_reads_back(number in 1..u64::MAX, is_money: bool) {
        let limit = if is_money { Limit::Money(Money(number)) } else { Limit::Tokens(number) };
        prop_assert_eq!(limit.to_string().parse::<Limit>(), Ok(limit));
    }
}

fn state(limit: Limit, amount: Amount) -> LimitState {
    let mut budget = budget("1.00 USD");
    budget.home.day = Some(limit);
    budget.spent.today = amount;
    let states = judge("claude", None, |start| budget.limits_of_start(start));
    states.into_iter().next().unwrap()
}
