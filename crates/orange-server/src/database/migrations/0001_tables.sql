-- What the server keeps. `org` leads every key, so that no query crosses organisations.
--
-- Texts that were hashed are `text`: json and jsonb would not keep them byte for byte.
-- Names are compared by their bytes (collation "C"), as the server's program does.

create table orange.runner (
    org text collate "C" not null,
    id text collate "C" not null,
    home text collate "C" not null,
    incarnation bigint not null,
    online boolean not null,
    lost_after bigint not null,
    -- Until when the current incarnation may run agents.
    expires_at bigint not null,
    -- Until when an older incarnation may run agents.
    old_until bigint not null,
    format bigint not null,
    projects text[] not null,
    harnesses text[] not null,
    labels text[] not null,
    want text not null default 'hold',
    primary key (org, id)
) with (fillfactor = 50);

-- Tasks with the same needs. A claim looks at the head of each pool, and never sorts a queue.
create table orange.pool (
    id bigint generated always as identity primary key,
    org text collate "C" not null,
    project text collate "C" not null,
    -- The hash of the needs: arrays of names do not fit into an index.
    sha bytea not null,
    harnesses text[] not null,
    labels text[] not null,
    format bigint not null,
    unique (org, project, sha)
);

create table orange.task (
    org text collate "C" not null,
    id text collate "C" not null,
    project text collate "C" not null,
    pool bigint not null,
    priority bigint not null,
    parent text collate "C",
    version bigint not null,
    head_sha bytea not null,
    -- How much its log and texts take.
    bytes bigint not null,
    epoch bigint not null default 0,
    -- The runner that held it last.
    holder text collate "C",
    -- The incarnation of the runner that holds it now.
    incarnation bigint,
    -- How it waits without a holder: 0 for a runner, 1 for a person, 2 for a time.
    rest smallint not null default 0,
    until bigint not null default 0,
    returns bigint not null default 0,
    attempts bigint not null default 0,
    since bigint not null,
    status text not null,
    ended boolean not null,
    shown text not null,
    -- How many of the tasks that it waits for have not ended.
    blocked bigint not null default 0,
    open_mail bigint not null default 0,
    letters bigint not null default 0,
    -- From when a runner may claim it; null if none may.
    wakes bigint generated always as (
        case
            when incarnation is not null then null
            when open_mail > 0 then 0
            when not ended and rest <> 1 and blocked = 0 then until
        end
    ) stored,
    primary key (org, id)
) with (fillfactor = 70);

create index task_queue on orange.task (org, pool, returns desc, priority desc, since, id, wakes)
    where wakes is not null;
create index task_mail on orange.task (org, pool, returns desc, priority desc, since, id)
    where incarnation is null and open_mail > 0;
create index task_held on orange.task (org, holder) where incarnation is not null;

-- A row per commit, never changed.
create table orange.log (
    org text collate "C" not null,
    task text collate "C" not null,
    first bigint not null,
    last bigint not null,
    epoch bigint not null,
    sha bytea not null,
    -- A JSON array of the events as their runner wrote them.
    events text not null,
    -- The hashes of its texts, one after the other.
    texts bytea not null,
    request text collate "C",
    -- Its place in the feed: timeline, transaction, number in the transaction.
    place bigint not null,
    at bigint not null,
    primary key (org, task, first),
    unique (org, place)
);

-- Texts belong to a project, so that who may read the project may read them.
create table orange.body (
    org text collate "C" not null,
    project text collate "C" not null,
    sha bytea not null,
    content bytea not null,
    primary key (org, project, sha)
);

create table orange.mail (
    org text collate "C" not null,
    id text collate "C" not null,
    task text collate "C" not null,
    -- 'person' or 'child'.
    kind text not null,
    sender text collate "C" not null,
    key text collate "C" not null,
    ask text not null,
    -- 0 open, 1 recorded by the commit that ends with `version`, 2 answered.
    state smallint not null default 0,
    version bigint,
    answer text,
    primary key (org, id),
    unique (org, task, kind, sender, key)
);

create index mail_open on orange.mail (org, task) where state = 0;

-- A task waits for another one, which need not exist yet.
create table orange.dependency (
    org text collate "C" not null,
    task text collate "C" not null,
    after text collate "C" not null,
    primary key (org, task, after)
);

create index dependency_after on orange.dependency (org, after);

-- The newest work in progress of a task.
create table orange.wip (
    org text collate "C" not null,
    task text collate "C" not null,
    epoch bigint not null,
    number bigint not null,
    base text not null,
    bundle text not null,
    document bytea not null,
    imported bytea,
    primary key (org, task)
);

create table orange.token (
    sha bytea primary key,
    org text collate "C" not null,
    kind text collate "C" not null,
    subject text collate "C" not null,
    roles text not null,
    -- Null means all projects of the organisation.
    projects text[],
    created_at bigint not null,
    expires_at bigint,
    used_at bigint,
    -- The token that it was exchanged for.
    used_for bytea,
    revoked_at bigint
);

create index token_org on orange.token (org, created_at);

-- One row: since when runners could be heard, and the history of the database.
create table orange.coordinator (
    one boolean primary key default true check (one),
    timeline bigint not null,
    up_since bigint not null default 0,
    last_mark bigint not null default 0,
    claims_from bigint not null default 0
);
