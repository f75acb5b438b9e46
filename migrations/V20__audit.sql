-- Audit (ORD-24): what people and programs did from outside, written in the transaction of the action. What the
-- engine does by itself stands in the histories of orders only. Rows are never changed; old ones are removed.
CREATE TABLE audit (
    no      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    action  text NOT NULL,
    -- Kind and name of what it was done to: `order`, `flow`, `scenario`, …
    kind    text NOT NULL,
    subject text NOT NULL,
    -- Who, by which door, and from where.
    door    text NOT NULL,
    name    text,
    origin  text,
    reason  text,
    -- More, as JSON.
    detail  text NOT NULL
);

-- By whole subjects, of any length.
CREATE INDEX audit_subject ON audit (hashtextextended(subject, 0), no);
CREATE INDEX audit_at ON audit (at);
