-- Tags, the kernel of each run, and the order of a host's runs.
CREATE TABLE tags (
    tag TEXT NOT NULL,
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    PRIMARY KEY (tag, run)
) STRICT, WITHOUT ROWID;

CREATE INDEX tags_by_run ON tags (run);

CREATE INDEX runs_by_host ON runs (host, started);

ALTER TABLE runs ADD COLUMN kernel TEXT;    -- its release; null where it is not known

-- A damaged header must not keep the file from being opened.
UPDATE runs SET kernel = CASE WHEN json_valid(header) THEN (
    SELECT f.value ->> 'value' FROM json_each(header, '$.environment') f
    WHERE CASE f.type WHEN 'object' THEN f.value ->> 'key' END = 'kernel.release' LIMIT 1
) END;

-- The header becomes the last column. It takes several pages, and a list of runs read all of them to
-- reach what came behind it: half the time for 10,000 runs.
DROP VIEW facts;
ALTER TABLE runs ADD COLUMN moved TEXT NOT NULL DEFAULT '';
UPDATE runs SET moved = header;
ALTER TABLE runs DROP COLUMN header;
ALTER TABLE runs RENAME COLUMN moved TO header;

-- One row for each fact about the machine of a run.
CREATE VIEW facts AS
SELECT r.run, f.value ->> 'key' AS key, f.value ->> 'value' AS value
FROM runs r, json_each(r.header, '$.environment') f;
