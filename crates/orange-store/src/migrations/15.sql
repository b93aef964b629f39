-- The child of each request in a report: a request has at most one, however often its creation is
-- repeated. Derived from the first events of the children.
CREATE TABLE delegations (
    parent TEXT NOT NULL,
    -- The parent's effect that creates the children of one attempt.
    attempt INTEGER NOT NULL,
    -- The position of the request in the report.
    position INTEGER NOT NULL,
    task TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (parent, attempt, position)
) STRICT;
CREATE INDEX delegations_by_task ON delegations (task);
