-- Two requests with the same key make one shift: the first answer may have been lost. `asked` is the digest of the request, `moved_at`
-- the time at which all its orders had been moved, or it began to be undone: later repeats move nothing.
ALTER TABLE shifts ADD COLUMN key text UNIQUE, ADD COLUMN asked text, ADD COLUMN moved_at timestamptz;
