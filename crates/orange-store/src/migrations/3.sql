-- Whoever watches asks again and again what has changed since.
CREATE INDEX tasks_by_sequence ON tasks (sequence);
