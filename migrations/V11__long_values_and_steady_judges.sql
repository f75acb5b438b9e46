-- An entry of a b-tree holds 2 704 bytes, a business transaction may have 1 024 characters of 4 bytes
-- each (ORD-6): the index keeps a hash, and who searches by it compares the text as well. All other
-- texts of clients that are part of a key are at most 255 bytes long.
-- Orders are read while the new index is built; the old one goes last, with a lock of a moment.
CREATE INDEX orders_transaction_hash ON orders (hashtextextended(transaction_id, 0), no) WHERE transaction_id IS NOT NULL;
DROP INDEX orders_transaction;

-- Since when a node has beaten without a gap: only who has done so for long enough may say of others
-- that they are silent. When nobody could reach the database, nobody is lost by that.
ALTER TABLE heartbeats ADD COLUMN steady_since timestamptz NOT NULL DEFAULT now();
