-- What it held stands in the measurements' bodies, and nobody read it here. Bodies of format 3 say
-- of which kind a run is, which earlier versions cannot read: they are to refuse the store as a
-- newer one.

DROP TABLE result;
