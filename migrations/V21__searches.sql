-- Searches (REC-13). The index of ids serves prefixes, too, whatever the collation of the database: its operators
-- compare bytes. Equality is the same with both, and a comparison of bytes costs less. Builds anew in some seconds for
-- each million orders, in which no order is registered.
CREATE UNIQUE INDEX orders_id_prefix ON orders (id text_pattern_ops);
DROP INDEX orders_id;
ALTER INDEX orders_id_prefix RENAME TO orders_id;

-- Searches that somebody gave a name. Times that are told back from now stay so.
CREATE TABLE searches (
    name    text PRIMARY KEY,
    search  text NOT NULL,
    made_by text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now()
);

-- Values of attributes that scenarios declare under `search`, by which their orders are found.
CREATE TABLE search_values (
    order_no bigint NOT NULL,
    name     text NOT NULL,
    value    text NOT NULL,
    PRIMARY KEY (order_no, name, value)
);
CREATE INDEX search_values_value ON search_values (name, value, order_no);
