-- What walks over all orders need (REC-6, ORD-26): how far each has come, and what the consistency check left to people.

-- Orders whose rows contradict each other in a way that only a person can put right.
CREATE TABLE inconsistencies (
    order_no  bigint PRIMARY KEY,
    -- The names of what was found.
    findings  text[] NOT NULL,
    found_at  timestamptz NOT NULL DEFAULT now()
);

-- One row for each walk over all orders by ascending number. Whoever holds it takes the next page; nobody takes one
-- before its time, so that the rate is one for all activators.
CREATE TABLE walks (
    name      text PRIMARY KEY,
    after_no  bigint NOT NULL DEFAULT 0,
    -- How far a walk by name has come, where it goes by names.
    after     text NOT NULL DEFAULT '',
    next_at   timestamptz NOT NULL DEFAULT now(),
    begun_at  timestamptz NOT NULL DEFAULT now(),
    -- Rounds that were ended, and when the last was.
    rounds    bigint NOT NULL DEFAULT 0,
    ended_at  timestamptz
) WITH (fillfactor = 50);
