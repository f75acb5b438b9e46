-- Forecasts of starts that were given, and whether each held; the newest are kept.
CREATE TABLE forecasts (
    no       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_no bigint NOT NULL,
    attempt  integer NOT NULL,
    -- Time by which nine of ten such orders start.
    p90      timestamptz NOT NULL,
    -- Null as long as that time has not come.
    held     boolean,
    UNIQUE (order_no, attempt)
);
CREATE INDEX forecasts_open ON forecasts (p90) WHERE held IS NULL;
