//! Plans carried out: every way to measure is a plan that is carried out here.
//!
//! A campaign names no load generator: it is handed one. It prints nothing:
//! it tells a watcher.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod adapting;
mod adaptive;
mod bench;
mod budget;
mod carry;
mod cost;
mod error;
mod execute;
mod expect;
mod feasible;
mod investigate;
mod layouts;
mod look;
mod measure;
mod places;
mod plan;
mod play;
mod played;
mod preparation;
mod read_blocks;
mod result;
mod resume;
mod rounds;
mod scaling;
mod schema;
mod scratch;
mod settings;
mod so_far;
mod steady;
mod steps;
mod study;
mod tail;
mod undo;
mod variant;
mod watch;
mod written;
mod wrong;

pub use adapting::Adapting;
pub use budget::Budget;
pub use carry::carry_out;
pub use cost::cost;
pub use error::{CampaignError, Refusal};
pub use execute::{Options, Tools, now_ns};
pub use iodyno_job::parse_seconds as parse_time;
pub use layouts::{LayoutPlan, OnFiles, missing_tools, new_names};
pub use plan::{Ends, Plan, PlanError, Search, Step, Stop};
pub use preparation::{Conditioning, Filled, Preparation, Preparing, When, stopped};
pub use resume::{Left, Resumed, differences, foreign_writes};
pub use rounds::InRounds;
pub use scaling::InScaling;
pub use schema::plan_schema;
pub use settings::{Settings, WriteCacheState};
pub use so_far::so_far;
pub use study::{MadeBy, Order, Point, Study, StudyStep, Until};
pub use undo::{Outcome, Undone, clean_up};
pub use watch::{Event, Progress, Silent, Watcher};
