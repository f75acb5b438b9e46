-- The call by which the called system learns that an answer is not wanted any more (SCN-22), as it was rendered, without
-- secrets; null for most requests.
ALTER TABLE requests ADD COLUMN cancel text;

-- Calls of requests that were given up: written in the transaction that gives the request up, and made by workers.
CREATE TABLE cancellations (
    -- Sent as the key against doubles.
    id         uuid PRIMARY KEY,
    request    uuid NOT NULL,
    order_no   bigint NOT NULL,
    life       integer NOT NULL,
    name       text NOT NULL,
    call       text NOT NULL,
    status     text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'done', 'failed')),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- A worker that makes the call moves it on, so that another one makes the call if that one dies.
    next_at    timestamptz NOT NULL,
    attempts   integer NOT NULL DEFAULT 0,
    ended_at   timestamptz,
    last_error text,
    CHECK ((status = 'pending') = (ended_at IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

CREATE INDEX cancellations_next ON cancellations (next_at) WHERE status = 'pending';
CREATE INDEX cancellations_order ON cancellations (order_no, request);
