-- What a file of version 1 or 2 lacks, for a connection that cannot migrate it: temporary objects
-- hide those of the file.
PRAGMA temp_store = MEMORY;

CREATE TEMP TABLE tags (tag TEXT, run TEXT);

CREATE TEMP VIEW runs AS
SELECT r.rowid AS rowid, r.*, CASE WHEN json_valid(r.header) THEN (
    SELECT f.value ->> 'value' FROM json_each(r.header, '$.environment') f
    WHERE CASE f.type WHEN 'object' THEN f.value ->> 'key' END = 'kernel.release' LIMIT 1
) END AS kernel
FROM main.runs r;
