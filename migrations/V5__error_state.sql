-- The state in which the error of an order arose: a failed order stands in the terminal state to which that has led it.
ALTER TABLE orders ADD COLUMN error_state text;
ALTER TABLE failures ADD COLUMN state text;

-- Rows from before, and errors that no action met, have none; then it is the state in which the order stands.
CREATE OR REPLACE FUNCTION keep_failures() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status = 'fail' THEN
        INSERT INTO failures (order_no, at, scenario, class, step, system, state)
        VALUES (NEW.no, NEW.finished_at, NEW.scenario, NEW.error_class, NEW.step, NEW.error_system, NEW.error_state)
        ON CONFLICT (order_no) DO UPDATE
           SET at = excluded.at, scenario = excluded.scenario, class = excluded.class, step = excluded.step,
               system = excluded.system, state = excluded.state;
    ELSE
        DELETE FROM failures WHERE order_no = NEW.no;
    END IF;
    RETURN NULL;
END $$;
