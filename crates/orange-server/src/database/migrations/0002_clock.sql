-- Clocks, terms, and what several calls share.

-- Milliseconds. Every call takes the time from here.
create function orange.now_ms() returns bigint language sql volatile as $$
    select (extract(epoch from clock_timestamp()) * 1000)::bigint
$$;

-- The history of the database: a promotion or a restore begins a new one.
create function orange.timeline() returns bigint language sql volatile as $$
    select ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint
$$;

insert into orange.coordinator (timeline) values (orange.timeline());

-- The longest time that a runner may ask for before its tasks are given to others.
create function orange.longest_lost_after() returns bigint language sql immutable as 'select 900000::bigint';

-- A longer gap between two marks of the coordinator means that runners could not be heard.
create function orange.longest_gap() returns bigint language sql immutable as 'select 15000::bigint';

-- After this many claims without a change of status a task waits for a person.
create function orange.most_attempts() returns bigint language sql immutable as 'select 5::bigint';

-- The first place in the feed for this transaction. It has room for 1024 commits.
create function orange.first_place() returns bigint language sql volatile as $$
    select (orange.timeline() << 50) | (pg_current_xact_id()::text::bigint << 10)
$$;

-- Below this place of the feed nothing is added any more: each transaction that could is over.
-- Stable, so that it is of the same snapshot as the query that compares with it.
create function orange.horizon() returns bigint language sql stable as $$
    select (orange.timeline() << 50) | (pg_snapshot_xmin(pg_current_snapshot())::text::bigint << 10)
$$;

-- Whether a runner can work on the tasks of a pool.
create function orange.meets(_runner orange.runner, _pool orange.pool) returns boolean
language sql immutable as $$
    select _runner.format >= _pool.format
        and _pool.project = any(_runner.projects)
        and _pool.harnesses <@ _runner.harnesses
        and _pool.labels <@ _runner.labels
$$;

-- Whether a failover has lost the claim with which a runner says that it holds a task. Such an
-- epoch is higher than the last known one, and of an earlier history of the database.
create function orange.forgot(_task orange.task, _runner text, _held bigint) returns boolean
language plpgsql stable as $$
begin
    if _task.incarnation is not null or _held <= _task.epoch then
        return false;
    end if;
    return _held < orange.timeline() << 40 and exists (
        select from orange.runner r, orange.pool p
        where r.org = _task.org and r.id = _runner and p.id = _task.pool and orange.meets(r, p)
    );
end
$$;

-- Rows of the answers that are lists. Each kind of row uses the columns that it needs.
create type orange.line as (
    kind text,
    task text,
    name text,
    first bigint,
    last bigint,
    epoch bigint,
    sha bytea,
    body text,
    extra text,
    bytes bytea
);
