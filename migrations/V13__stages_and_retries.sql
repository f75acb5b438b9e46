-- Counts of the present life of an order: the stages that ran, and those among them that were repeats after a
-- classified error (ORD-20). Neither column is part of an index, and adding them rewrites no row. A life that had
-- begun before is counted from here on, and so is what a node of the version before runs: not at all.

ALTER TABLE orders
    ADD COLUMN stages integer NOT NULL DEFAULT 0,
    ADD COLUMN retries integer NOT NULL DEFAULT 0;
