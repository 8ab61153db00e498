//! What of its files a job may touch, held against every request before an engine gets it.

use std::fmt;

use iodyno_job::{Region, Request};

use crate::io::Operation;

/// No offset in a file is larger than a quarter of what fits into 64 bits, whatever a job is
/// allowed (`fill_device`); so a difference of two that is larger is a negative one.
const END_OF_ALL: u64 = 1 << 62;

/// What of each of its files a job may touch. It is known from the job and from what was cleared,
/// before there is a request: a mistake of what makes offsets meets it, and writes nothing.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    /// By file: where it may begin, and where it ends at the latest, bytes.
    files: Box<[(u64, u64)]>,
    /// The largest block, bytes.
    largest: u32,
}

/// A request that is not within its job's bounds: a bug of iodyno.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outside {
    request: Request,
    /// Where the job may begin and end in that file, bytes; nowhere in one that it has not.
    bounds: (u64, u64),
}

impl Bounds {
    /// Of a job that may touch `regions` of files of these sizes, with blocks of `largest` bytes
    /// at most.
    pub(crate) fn new(
        regions: &[Region],
        sizes_bytes: impl Iterator<Item = u64>,
        largest: u32,
    ) -> Self {
        let of_file = |(file, size_bytes): (u16, u64)| {
            let here = || regions.iter().filter(|region| region.file == file);
            let end = here().map(|region| region.offset.saturating_add(region.length)).max();
            let end = end.unwrap_or(0).min(size_bytes).min(END_OF_ALL);
            (here().map(|region| region.offset).min().unwrap_or(0).min(end), end)
        };
        Self { files: (0..=u16::MAX).zip(sizes_bytes).map(of_file).collect(), largest }
    }

    /// The first of `requests` that is outside, if any is.
    #[inline]
    pub(crate) fn outside(&self, requests: &[Request]) -> Option<Outside> {
        // Of one file, which nearly every job has, all together with one comparison: what begins
        // before the start is by wrapping further behind it than there is room.
        if let &[(start, end)] = &*self.files {
            let room = end.wrapping_sub(start).wrapping_sub(self.largest.into());
            let (furthest, lengths) = match requests {
                // Setting up a loop takes longer than this.
                [one] => (one.offset.wrapping_sub(start), one.length),
                many => {
                    let (mut furthest, mut lengths) = (0, 0);
                    for request in many {
                        furthest = request.offset.wrapping_sub(start).max(furthest);
                        lengths |= request.length;
                    }
                    (furthest, lengths)
                }
            };
            // A block larger than all that may be touched leaves less room than none.
            if furthest <= room && room < END_OF_ALL && lengths <= self.largest {
                return None;
            }
        }
        self.first_outside(requests)
    }

    /// As [`Self::outside`], one after the other.
    #[inline(never)]
    fn first_outside(&self, requests: &[Request]) -> Option<Outside> {
        requests.iter().find_map(|request| {
            let bounds = self.files.get(usize::from(request.file)).copied();
            let inside = bounds.is_some_and(|(start, end)| {
                // A sync has no place.
                let moves = !matches!(request.operation, Operation::Sync | Operation::DataSync);
                let last = request.offset.checked_add(request.length.into());
                !moves || (request.offset >= start && last.is_some_and(|last| last <= end))
            });
            (!inside).then(|| Outside { request: *request, bounds: bounds.unwrap_or_default() })
        })
    }
}

impl fmt::Display for Outside {
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
    fn a_region_is_held_to_its_file() {
        let regions = [Region { file: 0, offset: 4096, length: u64::MAX }];
        let bounds = Bounds::new(&regions, [100_000].into_iter(), 4096);
        assert_eq!(bounds.outside(&[request(4096, 4096, 0), request(95_904, 4096, 0)]), None);
        for (offset, length, file) in
            [(0, 4096, 0), (96_000, 4096, 0), (95_904, 4097, 0), (u64::MAX, 1, 0), (8192, 4096, 1)]
        {
            let requests = [request(8192, 512, 0), request(offset, length, file)];
            let outside = bounds.outside(&requests).unwrap();
            assert_eq!(outside.request, requests[1]);
        }
        let said = bounds.outside(&[request(0, 4096, 0)]).unwrap().to_string();
        assert!(said.starts_with("a write of 4096 bytes at offset 0 of file 0 is out"), "{said}");
        // What grows until the device is full has no end.
        let grows = Bounds::new(&regions, [u64::MAX].into_iter(), 4096);
        assert_eq!(grows.outside(&[request(1 << 61, 4096, 0)]), None);
        let sync = Request { operation: Operation::Sync, ..Request::default() };
        assert_eq!(bounds.outside(&[sync]), None);
    }

    proptest! {
        #[test]
        fn all_together_is_one_after_the_other(
            start in 0u64..1000, length in 0u64..1000, largest in 1u32..300,
            requests in prop::collection::vec((0u64..2200, 0u32..400), 0..40),
            far in prop::option::of((any::<u64>(), any::<u32>())),
        ) {
            let regions = [Region { file: 0, offset: start, length }];
            let bounds = Bounds::new(&regions, [5000].into_iter(), largest);
            let requests: Vec<_> = requests.into_iter().chain(far)
                .map(|(offset, length)| request(offset, length, 0)).collect();
            prop_assert_eq!(bounds.outside(&requests), bounds.first_outside(&requests));
        }
    }
}
