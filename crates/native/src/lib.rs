//! The native load generator: io_uring, libaio and psync
