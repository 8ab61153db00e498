//! Any bytes are read as a trace, ours or another tool's, as far as they go.

#![no_main]

use std::io::Cursor;

use iodyno_trace::read::Source;
use iodyno_trace::{Index, Reader, TraceError};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = Index::read(Cursor::new(bytes));
    if let Ok(mut reader) = Reader::new(bytes) {
        loop {
            match reader.next_chunk() {
                Ok(None) => break,
                Ok(Some(chunk)) => assert!(chunk.ios.is_sorted_by_key(|io| io.at_ns)),
                Err(TraceError::Damaged { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
    if let Ok(mut source) = Source::new(vec![Box::new(Cursor::new(bytes.to_vec()))]) {
        let mut last_ns = 0;
        while let Ok(Some(io)) = source.next_io() {
            assert!(io.at_ns >= last_ns);
            last_ns = io.at_ns;
        }
    }
});
