//! Judges a stored run: claims, ceilings, rules.
//!
//! Pure functions: no clock, no file access, no machine access. The same run, claims and baseline
//! give the same [`Assessment`](iodyno_model::Assessment), today and with any later reader.
//!
//! [`assess`] gathers the facts that all rules need ([`RuleContext`]), runs every rule of
//! [`rules`], and combines the results to validity, verdicts and findings. A rule is one file in
//! `rules/`, one line in its list, one page in docs/rules/.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod against_claim;
mod assess;
mod blocks_effect;
mod causes;
mod ceiling;
mod claims;
mod cliff;
pub mod comparison;
mod conditions;
mod contract;
mod control_group;
mod convergence;
mod counters;
mod earlier;
mod equals;
mod exit_status;
mod expectation;
mod figures;
mod file_error;
pub mod fit;
mod headroom;
mod index;
pub mod layouts;
pub mod limiter;
#[cfg(test)]
mod linear_tests;
mod links;
mod measured;
mod open_metrics;
mod outstanding;
mod pace;
mod place;
mod question;
mod question_scope;
mod reach;
mod rule_context;
mod rules;
mod saturation;
mod scaling;
mod shape;
mod tail;
#[cfg(test)]
mod testing;
mod window;
mod write_rates;
mod yardsticks;

pub use assess::{RULESET, assess};
pub use blocks_effect::BlocksEffect;
pub use causes::explains;
pub use ceiling::{Bound, Ceiling, LAYERS};
pub use claims::{ClaimBook, claim_of};
pub use contract::ContractError;
pub use convergence::{Convergence, Track, is_whole, limits, total_figure};
pub use equals::{FALSE_DISCOVERY_RATE, Unlike, compare_with_peers};
pub use exit_status::{ExitStatus, exit_status};
pub use expectation::Expectation;
pub use file_error::FileError;
pub use headroom::{LoadStep, LoadSurface};
pub use index::Index;
pub use measured::{compressible, is_rate_limit_option};
pub use place::{device_of, drive_under, names, shared_drives};
pub use question::Question;
pub use rule_context::RuleContext;
pub use rules::{Reservation, Rule, page, rules};
pub use scaling::Growth;
pub use shape::comparable;
pub use tail::{clustering, clustering_of, quantile_of_result, tail};
pub use window::{WindowedRun, by_window};
pub use yardsticks::LEAST_PEERS;
