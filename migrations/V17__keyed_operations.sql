-- Digest of the request that made the operation: its search is stored with its relative times resolved, so that the same request
-- asks for another one a moment later. Null for operations of former versions.
ALTER TABLE operations ADD COLUMN asked text;
