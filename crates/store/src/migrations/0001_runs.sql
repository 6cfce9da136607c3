-- Version 1: runs, the points that they planned, the rounds that were measured, and views over
-- their JSON. Documented in docs/records.md. Never edit this file after a release.

CREATE TABLE runs (
    run      TEXT PRIMARY KEY NOT NULL,
    started  TEXT NOT NULL,             -- RFC 3339, UTC
    schema   INTEGER NOT NULL,          -- version of the meaning of this run's JSON
    groma    TEXT NOT NULL,             -- version of the program that wrote it
    profile  TEXT NOT NULL,
    host     TEXT,                      -- name of the machine
    noise    TEXT,                      -- noise of the host before the run
    args     TEXT NOT NULL,             -- JSON array
    status   TEXT NOT NULL CHECK (status IN ('running', 'complete', 'interrupted', 'killed')),
    owner    TEXT NOT NULL,             -- the process that writes it
    ending   TEXT,                      -- JSON: the `end` line
    kernel   TEXT,                      -- release of the kernel; null where it is not known
    -- JSON: the `run` line without tags. It is the last column because it takes several pages, which
    -- a list of runs would read to reach the columns behind it: half the time for 10,000 runs.
    header   TEXT NOT NULL
) STRICT;

CREATE INDEX runs_by_time ON runs (started);

CREATE INDEX runs_by_host ON runs (host, started);

CREATE TABLE tags (
    tag TEXT NOT NULL,
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    PRIMARY KEY (tag, run)
) STRICT, WITHOUT ROWID;

CREATE INDEX tags_by_run ON tags (run);

CREATE TABLE points (
    run         TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    point       INTEGER NOT NULL,       -- index in the plan, from 0
    bench       TEXT NOT NULL,
    version     INTEGER NOT NULL,
    params      TEXT NOT NULL,          -- JSON object
    params_text TEXT NOT NULL,
    placement   TEXT NOT NULL,
    workers     INTEGER NOT NULL,
    crew        TEXT NOT NULL,
    definition  TEXT NOT NULL,          -- JSON: all of it, with its metrics
    PRIMARY KEY (run, point)
) STRICT;

CREATE INDEX points_by_bench ON points (bench, run);

CREATE TABLE rounds (
    run    TEXT NOT NULL,
    point  INTEGER NOT NULL,
    round  INTEGER NOT NULL,            -- from 0
    state  TEXT NOT NULL,
    reason TEXT NOT NULL,
    result TEXT NOT NULL,               -- JSON: series, proofs, facts
    PRIMARY KEY (run, point, round),
    FOREIGN KEY (run, point) REFERENCES points ON DELETE CASCADE
) STRICT;

-- One row for each metric that a point reports.
CREATE VIEW metrics AS
SELECT p.run, p.point, m.value ->> 'id' AS metric, p.bench, p.version, p.params, p.params_text, p.placement, p.workers,
       m.value ->> 'summary' AS summary, m.value ->> 'quantity' AS quantity, m.value ->> 'better' AS better,
       m.value -> 'derivation' AS derivation
FROM points p, json_each(p.definition, '$.metrics') m;

-- One row for each series of each round.
CREATE VIEW series AS
SELECT r.run, r.point, p.bench, p.version, p.params, p.params_text, p.placement, p.workers, r.round, r.state,
       s.value ->> 'name' AS series, s.value ->> 'iters' AS iters, s.value ->> 'per_iter' AS per_iter,
       coalesce(json_array_length(s.value, '$.dt'), 0) AS samples
FROM rounds r JOIN points p ON p.run = r.run AND p.point = r.point, json_each(r.result, '$.series') s;

-- One row for each sample. Columns that were all zero are not in the JSON, hence coalesce.
CREATE VIEW samples AS
SELECT r.run, r.point, p.bench, p.version, p.params, p.params_text, p.placement, p.workers, r.round, r.state,
       s.value ->> 'name' AS series, s.value ->> 'per_iter' AS per_iter, d.key AS sample,
       coalesce(r.result ->> (s.fullkey || '.worker[' || d.key || ']'), 0) AS worker,
       coalesce(r.result ->> (s.fullkey || '.cpu[' || d.key || ']'), 0) AS cpu,
       r.result ->> (s.fullkey || '.t0[' || d.key || ']') AS t0_ns,
       d.value AS elapsed_ns,
       r.result ->> (s.fullkey || '.n[' || d.key || ']') AS iters,
       coalesce(r.result ->> (s.fullkey || '.cpu_ns[' || d.key || ']'), 0) AS cpu_ns,
       coalesce(r.result ->> (s.fullkey || '.labels[' || d.key || ']'), 0) AS labels,
       r.result ->> (s.fullkey || '.margin[' || d.key || ']') AS margin_ns
FROM rounds r JOIN points p ON p.run = r.run AND p.point = r.point,
     json_each(r.result, '$.series') s, json_each(r.result, s.fullkey || '.dt') d;

-- One row for each value that a benchmark computed itself.
CREATE VIEW stated AS
SELECT r.run, r.point, p.bench, p.version, p.params, p.params_text, p.placement, p.workers, r.round, r.state,
       s.value ->> 'name' AS series, v.key AS sample, v.value AS value
FROM rounds r JOIN points p ON p.run = r.run AND p.point = r.point,
     json_each(r.result, '$.series') s, json_each(s.value, '$.values') v;

-- One row for each proof of each round; seen is null where it was not a finite number.
CREATE VIEW proofs AS
SELECT r.run, r.point, p.bench, p.version, p.params, p.params_text, p.placement, p.workers, r.round, r.state,
       f.value ->> 'name' AS name, f.value ->> 'expected' AS expected, f.value ->> 'seen' AS seen,
       f.value ->> 'holds' AS holds
FROM rounds r JOIN points p ON p.run = r.run AND p.point = r.point, json_each(r.result, '$.proofs') f;

-- One row for each fact about the machine of a run.
CREATE VIEW facts AS
SELECT r.run, f.value ->> 'key' AS key, f.value ->> 'value' AS value
FROM runs r, json_each(r.header, '$.environment') f;

-- The bits of samples.labels.
CREATE VIEW labels (bit, letter, meaning) AS
VALUES (1, 'P', 'preempted'),
       (2, 'V', 'blocked'),
       (4, 'M', 'moved to another CPU'),
       (8, 'F', 'unexpected page faults'),
       (16, 'S', 'time stolen by the host or interrupts'),
       (32, 'T', 'clocks disagree'),
       (64, 'C', 'core frequency changed'),
       (128, 'H', 'throttled or stolen from during the round'),
       (256, 'O', 'worker group not complete for the whole sample'),
       (512, 'N', 'the sibling thread of the core was busy');
