-- What each run used, by UTC day, for budgets. The numbers come from files of the run, so a rebuild
-- counts them again.
CREATE TABLE spend (
    task TEXT NOT NULL REFERENCES tasks (id),
    run TEXT NOT NULL,
    -- The UTC day, such as `2026-11-18`.
    day TEXT NOT NULL,
    harness TEXT NOT NULL,
    -- The model that the task sets.
    model TEXT,
    -- NULL if unknown, as is `money`.
    tokens INTEGER,
    -- In millionths of a US dollar.
    money INTEGER,
    -- Whether it used tokens of a model without a price, and of which one if that is known.
    is_unpriced INTEGER NOT NULL,
    unpriced_model TEXT,
    counted_at TEXT NOT NULL,
    PRIMARY KEY (task, run, day)
) STRICT;
CREATE INDEX spend_by_agent ON spend (harness, model, counted_at);
