-- Claims, adoptions and releases: which runner holds a task.

-- The epoch of the next holding of a task. An adoption has one of its own too: calls with the former
-- one are late.
create function orange.next_epoch(_epoch bigint) returns bigint language sql volatile as $$
    select greatest(_epoch, orange.timeline() << 40) + 1
$$;

-- Everything needed to continue a task that was just claimed.
create function orange.claim_lines(
    _org text, _task text, _project text, _version bigint, _epoch bigint, _sha bytea
) returns setof orange.line language sql stable as $$
    select 'claim', _task, null::text, null::bigint, _version, _epoch, _sha, null::text, null::text, null::bytea
    union all
    (select 'commit', _task, null, l.first, l.last, l.epoch, l.sha, l.events, l.request::text, l.texts
        from orange.log l where l.org = _org and l.task = _task order by l.first)
    union all
    (select 'text', _task, null, null, null, null, b.sha, null, null, b.content
        from (
            select distinct substring(l.texts from (place.n * 32 + 1)::int for 32) as sha
            from orange.log l, generate_series(0, octet_length(l.texts) / 32 - 1) as place (n)
            where l.org = _org and l.task = _task and l.texts <> ''
        ) named
        join orange.body b on b.org = _org and b.project = _project and b.sha = named.sha
        order by b.sha)
    union all
    (select 'wip', _task, w.base, w.number, null, w.epoch, w.imported, w.bundle, null, w.document
        from orange.wip w where w.org = _org and w.task = _task)
    union all
    (select 'elsewhere', _task, t.id::text, null, null, null, null, t.status, null, null
        from orange.dependency d
        join orange.task t on t.org = _org and t.id = d.after
        where d.org = _org and d.task = _task order by t.id)
$$;

-- Claims tasks for a runner, and collects the open mail of the tasks that it holds.
create function orange.work_1(
    _org text, _runner text, _incarnation bigint, _free bigint, _parked text[],
    _most_claims bigint, _most_bytes bigint, _most_mail bigint
) returns setof orange.line language plpgsql as $$
declare
    _now bigint := orange.now_ms();
    _may_claim boolean;
    _is_locked boolean := false;
    _pools bigint[];
    _tried bigint[];
    _pool bigint;
    _task orange.task;
    _sent bigint := 0;
begin
    -- Pools whose tasks the runner can work on. A new timeline that no coordinator has marked yet
    -- is a failover too.
    select
        array(
            select p.id from orange.pool p
            where p.org = _org and p.project = any(r.projects)
                and not p.harnesses && _parked and orange.meets(r, p)
        ),
        c.claims_from <= _now and c.timeline = orange.timeline()
    into _pools, _may_claim
    from orange.runner r, orange.coordinator c
    where r.org = _org and r.id = _runner and r.incarnation = _incarnation and r.online;
    if not found then
        return;
    end if;
    for _ in 1 .. case when _may_claim then least(greatest(_free, 1), _most_claims) else 0 end loop
        _tried := '{}';
        loop
            -- The pool whose first task comes first. Nothing is locked yet, so that runners which
            -- look at the same time do not hide tasks from each other.
            if _free > 0 then
                select head.pool into _pool from unnest(_pools) as it (id)
                cross join lateral (
                    select t.pool, t.returns, t.priority, t.since, t.id from orange.task t
                    where t.org = _org and t.pool = it.id and t.wakes is not null and t.wakes <= _now
                    order by t.returns desc, t.priority desc, t.since, t.id limit 1
                ) head
                where it.id <> all(_tried)
                order by head.returns desc, head.priority desc, head.since, head.id limit 1;
            else
                select head.pool into _pool from unnest(_pools) as it (id)
                cross join lateral (
                    select t.pool, t.returns, t.priority, t.since, t.id from orange.task t
                    where t.org = _org and t.pool = it.id and t.incarnation is null and t.open_mail > 0
                    order by t.returns desc, t.priority desc, t.since, t.id limit 1
                ) head
                where it.id <> all(_tried)
                order by head.returns desc, head.priority desc, head.since, head.id limit 1;
            end if;
            exit when _pool is null;
            if not _is_locked then
                -- Nothing is claimed for an incarnation that is lost at this moment.
                perform from orange.runner
                where org = _org and id = _runner and incarnation = _incarnation and online for share;
                if not found then
                    return;
                end if;
                _is_locked := true;
            end if;
            if _free > 0 then
                with head as materialized (
                    select q.id from orange.task q
                    where q.org = _org and q.pool = _pool and q.wakes is not null and q.wakes <= _now
                    order by q.returns desc, q.priority desc, q.since, q.id limit 1
                    for no key update skip locked
                )
                update orange.task t set
                    epoch = orange.next_epoch(t.epoch),
                    holder = _runner,
                    incarnation = _incarnation,
                    attempts = t.attempts + 1
                from head where t.org = _org and t.id = head.id
                returning t.* into _task;
            else
                with head as materialized (
                    select q.id from orange.task q
                    where q.org = _org and q.pool = _pool and q.incarnation is null and q.open_mail > 0
                    order by q.returns desc, q.priority desc, q.since, q.id limit 1
                    for no key update skip locked
                )
                update orange.task t set
                    epoch = orange.next_epoch(t.epoch),
                    holder = _runner,
                    incarnation = _incarnation,
                    attempts = t.attempts + 1
                from head where t.org = _org and t.id = head.id
                returning t.* into _task;
            end if;
            exit when found;
            -- Others have all of this pool at the moment.
            _tried := _tried || _pool;
        end loop;
        exit when _pool is null;
        return query select * from orange.claim_lines(
            _org, _task.id, _task.project, _task.version, _task.epoch, _task.head_sha);
        _sent := _sent + _task.bytes;
        exit when _sent >= _most_bytes;
    end loop;
    return query
        select 'mail', m.task::text, m.id::text, (m.kind = 'child')::int::bigint, null::bigint, null::bigint,
            null::bytea, m.ask, m.sender::text, null::bytea
        from orange.task t
        join orange.mail m on m.org = _org and m.task = t.id and m.state = 0
        where t.org = _org and t.holder = _runner and t.incarnation = _incarnation and t.open_mail > 0
        order by m.id limit _most_mail;
