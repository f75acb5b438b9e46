-- Bulk operations (REC-12): what an operator has done to many orders. A selection is a table of order numbers; each
-- activator takes some of them at a time under locks, acts, and notes what came of it.
CREATE TABLE operations (
    no             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Of the request: the same again makes no second operation.
    key            text NOT NULL UNIQUE,
    action         text NOT NULL,
    -- Fields of the action, as JSON.
    fields         text NOT NULL,
    search         text NOT NULL,
    -- The operation whose failed orders are taken again, in place of a search.
    again          bigint,
    -- The record by which moved orders can be moved back, where the action is that.
    shift          bigint,
    reason         text NOT NULL,
    made_by        text NOT NULL,
    made_at        timestamptz NOT NULL DEFAULT now(),
    urgency        text NOT NULL CHECK (urgency IN ('high', 'normal', 'low')),
    rate           double precision CHECK (rate > 0),
    ramp           text,
    -- Until when orders that come to match are taken, too; null: the selection is frozen when it has been made.
    follow_until   timestamptz,
    state          text NOT NULL CHECK (state IN ('running', 'paused', 'done', 'aborted')),
    because        text,
    -- Where the selection goes on; null: it has been made.
    selection      text,
    looked         bigint NOT NULL DEFAULT 0,
    total          bigint NOT NULL DEFAULT 0,
    done           bigint NOT NULL DEFAULT 0,
    skipped        bigint NOT NULL DEFAULT 0,
    failed         bigint NOT NULL DEFAULT 0,
    succeeded      bigint NOT NULL DEFAULT 0,
    failed_again   bigint NOT NULL DEFAULT 0,
    failed_otherwise bigint NOT NULL DEFAULT 0,
    left_alone     bigint NOT NULL DEFAULT 0,
    speed          double precision NOT NULL DEFAULT 0,
    allowance      double precision NOT NULL DEFAULT 1,
    allowed_at     timestamptz NOT NULL DEFAULT now(),
    acted_at       timestamptz,
    ended_at       timestamptz
) WITH (fillfactor = 50);

CREATE INDEX operations_live ON operations (no) WHERE state IN ('running', 'paused');
CREATE INDEX operations_ended ON operations (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE operation_orders (
    operation bigint NOT NULL,
    order_no  bigint NOT NULL,
    -- Null: still to be acted on.
    outcome   text CHECK (outcome IN ('done', 'skipped', 'failed')),
    reason    text,
    -- The life that the action began or let go on, and the class of error before it; what became of it.
    life      integer,
    class     text,
    aftermath text,
    PRIMARY KEY (operation, order_no)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX operation_orders_open ON operation_orders (operation, order_no) WHERE outcome IS NULL;
-- Those whose end is awaited.
CREATE INDEX operation_orders_begun ON operation_orders (operation, order_no) WHERE life IS NOT NULL AND aftermath IS NULL;

-- Why orders were passed over or refused, each reason with its count and newest example.
CREATE TABLE operation_reasons (
    operation bigint NOT NULL,
    outcome   text NOT NULL,
    reason    text NOT NULL,
    orders    bigint NOT NULL,
    example   bigint NOT NULL,
    PRIMARY KEY (operation, outcome, reason)
) WITH (fillfactor = 50);
