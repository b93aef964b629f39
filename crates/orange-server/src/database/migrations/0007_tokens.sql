-- Tokens: stored by hash, the secrets are never here.

-- Uses a valid token of one use, and stores the one that it is exchanged for. The same exchange
-- again succeeds again. Null when the token cannot be used.
create function orange.exchange_token_1(
    _sha bytea, _kind text,
    _new_sha bytea, _new_kind text, _subject text, _roles text, _projects text[], _lifetime bigint
) returns bytea language plpgsql as $$
declare
    _now bigint := orange.now_ms();
    _record orange.token;
begin
    select * into _record from orange.token where sha = _sha and kind = _kind for no key update;
    if not found or _record.revoked_at is not null then
        return null;
    end if;
    if _record.used_at is not null then
        return case when _record.used_for = _new_sha then _new_sha end;
    end if;
    if _record.expires_at <= _now then
        return null;
    end if;
    insert into orange.token (sha, org, kind, subject, roles, projects, created_at, expires_at)
    values (_new_sha, _record.org, _new_kind, _subject, _roles, _projects, _now, _now + _lifetime)
    on conflict do nothing;
    if not found then
        return null;
    end if;
    update orange.token set used_at = _now, used_for = _new_sha where sha = _sha;
    return _new_sha;
end
$$;
