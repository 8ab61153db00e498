//! Plans as data: what is measured, where, in which order and until when. Presets and users share
//! one TOML format.

mod check;
mod conditioning;
mod error;
mod option_names;
mod order;
mod points;
mod preparation;
mod presets;
mod rounds;
mod scale;
mod schema;
mod sections;
mod settings;
mod steps;
mod stop;
mod study;
mod target_steps;

pub use error::{PlanError, Refusal};
pub use points::Point;
pub use preparation::{Preparation, When};
pub use settings::{Settings, WriteCacheState};
pub(crate) use steps::divided;
pub use steps::{On, Search, Step};
pub use stop::{PointEnd, Stop, StopForm};
pub(crate) use study::USUAL_SAMPLES;
pub use study::{MadeBy, Order, Study, StudyStep, Until, plan_schema};
