-- Orders that ended `fail`, to be counted by class, scenario and state over time (ERR-14).
--
-- An index on the status or the end of `orders` would cost every update of every order its
-- heap-only form. This table has one narrow row for each failed order and none for the others; it
-- is written when an order fails, and its row goes when a restart begins another life. The
-- database does that itself, so that no way into `fail` can be forgotten, and so that a node of
-- the version before, which does not know the table, keeps it too during an upgrade. The condition
-- of the trigger costs an update that touches no failure less than a microsecond.

CREATE TABLE failures (
    order_no  bigint PRIMARY KEY,
    at        timestamptz NOT NULL,
    scenario  integer NOT NULL,
    class     text,
    step      text
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX failures_at ON failures (at);

CREATE FUNCTION keep_failures() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status = 'fail' THEN
        INSERT INTO failures (order_no, at, scenario, class, step)
        VALUES (NEW.no, NEW.finished_at, NEW.scenario, NEW.error_class, NEW.step)
        ON CONFLICT (order_no) DO UPDATE
           SET at = excluded.at, scenario = excluded.scenario, class = excluded.class, step = excluded.step;
    ELSE
        DELETE FROM failures WHERE order_no = NEW.no;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER orders_failures AFTER UPDATE ON orders FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND 'fail' IN (OLD.status, NEW.status))
    EXECUTE FUNCTION keep_failures();

INSERT INTO failures (order_no, at, scenario, class, step)
SELECT no, finished_at, scenario, error_class, step FROM orders WHERE status = 'fail';
