-- The tables of a fleet's results, version 1. Applied once, in a transaction that holds the lock of
-- migrations. A change of these tables is a further file and a number in postgres.rs; this one
-- stays.
create schema if not exists groma;

create table groma.run (
    run text primary key,
    host text not null,
    started timestamptz not null,
    received timestamptz not null default now(),
    groma text not null,
    profile text not null,
    -- Whether it was ended early.
    interrupted boolean not null,
    -- The facts about the machine, by their keys.
    facts jsonb not null,
    -- The stream as it was sent. All else is derived from it.
    stream text not null
);
create index run_of_host on groma.run (host, started desc);

create table groma.metric (
    run text not null references groma.run on delete cascade,
    -- Its place in the run, from 0.
    place integer not null,
    id text not null,
    params text not null,
    placement text not null,
    workers integer not null,
    state text not null,
    unit text not null,
    value double precision,
    low double precision,
    high double precision,
    primary key (run, place)
);
create index metric_by_id on groma.metric (id, params, placement);

-- The newest run of each host.
create view groma.newest as
    select distinct on (host) * from groma.run order by host, started desc, run desc;
