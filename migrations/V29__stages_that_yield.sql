-- True for a stage that goes on with what was begun, or that began again together with many others: fresh ones of the same
-- urgency go beside it in turn. Until now it was told from the stream, which stages that were woken by an answer do not have.
-- A node of the version before writes none; its stages stand among the fresh ones when they are read again.
ALTER TABLE ready ADD COLUMN woken boolean NOT NULL DEFAULT false;
UPDATE ready SET woken = true WHERE stream IS NOT NULL;
