-- Every command of the user asks which harnesses are in use, however many tasks there are.
CREATE INDEX tasks_by_harness ON tasks (json_extract(snapshot, '$.harness'));
CREATE INDEX tasks_by_review_harness ON tasks (json_extract(snapshot, '$.review_harness'));
