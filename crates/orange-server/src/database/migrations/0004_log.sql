-- Creating tasks, and appending commits to their logs.

-- Puts mail to a task, once per sender and key. Null without the task.
create function orange.add_mail(_org text, _task text, _kind text, _sender text, _key text, _ask text)
returns text language plpgsql as $$
declare
    _id text;
    _letters bigint;
begin
    perform from orange.task where org = _org and id = _task for no key update;
    if not found then
        return null;
    end if;
    select id into _id from orange.mail
    where org = _org and task = _task and kind = _kind and sender = _sender and key = _key;
    if found then
        return _id;
    end if;
    update orange.task set
        letters = letters + 1,
        open_mail = open_mail + 1,
        attempts = case when _kind = 'person' then 0 else attempts end
    where org = _org and id = _task
    returning letters into _letters;
    -- With the timeline: a commit that decides mail which a failover has lost never decides other mail.
    _id := format('%s-%s-%s', _task, orange.timeline(), _letters);
    insert into orange.mail (org, id, task, kind, sender, key, ask)
    values (_org, _id, _task, _kind, _sender, _key, _ask);
    return _id;
end
$$;

-- Tells the tasks that wait for a task whether it is over.
create function orange.free_waiting(_org text, _task text, _change bigint) returns void
language sql volatile as $$
    update orange.task t set blocked = t.blocked + _change
    from orange.dependency d
    where d.org = _org and d.after = _task and t.org = _org and t.id = d.task
$$;

-- In the order of their hashes, so that two calls with the same texts wait for each other once.
create function orange.add_bodies(_org text, _project text, _shas bytea[], _contents bytea[]) returns void
language sql volatile as $$
    insert into orange.body (org, project, sha, content)
    select _org, _project, it.sha, it.content
    from unnest(_shas, _contents) as it (sha, content) order by it.sha
    on conflict do nothing
$$;

-- Only the holder extends a log, at its end, and a repetition is no extension.
--
-- The first `_chained` commits follow each other; the caller has compared their hashes. Whether the
-- first one follows the log is compared here: `_content` is what its hash is over. Answers `ok`,
-- `fenced`, `conflict`, `behind` with the head in `version` and `sha`, or `full`.
create type orange.appended as (result text, version bigint, sha bytea);

create function orange.append_by_rules(
    _org text, _runner text, _task text, _epoch bigint, _base bigint,
    _chained bigint, _content bytea,
    _firsts bigint[], _lasts bigint[], _shas bytea[], _events text[], _texts bytea[], _requests text[],
    _body_shas bytea[], _bodies bytea[],
    _status text, _ended boolean, _shown text, _child_end text,
    _most_version bigint, _most_bytes bigint
) returns orange.appended language plpgsql as $$
declare
    _count bigint := cardinality(_firsts);
    _record orange.task;
    _previous bigint := 0;
    _previous_sha bytea := decode(repeat('00', 32), 'hex');
    _rows bytea[] := '{}';
    _known bigint := 0;
    _opens boolean;
    _decides text[];
    _decided bigint;
    _bytes bigint;
    _now bigint;
    _place bigint;
