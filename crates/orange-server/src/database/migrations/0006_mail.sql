-- Mail: requests on their way to the holder, each decided once.

-- Posts a person's request. The same key again is the same request. No row without the task.
create function orange.post_1(_org text, _person text, _task text, _key text, _ask text)
returns setof orange.mail language plpgsql as $$
declare
    _id text;
begin
    -- A repetition changes nothing and needs no lock.
    return query select * from orange.mail
        where org = _org and task = _task and kind = 'person' and sender = _person and key = _key;
    if found then
        return;
    end if;
    _id := orange.add_mail(_org, _task, 'person', _person, _key, _ask);
    return query select * from orange.mail where org = _org and id = _id;
end
$$;

-- Decides mail without a commit. Answers `ok`, `decided` or `fenced`.
create function orange.answer_mail_1(
    _org text, _runner text, _mail text, _task text, _epoch bigint, _answer text
) returns text language plpgsql as $$
declare
    _state smallint;
begin
    perform from orange.task
    where org = _org and id = _task and epoch = _epoch and holder = _runner and incarnation is not null
    for no key update;
    if not found then
        return 'fenced';
    end if;
    select state into _state from orange.mail where org = _org and id = _mail and task = _task;
    if not found then
        return 'fenced';
    end if;
    if _state <> 0 then
        return 'decided';
    end if;
    update orange.mail set state = 2, answer = _answer where org = _org and id = _mail;
    update orange.task set open_mail = open_mail - 1 where org = _org and id = _task;
    return 'ok';
end
$$;
