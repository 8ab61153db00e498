//! Places in the programs' frame, and in the entries of their tables; bytes.

use super::layout::TIMES_HEADER;

// Places in the frame.
pub(super) const INDEX: i16 = -8;
pub(super) const DEVICE: i16 = -16;
pub(super) const FIRST_TAG: i16 = -24;
pub(super) const QUEUES: i16 = -32;
pub(super) const TAGS: i16 = -40;
pub(super) const ZONE_SHIFT: i16 = -48;
pub(super) const OPERATION: i16 = -56;
pub(super) const KEY: i16 = -64;
pub(super) const OTHER_KEY: i16 = -72;
pub(super) const NOW: i16 = -80;
pub(super) const SECTOR: i16 = -88;
pub(super) const BYTES: i16 = -96;
pub(super) const FLAGS: i16 = -104;
pub(super) const ARRIVED: i16 = -112;
pub(super) const NAME: i16 = -136;
pub(super) const LENGTH: i16 = -144;
pub(super) const BIN: i16 = -152;
pub(super) const DURATION: i16 = -160;
/// 16 bytes.
pub(super) const VALUE: i16 = -176;

// Places in an entry of `arrivals` and of `in_flight`.
pub(super) const ARRIVAL_TIME: i16 = 8;
pub(super) const ARRIVAL_NAME: i16 = 16;
pub(super) const ISSUE_TIME: i16 = 8;
pub(super) const ISSUE_ARRIVED: i16 = 16;
pub(super) const ISSUE_BYTES: i16 = 24;
pub(super) const ISSUE_OPERATION: i16 = 32;

// Places in a histogram.
pub(super) const TIMES_SUM: i16 = 0;
pub(super) const TIMES_MAX: i16 = 8;
/// Complement.
pub(super) const TIMES_MIN: i16 = 16;
pub(super) const TIMES_COUNTS: i16 = 8 * TIMES_HEADER as i16;
