-- Transports by which an intake takes what comes in: called systems are asked to answer at one that serves HTTP. Null for
-- other services, and for intakes of earlier versions, which serve both.
ALTER TABLE nodes ADD COLUMN transport text CHECK (transport IN ('both', 'http', 'amqp'));
