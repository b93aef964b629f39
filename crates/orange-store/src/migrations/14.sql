-- How far the schedule of each job was followed. A rebuild drops these rows: the instants of tasks
-- are known from their first events, and every other instant of the past is left out.
CREATE TABLE jobs (
    name TEXT NOT NULL PRIMARY KEY,
    -- The schedule that was followed; another one begins anew.
    schedule TEXT NOT NULL,
    -- Every instant up to this one is decided.
    reached TEXT NOT NULL,
    -- Failures before this instant do not count, because the user enabled the job again.
    resumed TEXT
) STRICT;

-- The runs of jobs: an instant has at most one. Those with a task are derived from its first event.
CREATE TABLE job_runs (
    job TEXT NOT NULL,
    instant TEXT NOT NULL,
    -- `task`, or for a command: `begun`, `running`, `succeeded`, `failed`.
    state TEXT NOT NULL,
    task TEXT REFERENCES tasks (id),
    -- The process that runs the command, as JSON.
    process TEXT,
    -- Why it failed, or the end of the command's output.
    detail TEXT,
    PRIMARY KEY (job, instant)
) STRICT;
CREATE INDEX job_runs_by_task ON job_runs (task);
