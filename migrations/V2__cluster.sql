-- Nodes and leases. An incarnation is one life of one process: a number from a sequence, because
-- clocks and names both lie.

CREATE TABLE nodes (
    incarnation   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          text NOT NULL,
    role          text NOT NULL CHECK (role IN ('intake', 'dispatcher', 'activator', 'worker', 'notifier')),
    address       text NOT NULL,
    version       text NOT NULL,
    concurrency   integer NOT NULL DEFAULT 0,
    status        text NOT NULL CHECK (status IN ('starting', 'active', 'standby', 'offline', 'stopping', 'stopped', 'lost')),
    started_at    timestamptz NOT NULL DEFAULT now(),
    ended_at      timestamptz,
    CHECK ((status IN ('stopped', 'lost')) = (ended_at IS NOT NULL))
);
CREATE UNIQUE INDEX nodes_live_name ON nodes (name) WHERE ended_at IS NULL;

-- Beats stand apart: this row changes every few seconds, the other hardly ever.
CREATE TABLE heartbeats (
    incarnation  bigint PRIMARY KEY,
    at           timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE leases (
    name    text PRIMARY KEY,
    holder  bigint NOT NULL,
    until   timestamptz NOT NULL
) WITH (fillfactor = 50);

-- The epoch of a lease stands apart from its renewal: writers lock this row shared, and a
-- take-over, which changes it, waits for them.
CREATE TABLE epochs (
    name   text PRIMARY KEY,
    epoch  bigint NOT NULL
);
INSERT INTO epochs (name, epoch) VALUES ('dispatcher', 0);
