/** A write whose only purpose is to succeed, with the number of its bytes. */
export const probe = 'insert or replace into probe values (1, zeroblob(?))';

/** The tables of operational records whose stores write them by plain statements. */
export const recordTables = `
  create table if not exists checkpoints (name text primary key, position integer not null, event text, openSince integer, state text not null) strict, without rowid;
  create table if not exists key_uses (key text primary key, at text not null) strict, without rowid;
  create table if not exists hook_calls (
    number integer primary key,
    id text not null unique,
    hook text not null,
    org text not null,
    at text not null,
    status integer not null,
    code text,
    card text,
    requestId text not null
  ) strict;
  create index if not exists hook_calls_by_hook on hook_calls (hook, number);
  create table if not exists hook_uses (hook text primary key, fires integer not null, lastFiredAt text not null) strict, without rowid;
  create table if not exists requests (id text primary key, at text not null, record text not null) strict, without rowid;
  create index if not exists requests_by_at on requests (at);
  create table if not exists request_subjects (
    id text not null,
    subject text not null,
    at text not null,
    org text,
    primary key (id, subject)
  ) strict, without rowid;
  create index if not exists requests_by_subject on request_subjects (subject, at, id, org);
  -- Named after its first kinds, for signing in.
  create table if not exists sign_in_records (
    kind text not null,
    id text not null,
    owner text not null,
    data text not null,
    ends integer,
    version integer not null,
    primary key (kind, id)
  ) strict, without rowid;
  create index if not exists sign_in_records_by_owner on sign_in_records (kind, owner, id);
  create index if not exists sign_in_records_by_end on sign_in_records (ends) where ends is not null;
  create table if not exists probe (one integer primary key check (one = 1), filler blob not null) strict;
  create table if not exists relayed_endpoints (org text primary key, position integer not null, endpoints text not null) strict, without rowid;
`;
