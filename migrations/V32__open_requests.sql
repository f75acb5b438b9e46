-- The system that is to answer a request, from the moment at which its order waits for it: open requests are counted by flow
-- and system (DSP-7). Requests that were sent before have none and are not counted.
ALTER TABLE requests ADD COLUMN system text;