begin
    select * into _record from orange.task where org = _org and id = _task for no key update;
    if not found then
        return row('fenced'::text, null::bigint, null::bytea);
    end if;
    -- A failover has lost the claim. The next beat leads to an adoption.
    if _epoch > _record.epoch and orange.forgot(_record, _runner, _epoch) then
        return row('behind'::text, _record.version, _record.head_sha);
    end if;
    if _epoch <> _record.epoch or _record.holder is distinct from _runner then
        return row('fenced'::text, null::bigint, null::bytea);
    end if;
    if _record.version < _base then
        return row('behind'::text, _record.version, _record.head_sha);
    end if;
    if _count = 0 then
        return row('ok'::text, _base, null::bytea);
    end if;
    if _base = _record.version then
        _previous := _record.version;
        _previous_sha := _record.head_sha;
    else
        select last, sha into _previous, _previous_sha from orange.log
        where org = _org and task = _task and last <= _base and first <= _base
        order by first desc limit 1;
        if not found then
            _previous := 0;
            _previous_sha := decode(repeat('00', 32), 'hex');
        end if;
        _rows := array(
            select sha from orange.log where org = _org and task = _task and first > _previous
            order by first limit _count + 1
        );
    end if;
    _opens := _chained > 0 and _firsts[1] = _previous + 1
        and _shas[1] = sha256('orange-fleet commit 1\012'::bytea || _previous_sha || _content);
    if _opens then
        while _known < least(_chained, cardinality(_rows)) and _rows[_known + 1] = _shas[_known + 1] loop
            _known := _known + 1;
        end loop;
    end if;
    if _known = _count then
        return row('ok'::text, _lasts[_count], null::bytea);
    end if;
    if _record.incarnation is null then
        return row('fenced'::text, null::bigint, null::bytea);
    end if;
    if not _opens or _known <> cardinality(_rows) or _chained <> _count then
        return row('conflict'::text, null::bigint, null::bytea);
    end if;
    -- Each decided request is open, of this task, and named once.
    _decides := array_remove(_requests[_known + 1:], null);
    _decided := cardinality(_decides);
    if _decided > 0 and _decided <> (
        select count(*) from orange.mail m
        where m.org = _org and m.task = _task and m.state = 0 and m.id = any(_decides)
    ) then
        return row('conflict'::text, null::bigint, null::bytea);
    end if;
    _bytes := (select sum(octet_length(it.body)) from unnest(_events[_known + 1:]) as it (body));
    if cardinality(_bodies) > 0 then
        _bytes := _bytes + (select sum(octet_length(it.body)) from unnest(_bodies) as it (body));
    end if;
    if _lasts[_count] > _most_version or _record.bytes + _bytes > _most_bytes then
        return row('full'::text, _lasts[_count], null::bytea);
    end if;

    _now := orange.now_ms();
    _place := orange.first_place();
    if cardinality(_bodies) > 0 then
        perform orange.add_bodies(_org, _record.project, _body_shas, _bodies);
    end if;
    insert into orange.log (org, task, first, last, epoch, sha, events, texts, request, place, at)
    select _org, _task, it.first, it.last, _epoch, it.sha, it.events, it.texts, it.request,
        _place + it.number - _known - 1, _now
    from unnest(_firsts, _lasts, _shas, _events, _texts, _requests) with ordinality
        as it (first, last, sha, events, texts, request, number)
    where it.number > _known;
    if _decided > 0 then
        update orange.mail m set state = 1, version = it.last
        from unnest(_lasts, _requests) with ordinality as it (last, request, number)
        where it.number > _known and m.org = _org and m.id = it.request;
    end if;
    update orange.task set
        version = _lasts[_count],
        head_sha = _shas[_count],
        bytes = bytes + _bytes,
        attempts = case when status = _status then attempts else 0 end,
        status = _status,
        ended = _ended,
        shown = _shown,
        open_mail = open_mail - _decided,
        -- The end releases the task.
        incarnation = case when _ended then null else incarnation end,
        since = case when _ended then _now else since end,
        returns = case when _ended then returns + 1 else returns end,
        rest = case when _ended then 1 else rest end,
        until = case when _ended then 0 else until end
    where org = _org and id = _task;
    if _record.ended <> _ended then
        perform orange.free_waiting(_org, _task, case when _ended then -1 else 1 end);
    end if;
    if _ended and _record.parent is not null then
        perform orange.add_mail(_org, _record.parent, 'child', _task, 'ended-' || _lasts[_count], _child_end);
    end if;
    return row('ok'::text, _lasts[_count], null::bytea);
end
$$;

-- Nearly every append is one commit at the end of the log, without a decision, and is written by one
-- statement. Whatever does not match it goes through the rules above.
create function orange.append_1(
    _org text, _runner text, _task text, _epoch bigint, _base bigint,
    _chained bigint, _content bytea,
    _firsts bigint[], _lasts bigint[], _shas bytea[], _events text[], _texts bytea[], _requests text[],
    _body_shas bytea[], _bodies bytea[],
    _status text, _ended boolean, _shown text, _child_end text,
    _most_version bigint, _most_bytes bigint
) returns orange.appended language plpgsql as $$
declare
    _project text;
