//! Runs plans, job files and investigations: a schedule decides, one executor measures.
//!
//! The load generator is passed in by the caller. This crate prints nothing: it reports events to a
//! watcher.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod announce;
mod block_times;
mod budget;
mod cost;
mod end_condition;
mod error;
mod execute;
mod host_watch;
mod layouts;
mod measurement;
mod other_io;
mod phase;
mod phase_watch;
mod plan;
mod preparation;
mod profiles;
mod resume;
mod run;
mod schedule;
mod scripts;
mod settings;
mod target_names;
mod targets;
mod tools;
mod undo;
mod undone;
mod watch;
mod work;

pub use cost::cost;
pub use error::CampaignError;
pub use iodyno_job::parse_seconds as parse_time;
pub use layouts::{LayoutPlan, LoopFiles, missing_tools, new_names};
pub use measurement::interim;
pub use other_io::{Issued, OtherIo, other_io};
pub use plan::{
    MadeBy, On, Order, PlanError, Point, PointEnd, Preparation, Refusal, Search, Settings, Step,
    Stop, StopForm, Study, StudyStep, Until, When, WriteCacheState, plan_schema,
};
pub use preparation::{Conditioning, FillProgress, Preparing, stopped};
pub use profiles::{FIT_FILES, profile, profile_names, profile_schema, profile_script};
pub use resume::{Left, differences, refuse_resized, writes_since_stop};
pub use run::carry_out;
pub use schedule::{Adapting, ScriptJobs};
pub use targets::foresee;
pub use tools::{Options, Resumed, Tools, now_ns};
pub use undo::clean_up;
pub use undone::{Outcome, Undone};
pub use watch::{Begin, Event, Goal, Progress, Several, Silent, Watcher};
pub use work::{Jobs, Work};
