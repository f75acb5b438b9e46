-- What happened in each minute, for charts: each node adds its counts, and no row says which node it was.
-- Charts, not accounts: the orders themselves are what is counted on.
CREATE TABLE stats (
    minute  timestamptz NOT NULL,
    -- A closed set of words of the program.
    what    text NOT NULL,
    -- A scenario, a status, a class of errors, a system: a bounded number for each node.
    key     text NOT NULL,
    count   bigint NOT NULL,
    -- Seconds, where what is counted takes time; the bounds of the buckets stand in the program.
    sum     double precision NOT NULL DEFAULT 0,
    buckets bigint[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (what, minute, key)
-- The rows of the present minute are updated by every node again and again: room for that beside them.
) WITH (fillfactor = 70);
-- Retention removes the oldest minutes, whatever was counted in them.
CREATE INDEX stats_minute ON stats (minute);

-- The last turn that a node has added: one whose answer was lost is not added twice.
CREATE TABLE stats_turns (
    node bigint PRIMARY KEY,
    turn bigint NOT NULL,
    at   timestamptz NOT NULL
);
