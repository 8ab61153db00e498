//! Checks every request against the byte ranges that its job may touch, before it reaches an
//! engine.

use std::fmt;

use iodyno_job::{Region, Request};

use crate::engines::Operation;

/// Upper bound of file offsets, whatever a job allows (`fill_device`): a quarter of the u64 range,
/// so a larger difference of two offsets is a negative one.
const MAX_OFFSET: u64 = 1 << 62;

/// The byte range of each file that a job may touch. Computed from the job and its clearance before
/// any request exists, so a bug in offset generation is caught here and writes nothing.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    /// By file: start and end, bytes.
    files: Box<[(u64, u64)]>,
    /// Largest block, bytes.
    largest: u32,
}

/// A request outside its job's bounds: a bug in iodyno.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutOfBounds {
    request: Request,
    /// Start and end in that file, bytes; 0 and 0 if the job has no such file.
    bounds: (u64, u64),
}

impl Bounds {
    /// The bounds of a job on `regions` of files of these sizes, with blocks of at most `largest`
    /// bytes.
    pub(crate) fn new(
        regions: &[Region],
        sizes_bytes: impl Iterator<Item = u64>,
        largest: u32,
    ) -> Self {
        let of_file = |(file, size_bytes): (u16, u64)| {
            let regions_of_file = || regions.iter().filter(|region| region.file == file);
            let end =
                regions_of_file().map(|region| region.offset.saturating_add(region.length)).max();
            let end = end.unwrap_or(0).min(size_bytes).min(MAX_OFFSET);
            (regions_of_file().map(|region| region.offset).min().unwrap_or(0).min(end), end)
        };
        Self { files: (0..=u16::MAX).zip(sizes_bytes).map(of_file).collect(), largest }
    }

    /// Returns the first of `requests` that is out of bounds.
    #[inline]
    pub(crate) fn find_out_of_bounds(&self, requests: &[Request]) -> Option<OutOfBounds> {
        // Nearly every job has a single file: one comparison covers the whole batch. Subtraction
        // wraps, so an offset before the start appears far beyond the end.
        if let &[(start, end)] = &*self.files {
            let room = end.wrapping_sub(start).wrapping_sub(self.largest.into());
            let (furthest, lengths) = match requests {
                // Setting up the loop costs more than this.
                [single] => (single.offset.wrapping_sub(start), single.length),
                batch => {
                    let (mut furthest, mut lengths) = (0, 0);
                    for request in batch {
                        furthest = request.offset.wrapping_sub(start).max(furthest);
                        lengths |= request.length;
                    }
                    (furthest, lengths)
                }
            };
            // A block larger than the whole range makes `room` negative.
            if furthest <= room && room < MAX_OFFSET && lengths <= self.largest {
                return None;
            }
        }
        self.first_out_of_bounds(requests)
    }

    /// As [`Self::find_out_of_bounds`], one request at a time.
    #[inline(never)]
    fn first_out_of_bounds(&self, requests: &[Request]) -> Option<OutOfBounds> {
        requests.iter().find_map(|request| {
            let bounds = self.files.get(usize::from(request.file)).copied();
            let inside = bounds.is_some_and(|(start, end)| {
                // A sync has no offset.
                let has_range = !matches!(request.operation, Operation::Sync | Operation::DataSync);
                let last = request.offset.checked_add(request.length.into());
                !has_range || (request.offset >= start && last.is_some_and(|last| last <= end))
            });
            (!inside).then(|| OutOfBounds { request: *request, bounds: bounds.unwrap_or_default() })
        })
    }
}

impl fmt::Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { offset, length, file, operation } = self.request;
        let (start, end) = self.bounds;
        write!(
            f,
            "a {operation} of {length} bytes at offset {offset} of file {file} is outside of what \
             the job may touch, {start} to {end}: a bug of iodyno, please report it with the job; \
             neither it nor what was to go with it was submitted"
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request(offset: u64, length: u32, file: u16) -> Request {
        Request { offset, length, file, operation: Operation::Write }
    }

    #[test]
    fn requests_outside_the_region_are_found() {
        let regions = [Region { file: 0, offset: 4096, length: u64::MAX }];
        let bounds = Bounds::new(&regions, [100_000].into_iter(), 4096);
        assert_eq!(
            bounds.find_out_of_bounds(&[request(4096, 4096, 0), request(95_904, 4096, 0)]),
            None
        );
        for (offset, length, file) in
            [(0, 4096, 0), (96_000, 4096, 0), (95_904, 4097, 0), (u64::MAX, 1, 0), (8192, 4096, 1)]
        {
            let requests = [request(8192, 512, 0), request(offset, length, file)];
            let out_of_bounds = bounds.find_out_of_bounds(&requests).unwrap();
            assert_eq!(out_of_bounds.request, requests[1]);
        }
        let message = bounds.find_out_of_bounds(&[request(0, 4096, 0)]).unwrap().to_string();
        assert!(
            message.starts_with("a write of 4096 bytes at offset 0 of file 0 is out"),
            "{message}"
        );
        // A file that grows until the device is full has no end.
        let growing = Bounds::new(&regions, [u64::MAX].into_iter(), 4096);
        assert_eq!(growing.find_out_of_bounds(&[request(1 << 61, 4096, 0)]), None);
        let sync = Request { operation: Operation::Sync, ..Request::default() };
        assert_eq!(bounds.find_out_of_bounds(&[sync]), None);
    }

    proptest! {
        #[test]
        fn batch_check_equals_single_checks(
            start in 0u64..1000, length in 0u64..1000, largest in 1u32..300,
            requests in prop::collection::vec((0u64..2200, 0u32..400), 0..40),
            far in prop::option::of((any::<u64>(), any::<u32>())),
        ) {
            let regions = [Region { file: 0, offset: start, length }];
            let bounds = Bounds::new(&regions, [5000].into_iter(), largest);
            let requests: Vec<_> = requests.into_iter().chain(far)
                .map(|(offset, length)| request(offset, length, 0)).collect();
            prop_assert_eq!(bounds.find_out_of_bounds(&requests), bounds.first_out_of_bounds(&requests));
        }
    }
}