begin
    if cardinality(_firsts) = 1 and _chained = 1 and _requests[1] is null and not _ended
        and cardinality(_bodies) < 2
    then
        with moved as (
            update orange.task set
                version = _lasts[1],
                head_sha = _shas[1],
                bytes = bytes + octet_length(_events[1]) + coalesce(octet_length(_bodies[1]), 0),
                attempts = case when status = _status then attempts else 0 end,
                status = _status,
                shown = _shown
            where org = _org and id = _task and epoch = _epoch and holder = _runner
                and incarnation is not null and not ended
                and version = _base and _base = _firsts[1] - 1 and _lasts[1] <= _most_version
                and bytes + octet_length(_events[1]) + coalesce(octet_length(_bodies[1]), 0) <= _most_bytes
                and _shas[1] = sha256('orange-fleet commit 1\012'::bytea || head_sha || _content)
            returning project
        ), written as (
            insert into orange.log (org, task, first, last, epoch, sha, events, texts, place, at)
            select _org, _task, _firsts[1], _lasts[1], _epoch, _shas[1], _events[1], _texts[1],
                orange.first_place(), orange.now_ms()
            from moved
        ), kept as (
            insert into orange.body (org, project, sha, content)
            select _org, project, _body_shas[1], _bodies[1] from moved where _body_shas[1] is not null
            on conflict do nothing
        )
        select project into _project from moved;
        if found then
            return row('ok'::text, _lasts[1], null::bytea);
        end if;
    end if;
    return orange.append_by_rules(
        _org, _runner, _task, _epoch, _base, _chained, _content, _firsts, _lasts, _shas, _events, _texts, _requests, _body_shas,
        _bodies, _status, _ended, _shown, _child_end, _most_version, _most_bytes);
end
$$;

-- Answers `ok`, `taken` or `invalid`. The caller has compared all hashes: `_chained` says how many
-- commits follow each other from the beginning.
create function orange.create_1(
    _org text, _task text, _project text,
    _needs bytea, _harnesses text[], _labels text[], _format bigint,
    _priority bigint, _after text[], _parent text,
    _chained bigint,
    _firsts bigint[], _lasts bigint[], _shas bytea[], _events text[], _texts bytea[], _requests text[],
    _body_shas bytea[], _bodies bytea[],
    _status text, _ended boolean, _shown text
) returns text language plpgsql as $$
declare
    _count bigint := cardinality(_firsts);
    _now bigint;
    _place bigint;
    _pool bigint;
    _bytes bigint;
    _blocked bigint;
begin
    -- One at a time per organisation: two tasks that wait for each other must see each other.
    perform pg_advisory_xact_lock(hashtextextended('orange create ' || _org, 0));
    perform from orange.task where org = _org and id = _task;
    if found then
        return case
            when _count = 0 then 'ok'
            when _chained = _count and _shas = array(
                select sha from orange.log where org = _org and task = _task order by first limit _count
            ) then 'ok'
            else 'taken'
        end;
    end if;
    if _count = 0 or _chained <> _count then
        return 'invalid';
    end if;
    _now := orange.now_ms();
    _place := orange.first_place();
    insert into orange.pool (org, project, sha, harnesses, labels, format)
    values (_org, _project, _needs, _harnesses, _labels, _format)
    on conflict do nothing;
    select id into _pool from orange.pool where org = _org and project = _project and sha = _needs;
    select coalesce(sum(octet_length(it.body)), 0) into _bytes from unnest(_events) as it (body);
    select _bytes + coalesce(sum(octet_length(it.body)), 0) into _bytes from unnest(_bodies) as it (body);
    insert into orange.dependency (org, task, after)
    select _org, _task, it.id from unnest(_after) as it (id);
    -- The lock waits for an append that ends one of them at this moment.
    select count(*) into _blocked from (
        select ended from orange.task
        where org = _org and id = any(_after) order by id for share
    ) other where not other.ended;
    insert into orange.task
        (org, id, project, pool, priority, parent, version, head_sha, bytes, since, status, ended, shown, blocked)
    values (_org, _task, _project, _pool, _priority, _parent, _lasts[_count], _shas[_count], _bytes,
        _now, _status, _ended, _shown, _blocked);
    perform orange.add_bodies(_org, _project, _body_shas, _bodies);
    insert into orange.log (org, task, first, last, epoch, sha, events, texts, request, place, at)
    select _org, _task, it.first, it.last, 0, it.sha, it.events, it.texts, it.request,
        _place + it.number - 1, _now
    from unnest(_firsts, _lasts, _shas, _events, _texts, _requests) with ordinality
        as it (first, last, sha, events, texts, request, number);
    if not _ended then
        perform orange.free_waiting(_org, _task, 1);
    end if;
    return 'ok';
end
$$;
