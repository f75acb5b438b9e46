-- Labels that clients give their orders (ORD-33): pairs of key and value that the engine does not interpret.

-- A JSON object of texts; null without labels. It never changes.
ALTER TABLE orders ADD COLUMN labels jsonb;

-- The same labels as rows, by which orders are found, the newest first.
CREATE TABLE order_labels (
    order_no  bigint NOT NULL,
    key       text NOT NULL,
    value     text NOT NULL,
    PRIMARY KEY (order_no, key)
);

CREATE INDEX order_labels_value ON order_labels (key, value, order_no);
