-- A worker may die of a stage. Of each stage is known how many deaths are held against it and the name of the node that died
-- with it last; of one that a worker died with before, also if it is being computed: then it is the only one of those on its
-- worker.
ALTER TABLE ready ADD COLUMN deaths smallint NOT NULL DEFAULT 0;
ALTER TABLE ready ADD COLUMN died_on text;
ALTER TABLE running ADD COLUMN deaths smallint NOT NULL DEFAULT 0;
ALTER TABLE running ADD COLUMN died_on text;
ALTER TABLE running ADD COLUMN is_computed boolean NOT NULL DEFAULT false;
