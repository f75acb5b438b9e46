-- Promises (ORD-31): when the client of an order must be served, and which orders will probably be late.

ALTER TABLE orders ADD COLUMN promise_at timestamptz;

-- A narrow row for each life that has a promise and has not been taken into account. `look_at` is when it is looked at
-- next: whether the order is in jeopardy (never again once it is), or, where the life has ended, what can be learnt of it. The wide row in
-- `orders` is never read to find out that there is nothing to do.
CREATE TABLE promises (
    order_no    bigint      PRIMARY KEY,
    promise_at  timestamptz NOT NULL,
    look_at     timestamptz NOT NULL,
    -- Of an order in jeopardy: since when, when nine of ten like it would have ended, and why.
    marked_at   timestamptz,
    expected_at timestamptz,
    cause       text,
    ended       boolean     NOT NULL DEFAULT false,
    CHECK ((marked_at IS NULL) = (expected_at IS NULL) AND (marked_at IS NULL) = (cause IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

CREATE INDEX promises_look ON promises (look_at);
CREATE INDEX promises_jeopardy ON promises (order_no) WHERE marked_at IS NOT NULL AND NOT ended;

-- The database keeps them, so that no way into a life or out of it is forgotten; an order without a promise pays the
-- comparison of two columns. An order that ends within a second is not looked at before.
CREATE FUNCTION keep_promises() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.finished_at IS NULL THEN
        INSERT INTO promises (order_no, promise_at, look_at)
        VALUES (NEW.no, NEW.promise_at, clock_timestamp() + interval '1 second')
        ON CONFLICT (order_no) DO UPDATE
           SET promise_at = excluded.promise_at, look_at = excluded.look_at, marked_at = NULL, expected_at = NULL,
               cause = NULL, ended = false;
    ELSE
        UPDATE promises SET ended = true, look_at = clock_timestamp() WHERE order_no = NEW.no;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER orders_promised AFTER INSERT ON orders FOR EACH ROW
    WHEN (NEW.promise_at IS NOT NULL) EXECUTE FUNCTION keep_promises();
CREATE TRIGGER orders_promises AFTER UPDATE ON orders FOR EACH ROW
    WHEN (NEW.promise_at IS NOT NULL AND (OLD.finished_at IS NULL) <> (NEW.finished_at IS NULL))
    EXECUTE FUNCTION keep_promises();

-- What remained of lives that were served, by scenario: from each state to the end, as distributions.
CREATE TABLE remaining_times (
    scenario  text        PRIMARY KEY,
    record    text        NOT NULL,
    learnt_at timestamptz NOT NULL
) WITH (fillfactor = 50);
