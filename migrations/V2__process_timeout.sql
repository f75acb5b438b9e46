-- The process time-out of an order begins when the order may start: until then its deadline has no time, only its length.
ALTER TABLE deadlines ALTER COLUMN at DROP NOT NULL;
ALTER TABLE deadlines ADD COLUMN seconds double precision;
ALTER TABLE deadlines ADD CONSTRAINT deadlines_time_or_length CHECK (at IS NOT NULL OR seconds IS NOT NULL);
