//! Conversions keep the content.

use std::io::Cursor;

use super::*;
use crate::{Io, Reader};

const LOG: &str = "fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n0 /dev/a read 4096 512\n\
    14 /dev/b write 8192 4096\n2000 /dev/a sync 0 0\n2100 /dev/b trim 0 65536\n2100 /dev/a close\n";

fn trace() -> Vec<u8> {
    let input = Box::new(Cursor::new(LOG.as_bytes().to_vec()));
    let mut source = Source::new(vec![input]).unwrap();
    let (bytes, ending) = iotrace(&mut source, Vec::new()).unwrap().unwrap();
    assert_eq!((ending.ios, ending.unmatched), (4, 0));
    bytes
}

fn ios(bytes: &[u8]) -> Vec<(Io, String)> {
    let mut reader = Reader::new(Cursor::new(bytes)).unwrap();
    let mut all = Vec::new();
    while let Some(chunk) = reader.next_undamaged_chunk().unwrap() {
        let name = |io: &Io| reader.names().devices()[usize::from(io.device)].name.clone();
        all.extend(chunk.ios.iter().map(|io| (Io { device: 0, ..*io }, name(io))));
    }
    assert_eq!(reader.header().source, "iolog");
    all
}

#[test]
fn a_log_round_trips() {
    let trace = trace();
    let mut log = Vec::new();
    let mut reader = Reader::new(Cursor::new(&trace)).unwrap();
    assert_eq!(iolog(&mut reader, &mut log).unwrap(), 0);
    let again = Box::new(Cursor::new(log));
    let mut source = Source::new(vec![again]).unwrap();
    let (again, _) = iotrace(&mut source, Vec::new()).unwrap().unwrap();
    assert_eq!(ios(&again), ios(&trace));
    assert_eq!(ios(&trace).len(), 4);
}

#[test]
fn damaged_chunks_are_left_out() {
    let mut bytes = trace();
    let at = bytes.len() - 200;
    bytes[at] ^= 1;
    let mut reader = Reader::new(Cursor::new(&bytes)).unwrap();
    assert_eq!(iolog(&mut reader, &mut Vec::new()).unwrap(), 0);
}
