-- Orders that wait for other orders. A row says what one order expects of another, by the name that
-- its client gave it: the other may be registered later.

CREATE TABLE dependencies (
    order_no    bigint NOT NULL,
    before_id   text NOT NULL,
    -- The states that would do, as JSON: opaque here, judged by the domain.
    states      text NOT NULL,
    otherwise   text NOT NULL CHECK (otherwise IN ('wait', 'fail', 'cancel')),
    -- Whether the end of the other activates this one at once; else it is looked for periodically.
    reactive    boolean NOT NULL,
    stand       text NOT NULL CHECK (stand IN ('unknown', 'found', 'open', 'met', 'missed', 'closed')),
    settled_at  timestamptz,
    PRIMARY KEY (order_no, before_id)
);
CREATE INDEX dependencies_before ON dependencies (before_id);
-- What somebody has to look at now, and what must be looked through for lost ends: both short lists
-- in a table that keeps what was.
CREATE INDEX dependencies_urgent ON dependencies (order_no)
    WHERE stand = 'found' OR (stand = 'missed' AND otherwise <> 'wait');
CREATE INDEX dependencies_live ON dependencies (reactive, order_no, before_id)
    WHERE stand IN ('unknown', 'found', 'open');

-- Set while somebody waits for the end of the order, so that the end of any other one costs no look
-- at the table above. No index names it: the update of the row stays heap-only.
ALTER TABLE orders ADD COLUMN awaited boolean NOT NULL DEFAULT false;

-- An order that waits for others has its place here, but no time.
ALTER TABLE due ALTER COLUMN due_at DROP NOT NULL;
ALTER TABLE due ADD CONSTRAINT due_timeless CHECK ((due_at IS NULL) = (stream = 7));
