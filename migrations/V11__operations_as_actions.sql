-- What a version of a scenario means by the operations that it runs among its actions (SCN-19). Decided once, when the version
-- is stored, so that orders of it always run the same; an operation has rows of its own for those that it runs itself.
CREATE TABLE scenario_operations (
    scenario   integer NOT NULL,
    name       text NOT NULL,
    -- The version that the scenario names; 0 where it names none: the newest of that time.
    wanted     integer NOT NULL,
    operation  integer NOT NULL,
    PRIMARY KEY (scenario, name, wanted)
);

CREATE INDEX scenario_operations_name ON scenario_operations (name);
