-- A refused message whose sender got a receipt waits for nobody: it is kept and found, and counts as no work for a person.
ALTER TABLE refused ADD COLUMN answered boolean NOT NULL DEFAULT false;

-- Those that wait for a decision, for the list and the count of them.
CREATE INDEX refused_open ON refused (no) WHERE NOT answered;
