-- Every command of the user reads which harnesses are in use; this must be quick even with many
-- tasks.
CREATE INDEX tasks_by_harness ON tasks (json_extract(snapshot, '$.harness'));
CREATE INDEX tasks_by_review_harness ON tasks (json_extract(snapshot, '$.review_harness'));
