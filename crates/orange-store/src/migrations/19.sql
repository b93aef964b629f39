-- The tasks of a queue in the order of their starts, so that the first ones are found quickly among
-- thousands.
CREATE INDEX tasks_in_order ON tasks (status, workflow_hash,
    coalesce(json_extract(snapshot, '$.priority'), 0) DESC, json_extract(snapshot, '$.entered.at'),
    id);
