//! From a name to a clearance