end
$$;

-- Gives the runner a new epoch of a task that belongs to it.
create function orange.adopt_1(
    _org text, _runner text, _incarnation bigint, _task text, _seen bigint, _held bigint
) returns setof orange.line language plpgsql as $$
declare
    _record orange.task;
begin
    perform from orange.runner
    where org = _org and id = _runner and incarnation = _incarnation and online for share;
    if not found then
        return;
    end if;
    select * into _record from orange.task where org = _org and id = _task and epoch = _seen for no key update;
    if not found then
        return;
    end if;
    if (_record.holder = _runner and _record.incarnation = _incarnation)
        or (_held is not null and orange.forgot(_record, _runner, _held)) then
        update orange.task set
            epoch = orange.next_epoch(epoch),
            holder = _runner,
            incarnation = _incarnation,
            attempts = attempts + 1
        where org = _org and id = _task
        returning * into _record;
        return query select * from orange.claim_lines(
            _org, _task, _record.project, _record.version, _record.epoch, _record.head_sha);
    end if;
end
$$;

-- Ends the holding of a task. Whether the caller held it.
create function orange.give_back_1(
    _org text, _runner text, _task text, _epoch bigint, _rest smallint, _until bigint
) returns boolean language plpgsql as $$
begin
    update orange.task set
        incarnation = null,
        since = orange.now_ms(),
        returns = returns + 1,
        rest = case when attempts < orange.most_attempts() then _rest else 1 end,
        until = case when attempts < orange.most_attempts() then _until else 0 end
    where org = _org and id = _task and epoch = _epoch and holder = _runner and incarnation is not null;
    return found;
end
$$;

-- Saves the work in progress of a task, unless newer work is there. Whether the caller held it.
create function orange.save_wip_1(
    _org text, _runner text, _task text, _epoch bigint, _number bigint,
    _base text, _bundle text, _document bytea, _imported bytea
) returns boolean language plpgsql as $$
begin
    perform from orange.task
    where org = _org and id = _task and epoch = _epoch and holder = _runner and incarnation is not null
    for share;
    if not found then
        return false;
    end if;
    insert into orange.wip as w (org, task, epoch, number, base, bundle, document, imported)
    values (_org, _task, _epoch, _number, _base, _bundle, _document, _imported)
    on conflict (org, task) do update set
        epoch = excluded.epoch, number = excluded.number, base = excluded.base,
        bundle = excluded.bundle, document = excluded.document, imported = excluded.imported
    where (w.epoch, w.number) < (excluded.epoch, excluded.number);
    return true;
end
$$;
