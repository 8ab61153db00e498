//! Line numbers of byte offsets in a text.

/// Counts lines incrementally, so that looking up many increasing offsets takes one pass.
#[derive(Debug, Clone)]
pub(super) struct LineNumbers<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> LineNumbers<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// Line of an offset, from 1.
    pub(super) fn at(&mut self, place: usize) -> usize {
        let place = place.min(self.text.len());
        if place < self.at {
            *self = Self::new(self.text);
        }
        let passed = &self.text.as_bytes()[self.at..place];
        self.line += passed.iter().filter(|byte| **byte == b'\n').count();
        self.at = place;
        self.line
    }
}
