//! Models of traces: counts in slices of time, from which similar I/Os can be generated.
//!
//! A model is an `.iotrace` whose blocks hold counts instead of I/Os; its readers get I/Os
//! (docs/reference/iotrace.md).

mod count;
mod expand;
mod likeness;
mod place;
mod slices;
#[cfg(test)]
mod tests;

pub(crate) use expand::Generator;
use iodyno_model::ModelLikeness;
use place::History;
pub(crate) use slices::Slices;

use crate::{Io, Names};

/// Builds the chunks of a model, and generates I/Os from them to compare with the trace's.
#[derive(Debug)]
pub(crate) struct Modeller {
    history: History,
    last_ns: u64,
    generator: Generator,
    names: Names,
    likeness: likeness::Likeness,
}

impl Modeller {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            history: History::default(),
            last_ns: 0,
            generator: Generator::new(seed),
            names: Names::default(),
            likeness: likeness::Likeness::default(),
        }
    }

    /// Returns the counts of a chunk.
    pub(crate) fn chunk(&mut self, ios: &[Io], names: &Names) -> Slices {
        let (slices, places) = count::count(ios, names, &mut self.history, self.last_ns);
        self.last_ns = ios.last().map_or(self.last_ns, |io| io.at_ns);
        if let Some((made, at)) = self.generator.expand(&slices, &mut self.names) {
            self.likeness.chunk((ios, &places), (&made, &at));
        }
        slices
    }

    pub(crate) fn likeness(&self, duration_ns: u64) -> ModelLikeness {
        self.likeness.end(duration_ns)
    }
}
