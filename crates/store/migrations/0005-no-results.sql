-- The measurements' bodies contain these values, and nothing read the table. Bodies of format 3 hold
-- the kind of a run. Earlier versions cannot read these and have to refuse the store as a newer one.

DROP TABLE result;
