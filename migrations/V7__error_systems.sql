-- The called system behind a failure, so that failed and retrying orders can be put together by
-- it (ERR-14). Neither column is part of an index, and adding them rewrites no row. A node of the
-- version before does not write them; its failures are of no system.

ALTER TABLE orders ADD COLUMN error_system text;
ALTER TABLE failures ADD COLUMN system text;

CREATE OR REPLACE FUNCTION keep_failures() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status = 'fail' THEN
        INSERT INTO failures (order_no, at, scenario, class, step, system)
        VALUES (NEW.no, NEW.finished_at, NEW.scenario, NEW.error_class, NEW.step, NEW.error_system)
        ON CONFLICT (order_no) DO UPDATE
           SET at = excluded.at, scenario = excluded.scenario, class = excluded.class, step = excluded.step,
               system = excluded.system;
    ELSE
        DELETE FROM failures WHERE order_no = NEW.no;
    END IF;
    RETURN NULL;
END $$;
