-- Calls from outside to live orders, tasks of actors, and child orders.

-- A call waits for its order to rest; the caller's key makes it one call, however often it is sent.
CREATE TABLE calls (
    no              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_no        bigint NOT NULL,
    life            integer NOT NULL,
    key             text NOT NULL,
    name            text NOT NULL,
    body            text NOT NULL,
    status          text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'answered', 'failed')),
    answer          text,
    error_class     text,
    error_message   text,
    received_at     timestamptz NOT NULL DEFAULT now(),
    answered_at     timestamptz,
    UNIQUE (order_no, key),
    CHECK ((status = 'waiting') = (answered_at IS NULL))
) WITH (fillfactor = 70);
CREATE INDEX calls_waiting ON calls (order_no, no) WHERE status = 'waiting';

-- A task of an actor is a request for each of its hand-outs.
ALTER TABLE requests
    ADD COLUMN hand_out     integer NOT NULL DEFAULT 0,
    -- A heartbeat prolongs the hand-out by so much.
    ADD COLUMN work_seconds double precision,
    -- Whether this hand-out may be answered after a later one was made.
    ADD COLUMN accept_first boolean NOT NULL DEFAULT false;
ALTER TABLE requests DROP CONSTRAINT requests_order_no_life_visit_action_key;
ALTER TABLE requests ADD CONSTRAINT requests_place UNIQUE (order_no, life, visit, action, hand_out);

-- Who started whom. The depth bounds scenarios that start themselves.
CREATE TABLE children (
    order_no   bigint PRIMARY KEY,
    parent_no  bigint NOT NULL,
    depth      integer NOT NULL
);
CREATE INDEX children_parent ON children (parent_no);
