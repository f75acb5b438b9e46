-- What running stages ask of the world at this moment, where the answer takes its time: for people who look at a running order.
-- Each worker writes what it has waited for some seconds, and nothing of what is quick. Nothing is decided by it, so it need not
-- outlive the server, and costs no log. A row counts only beside the row in `running` of the same attempt.
CREATE UNLOGGED TABLE asking (
    order_no  bigint PRIMARY KEY,
    attempt   integer NOT NULL,
    node      bigint NOT NULL,
    state     text NOT NULL,
    action    integer NOT NULL,
    kind      text NOT NULL,
    name      text,
    target    text NOT NULL,
    tries     integer NOT NULL,
    since     timestamptz NOT NULL
);
CREATE INDEX asking_node ON asking (node);
