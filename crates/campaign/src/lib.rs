//! Plans carried out: every way to measure is a plan that is carried out here.
//!
//! A campaign names no load generator: it is handed one. It prints nothing:
//! it tells a watcher.

mod adaptive;
mod bench;
mod budget;
mod error;
mod execute;
mod expect;
mod feasible;
mod investigate;
mod look;
mod measure;
mod places;
mod plan;
mod play;
mod preparation;
mod resume;
mod rounds;
mod scratch;
mod so_far;
mod steady;
mod steps;
mod study;
mod watch;
mod written;

pub use budget::Budget;
pub use error::CampaignError;
pub use execute::{Options, Tools, carry_out, now_ns};
pub use iodyno_job::parse_seconds as parse_time;
pub use plan::{Early, Plan, PlanError, Search, Step, Stop};
pub use preparation::Preparation;
pub use resume::{Resumed, differences};
pub use rounds::InRounds;
pub use scratch::{Undone, clean_up};
pub use so_far::so_far;
pub use study::{Order, Point, Study, StudyStep, Until};
pub use watch::{Event, Progress, Silent, Watcher};
