-- Registration, beats, and what happens when they stop.

create type orange.registration as (registered boolean, incarnation bigint, lost_after bigint, replaced boolean);

-- Registers a home by compare-and-swap on the incarnation that it has seen.
create function orange.register_1(
    _org text, _runner text, _home text, _seen bigint, _lost_after bigint,
    _format bigint, _projects text[], _harnesses text[], _labels text[]
) returns orange.registration language plpgsql as $$
declare
    _now bigint := orange.now_ms();
    _granted bigint := least(_lost_after, orange.longest_lost_after());
    _record orange.runner;
begin
    if _seen = 0 then
        insert into orange.runner
            (org, id, home, incarnation, online, lost_after, expires_at, old_until,
             format, projects, harnesses, labels)
        values (_org, _runner, _home, 1, true, _granted, _now + _granted, _now,
             _format, _projects, _harnesses, _labels)
        on conflict do nothing;
        if found then
            return row(true, 1::bigint, _granted, false);
        end if;
    end if;
    select * into _record from orange.runner where org = _org and id = _runner for no key update;
    if not found then
        return row(false, 0::bigint, 0::bigint, false);
    end if;
    if _seen = _record.incarnation then
        _record.old_until := greatest(_record.old_until, _record.expires_at);
        _record.incarnation := _record.incarnation + 1;
        _record.home := _home;
        _record.online := true;
    elsif not (_record.online and _seen = _record.incarnation - 1 and _record.home = _home) then
        return row(false, _record.incarnation, 0::bigint, _record.home <> _home);
    end if;
    update orange.runner set
        old_until = _record.old_until,
        incarnation = _record.incarnation,
        home = _record.home,
        online = _record.online,
        lost_after = _granted,
        expires_at = greatest(expires_at, _now + _granted),
        format = _format,
        projects = _projects,
        harnesses = _harnesses,
        labels = _labels
    where org = _org and id = _runner;
    return row(true, _record.incarnation, _granted, false);
end
$$;

-- Extends the lease, and names the differences between what is held and what is owned.
create function orange.beat_1(
    _org text, _runner text, _home text, _incarnation bigint, _tasks text[], _epochs bigint[]
) returns setof orange.line language plpgsql as $$
declare
    _now bigint := orange.now_ms();
    _record orange.runner;
begin
    update orange.runner set expires_at = greatest(expires_at, _now + lost_after)
    where org = _org and id = _runner and incarnation = _incarnation and online
    returning * into _record;
    if not found then
        select * into _record from orange.runner where org = _org and id = _runner;
        return query select 'stale', null, null, coalesce(_record.incarnation, 0),
            coalesce((_record.home <> _home)::int::bigint, 0), null::bigint, null::bytea, null, null, null::bytea;
        return;
    end if;
    return query select 'alive', null, _record.want, _record.lost_after, _now,
        null::bigint, null::bytea, null, null, null::bytea;
    return query
        select 'lost', held.task, null, null::bigint, null::bigint, held.epoch, null::bytea, null, null, null::bytea
        from unnest(_tasks, _epochs) with ordinality as held (task, epoch, number)
        left join orange.task t on t.org = _org and t.id = held.task
        where t.id is null or not (
            coalesce(t.epoch = held.epoch and t.holder = _runner and t.incarnation = _incarnation, false)
            or orange.forgot(t, _runner, held.epoch)
        )
        order by held.number;
    return query
        select 'yours', it.id, null, null::bigint, null::bigint, it.epoch, null::bytea, null, null, null::bytea
        from (
            select t.id, t.epoch from orange.task t
            where t.org = _org and t.holder = _runner and t.incarnation = _incarnation
                and t.id <> all(_tasks)
            union all
            select t.id, t.epoch
            from (
                select distinct on (held.task) held.task, held.epoch
                from unnest(_tasks, _epochs) with ordinality as held (task, epoch, number)
                order by held.task, held.number
            ) held
            join orange.task t on t.org = _org and t.id = held.task
            where orange.forgot(t, _runner, held.epoch)
        ) it
        order by it.id collate "C";
end
$$;

-- The caller that gets this lock is the coordinator until the end of its transaction.
create function orange.is_coordinator() returns boolean language sql volatile as $$
    select pg_try_advisory_xact_lock(hashtextextended('orange coordinator', 0))
$$;

-- A long gap before a mark means that beats could not arrive, so the time before it counts against
-- no runner. After a change of the timeline nothing is claimed for a while: runners first name what
-- they hold.
create function orange.mark_1() returns boolean language plpgsql as $$
declare
    _now bigint := orange.now_ms();
    _timeline bigint := orange.timeline();
begin
    if not orange.is_coordinator() then
        return false;
    end if;
    update orange.coordinator set
        up_since = case
            when timeline <> _timeline or _now - last_mark > orange.longest_gap() then _now
            else up_since
        end,
        last_mark = _now,
        claims_from = case
            when timeline <> _timeline then _now + orange.longest_lost_after()
            else claims_from
        end,
        timeline = _timeline;
    return true;
end
$$;

-- Marks, gives up runners whose lease has passed, and releases what no current incarnation owns.
-- Rows that a call uses at the moment are left to the next time.
create function orange.reap_1() returns bigint language plpgsql as $$
declare
    _now bigint;
    _up bigint;
    _released bigint;
begin
    if not orange.mark_1() then
        return null;
    end if;
    _now := orange.now_ms();
    select _now - up_since into _up from orange.coordinator;
    with lost as (
        select org, id from orange.runner
        where online and _up >= lost_after and expires_at < _now
        for no key update skip locked
    )
    update orange.runner r set
        online = false,
        old_until = greatest(r.old_until, r.expires_at),
        incarnation = r.incarnation + 1
    from lost where r.org = lost.org and r.id = lost.id;
    -- An incarnation that began meanwhile is higher, and keeps its tasks.
    with left_behind as (
        select t.org, t.id from orange.task t
        join orange.runner r on r.org = t.org and r.id = t.holder
        where t.incarnation is not null and t.incarnation < r.incarnation and r.old_until < _now
        for no key update of t skip locked
    )
    update orange.task t set
        incarnation = null,
        since = _now,
        returns = t.returns + 1,
        rest = case when t.attempts < orange.most_attempts() then 0 else 1 end,
        until = 0
    from left_behind l where t.org = l.org and t.id = l.id;
    get diagnostics _released = row_count;
    return _released;
end
$$;
