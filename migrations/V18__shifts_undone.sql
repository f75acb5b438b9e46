-- Time since which the shift is being undone, over several requests if need be: it moves nothing from then on, whatever holds
-- the flow still.
ALTER TABLE shifts ADD COLUMN undoing_at timestamptz;
