-- Notifications over HTTP, as CloudEvents, of transitions and of orders that need a person (ORD-18). Adding the columns
-- rewrites no row. Nodes of the version before take what goes over HTTP for what is not allowed and park it: nobody
-- should ask for it before all nodes are of this version; what was parked is sent again with `pagurus order resend`.

ALTER TABLE outbox
    -- Scheme, host and port of the receiver of a webhook; none for what goes to the broker.
    ADD COLUMN receiver text,
    -- The form, where it is another than the usual one.
    ADD COLUMN format text,
    -- Grows with each notification of an order that bears it: of a form with a sequence, or of a transition.
    ADD COLUMN number bigint,
    -- When somebody asked to send it again: from then on it is tried for as long as a new one.
    ADD COLUMN again_since timestamptz;

CREATE SEQUENCE outbox_number OWNED BY outbox.number;

-- What waits for receivers is no matter of those who look for what is due to the broker, and the other way round: one
-- receiver that hangs may have a million rows.
DROP INDEX outbox_next;
CREATE INDEX outbox_next ON outbox (next_at) WHERE parked_because IS NULL AND receiver IS NULL;
CREATE INDEX outbox_receivers ON outbox (receiver, next_at) WHERE parked_because IS NULL AND receiver IS NOT NULL;
-- For people: what only they can help.
CREATE INDEX outbox_parked ON outbox (order_no, life, kind) WHERE parked_because IS NOT NULL;

-- Suspended orders whose clients want to be told of those that stand still: when it is time to look. The row of an order
-- that has gone on meanwhile says nothing more, and goes when its time has come.
CREATE TABLE suspensions (
    order_no bigint PRIMARY KEY,
    -- Number of the hand-out whose stage was suspended: another one means that the order has gone on.
    attempt  integer NOT NULL,
    since    timestamptz NOT NULL DEFAULT now(),
    at       timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
CREATE INDEX suspensions_at ON suspensions (at);
