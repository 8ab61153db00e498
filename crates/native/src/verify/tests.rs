use std::collections::BTreeMap;

use iodyno_job::PatternPart;
use proptest::prelude::*;

use super::*;

const METHODS: [VerifyMethod; 17] = [
    VerifyMethod::Md5,
    VerifyMethod::Crc16,
    VerifyMethod::Crc32,
    VerifyMethod::Crc32c,
    VerifyMethod::Crc64,
    VerifyMethod::Crc7,
    VerifyMethod::Sha1,
    VerifyMethod::Sha256,
    VerifyMethod::Sha512,
    VerifyMethod::Sha3_224,
    VerifyMethod::Sha3_256,
    VerifyMethod::Sha3_384,
    VerifyMethod::Sha3_512,
    VerifyMethod::Xxhash,
    VerifyMethod::Meta,
    VerifyMethod::PatternHeader,
    VerifyMethod::Pattern,
];

const RUN: u64 = 0x1234_5678_9abc_def0;
const BLOCK: u64 = 4096;

fn options(method: VerifyMethod) -> Verify {
    let needs = matches!(method, VerifyMethod::Pattern | VerifyMethod::PatternHeader);
    let pattern = vec![PatternPart::Bytes(vec![0xff, 0xee]), PatternPart::Offset];
    Verify { method, pattern: if needs { pattern } else { Vec::new() }, ..Verify::default() }
}

fn new_verifier(verify: &Verify, block: u64) -> Result<Verifier, VerifyError> {
    Verifier::new(verify, &Contents::default(), &BlockSize::Fixed(block), 0, RUN, 3)
}

fn verifier(method: VerifyMethod) -> Verifier {
    new_verifier(&options(method), BLOCK).unwrap()
}

fn stamped(verifier: &Verifier, offset: u64, number: u64) -> Vec<u8> {
    let mut block = vec![0xa5; BLOCK as usize];
    verifier.stamp(&mut block, offset, number);
    block
}

fn kind(verifier: &Verifier, block: &[u8], offset: u64, number: u64) -> MismatchKind {
    verifier.check(block, offset, |_| Expected::number(number)).unwrap_err().kind
}

prop_compose! {
    fn any_verifier()(
        method in prop::sample::select(METHODS.to_vec()),
        interval in prop::sample::select(vec![None, Some(512), Some(1024), Some(4096)]),
        offset in prop::sample::select(vec![0_u32, 8, 100, 300]),
        compress in prop::option::of(0_u32..=100),
        patterned: bool,
    ) -> Verifier {
        let mut verify = Verify { interval, offset, ..options(method) };
        if patterned {
            verify.pattern = vec![
                PatternPart::Bytes(b"abc".to_vec()), PatternPart::Offset, PatternPart::Bytes(vec![0]),
            ];
        }
        let contents = Contents { buffer_compress_percentage: compress, ..Contents::default() };
        Verifier::new(&verify, &contents, &BlockSize::Fixed(BLOCK), 0, RUN, 3).unwrap()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn stamped_blocks_pass_and_any_flipped_bit_is_found(
        verifier in any_verifier(), block in 0_u64..1 << 40, number: u64, place in 0_usize..4096, bit in 0_u32..8,
    ) {
        let offset = block * BLOCK;
        let mut data = stamped(&verifier, offset, number);
        prop_assert_eq!(verifier.check(&data, offset, |_| Expected::number(number)), Ok(()));
        prop_assert_eq!(verifier.check(&data, offset, |_| Expected::ANY), Ok(()));
        data[place] ^= 1_u8 << bit;
        for expected in [Expected::number(number), Expected::ANY] {
            let found = verifier.check(&data, offset, |_| expected);
            prop_assert!(found.is_err(), "{:?}: byte {}", verifier.method, place);
            let Mismatch { offset: at, length, kind } = found.unwrap_err();
            let place = offset + place as u64;
            prop_assert!((at..at + length).contains(&place));
            if let MismatchKind::Contents { damage } | MismatchKind::Checksum { damage: Some(damage), .. } = kind {
                prop_assert_eq!((damage.bits, damage.bytes, at + damage.first), (1, 1, place));
            }
        }
        data[place] ^= 1_u8 << bit;
        prop_assert!(verifier.check(&data, offset, |_| Expected::ANY).is_ok());
    }

    #[test]
    fn a_torn_write_is_found(verifier in any_verifier(), sectors in 1_usize..8, new_first: bool) {
        // Short checksums miss one in 128 or 65536 of these, by design; without headers and numbers
        // two writes do not differ.
        let blind = [VerifyMethod::Crc7, VerifyMethod::Crc16, VerifyMethod::Pattern];
        if blind.contains(&verifier.method) {
            return Ok(());
        }
        let (old, new) = (stamped(&verifier, BLOCK, 1), stamped(&verifier, BLOCK, 2));
        let cut = sectors * 512;
        let (first, last) = if new_first { (&new, &old) } else { (&old, &new) };
        let torn = [&first[..cut], &last[cut..]].concat();
        let checked = verifier.check(&torn, BLOCK, |_| Expected::number(2));
        // Behind the only header, the old part of zeros or a pattern equals the new one.
        prop_assert_eq!(checked.is_ok(), torn == new);
    }

    #[test]
    fn random_bytes_never_pass_and_never_panic(
        verifier in any_verifier(), bytes in prop::collection::vec(any::<u8>(), 0..6000), offset: u32,
    ) {
        // A few bytes may be those of a pattern by chance.
        prop_assume!(bytes.is_empty() || bytes.len() > 8);
        let checked = verifier.check(&bytes, u64::from(offset), |_| Expected::ANY);
        prop_assert_eq!(checked.is_ok(), bytes.is_empty());
        if let Err(mismatch) = checked {
            prop_assert!(mismatch.to_string().starts_with("offset "));
        }
        let _ = verifier.dump(&bytes, u64::from(offset), |_| Expected::ANY);
    }

    #[test]
    fn a_ledger_knows_the_last_write(
        writes in prop::collection::vec((0_u64..40, 1_u64..4, 0_u8..10), 1..200), flat: bool,
    ) {
        let memory = if flat { 1 << 20 } else { 150 };
        let mut ledger = Ledger::new(8192, 4096, if flat { 40 } else { 1 << 40 }, memory).unwrap();
        let mut model = BTreeMap::new();
        for (number, &(block, count, what)) in (0..).zip(&writes) {
            let (offset, length) = (8192 + block * 4096, count * 4096);
            let mut untracked = ledger.untracked();
            if what == 9 {
                ledger.clear();
                model.clear();
                prop_assert_eq!(ledger.known_offsets().count(), 0);
            }
            let expected = match what {
                0 => { ledger.record_trim(offset, length); Expected::Zeros }
                1 => { ledger.forget(offset, length); Expected::Unknown }
                _ => { ledger.record_write(offset, length, number); Expected::number(number) }
            };
            for block in block..block + count {
                if flat && block >= 40 {
                    continue;
                }
                // Untracked writes are counted and not expected.
                if !flat && !model.contains_key(&block) && model.len() == 3 {
                    untracked += 1;
                } else {
                    model.insert(block, expected);
                }
            }
            prop_assert_eq!(ledger.untracked(), untracked);
        }
        for block in 0..45 {
            let expected = model.get(&block).copied().unwrap_or(Expected::Unknown);
            prop_assert_eq!(ledger.expected(8192 + block * 4096 + 17), expected);
        }
        let known = model.iter().filter(|(_, expected)| **expected != Expected::Unknown);
        let known: Vec<u64> = known.map(|(block, _)| 8192 + block * 4096).collect();
        prop_assert_eq!(ledger.known_offsets().collect::<Vec<_>>(), known);
    }
}

#[test]
fn checksums_match_reference_values() {
    // Of "123456789": CRCs from the catalogue of parametrised CRC algorithms,
    // digests (the start of the long ones) from Python's hashlib.
    let known = [
        (VerifyMethod::Crc7, "75"),
        (VerifyMethod::Crc16, "3dbb"),
        (VerifyMethod::Crc32, "2639f4cb"),
        (VerifyMethod::Crc32c, "839206e3"),
        (VerifyMethod::Crc64, "fa3919dfbbc95d99"),
        (VerifyMethod::Xxhash, "67ad7b93"),
        (VerifyMethod::Md5, "25f9e794323b453885f5181f1b624d0b"),
        (VerifyMethod::Sha1, "f7c3bc1d808e04732adf679965ccc34ca7ae3441"),
        (VerifyMethod::Sha256, "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"),
        (VerifyMethod::Sha512, "d9e6762dd1c8eaf6d61b3c6192fc408d"),
        (VerifyMethod::Sha3_224, "5795c3d628fd638c9835a4c79a55809f"),
        (VerifyMethod::Sha3_256, "87cd084d190e436f147322b90e7384f6"),
        (VerifyMethod::Sha3_384, "8b90ede4d095409f1a12492c25205996"),
        (VerifyMethod::Sha3_512, "e1e44d20556e97a180b6dd3ed7ae5c46"),
    ];
    for (method, expected) in known {
        for cut in [0, 4, 9] {
            let (first, second) = b"123456789".split_at(cut);
            let sum = Checksum::of(method, [first, second]).to_string();
            assert!(sum.starts_with(expected), "{method:?}: {sum}");
        }
    }
    for method in METHODS {
        let sum = Checksum::of(method, [b"1", b"2"]);
        assert_eq!(sum.bytes().len(), checksum::length(method), "{method:?}");
    }
}

#[test]
fn a_misdirected_write_is_reported_with_both_offsets() {
    for method in METHODS {
        let verifier = verifier(method);
        let block = stamped(&verifier, 2_097_152, 7);
        let mismatch = verifier.check(&block, 1_048_576, |_| Expected::number(7)).unwrap_err();
        if method == VerifyMethod::Pattern {
            assert!(matches!(mismatch.kind, MismatchKind::Contents { .. }));
        } else {
            assert_eq!(
                mismatch.to_string(),
                "offset 1048576: the block holds what was written to offset 2097152: \
                 a misdirected write"
            );
        }
    }
}

#[test]
fn lost_newer_and_foreign_writes_are_distinguished() {
    let verifier = verifier(VerifyMethod::Crc32c);
    let block = stamped(&verifier, BLOCK, 5);
    let lost = MismatchKind::LostWrite { expected: Some(9), found: Some(5) };
    assert_eq!(kind(&verifier, &block, BLOCK, 9), lost);
    let newer = MismatchKind::NewerWrite { expected: 2, found: 5 };
    assert_eq!(kind(&verifier, &block, BLOCK, 2), newer);

    let unordered = Verifier { sequence: false, ..verifier.clone() };
    assert_eq!(unordered.check(&block, BLOCK, |_| Expected::number(9)), Ok(()));

    let earlier = Verifier { run: RUN + 1, ..verifier.clone() };
    let block = stamped(&earlier, BLOCK, 5);
    let lost = MismatchKind::LostWrite { expected: Some(5), found: None };
    assert_eq!(kind(&verifier, &block, BLOCK, 5), lost);
    let again = Expected::Write { number: Some(5), own: false };
    assert_eq!(verifier.check(&block, BLOCK, |_| again), Ok(()), "verify_only");

    let other = Verifier { thread: 8, ..verifier.clone() };
    let block = stamped(&other, BLOCK, 5);
    assert_eq!(kind(&verifier, &block, BLOCK, 5), MismatchKind::OtherWriter { thread: 8 });

    let never = MismatchKind::NeverWritten { zeros: true };
    assert_eq!(kind(&verifier, &[0; 4096], 0, 1), never);
    let foreign = MismatchKind::NeverWritten { zeros: false };
    assert_eq!(kind(&verifier, &[0x5a; 4096], 0, 1), foreign);
    let mut fio = [0x5a; 4096];
    fio[..2].copy_from_slice(&[0xca, 0xac]);
    assert_eq!(kind(&verifier, &fio, 0, 1), MismatchKind::Fio);
    let mut tail = [0; 4096];
    tail[4095] = 1;
    assert_eq!(kind(&verifier, &tail, 0, 1), foreign);
}

#[test]
fn different_options_are_reported() {
    let writer = verifier(VerifyMethod::Md5);
    let block = stamped(&writer, 0, 0);
    let mismatch = verifier(VerifyMethod::Crc64).check(&block, 0, |_| Expected::ANY).unwrap_err();
    let text = "offset 0: the block was written with verify=md5, not verify=crc64";
    assert_eq!(mismatch.to_string(), text);
    let mismatch = writer.check(&block[..2048], 0, |_| Expected::ANY).unwrap_err();
    assert_eq!(mismatch.kind, MismatchKind::Length { found: 4096 });
}

#[test]
fn damage_says_what_happened() {
    let verifier = verifier(VerifyMethod::Sha256);
    let right = stamped(&verifier, 0, 1);
    let text =
        |block: &[u8]| verifier.check(block, 0, |_| Expected::number(1)).unwrap_err().to_string();
    let mut block = right.clone();
    block[1000] ^= 4;
    let message = text(&block);
    assert!(message.contains(": one bit is flipped, in byte 1000 ("), "{message}");

    let old = stamped(&verifier, 0, 0);
    let message = text(&[&right[..1536], &old[1536..]].concat());
    assert!(
        message.ends_with("from byte 1536 on it holds something else: a torn write"),
        "{message}"
    );

    let mut block = right.clone();
    block[2000..2003].iter_mut().for_each(|byte| *byte ^= 0xff);
    let message = text(&block);
    assert!(message.contains("3 of 4096 bytes are wrong, the first is byte 2000"), "{message}");

    let mut block = right.clone();
    block[HEADER_BYTES + 3] ^= 1;
    assert!(text(&block).ends_with("the data is right, the stored checksum is wrong"));

    let mut block = right;
    block[2] ^= 1;
    assert_eq!(text(&block), "offset 0: the header of the block is damaged");
}

#[test]
fn a_lost_write_in_one_interval_is_reported_with_its_offset() {
    let verify = Verify { interval: Some(512), ..options(VerifyMethod::Crc32c) };
    let verifier = new_verifier(&verify, BLOCK).unwrap();
    let (old, new) = (stamped(&verifier, BLOCK, 1), stamped(&verifier, BLOCK, 2));
    let torn = [&new[..1024], &old[1024..1536], &new[1536..]].concat();
    let mismatch = verifier.check(&torn, BLOCK, |_| Expected::number(2)).unwrap_err();
    let kind = MismatchKind::LostWrite { expected: Some(2), found: Some(1) };
    assert_eq!(mismatch, Mismatch { offset: BLOCK + 1024, length: 512, kind });
    // Only known blocks are checked, each against its own number.
    let each = |offset| match offset - BLOCK {
        1024 => Expected::number(1),
        _ => Expected::number(2),
    };
    assert_eq!(verifier.check(&torn, BLOCK, each), Ok(()));
    let some = |offset| match offset - BLOCK {
        1024 => Expected::Unknown,
        _ => Expected::number(2),
    };
    assert_eq!(verifier.check(&torn, BLOCK, some), Ok(()));
}

#[test]
fn trimmed_blocks_read_as_zeros() {
    let verifier = verifier(VerifyMethod::Crc32c);
    let mut block = vec![0; 4096];
    assert_eq!(verifier.check(&block, 0, |_| Expected::Zeros), Ok(()));
    block[4000] = 9;
    let mismatch = verifier.check(&block, 0, |_| Expected::Zeros).unwrap_err();
    assert_eq!(mismatch.kind, MismatchKind::NotZero { first: 4000, found: 9 });
}

#[test]
fn a_pattern_without_header_is_byte_for_byte_fios() {
    // fio 3.33, --verify=pattern --verify_pattern=0xff%o"abcd"-12 --bs=512,
    // the start and end of its block at offset 512.
    let verify = Verify {
        method: VerifyMethod::Pattern,
        pattern: vec![
            PatternPart::Bytes(vec![0xff]),
            PatternPart::Offset,
            PatternPart::Bytes(b"abcd".to_vec()),
            PatternPart::Bytes((-12_i32).to_le_bytes().to_vec()),
        ],
        ..Verify::default()
    };
    let verifier = new_verifier(&verify, 512).unwrap();
    let mut block = vec![0; 512];
    verifier.stamp(&mut block, 512, 0);
    let period = [0xff, 0, 2, 0, 0, 0, 0, 0, 0, b'a', b'b', b'c', b'd', 0xf4, 0xff, 0xff, 0xff];
    assert!(block.iter().eq(period.iter().cycle().take(512)));
    assert_eq!(verifier.check(&block, 512, |_| Expected::ANY), Ok(()));
}

#[test]
fn a_dump_regenerates_the_expected_data() {
    let verify = Verify { interval: Some(1024), ..options(VerifyMethod::Crc32c) };
    let verifier = new_verifier(&verify, BLOCK).unwrap();
    let right = stamped(&verifier, BLOCK, 6);
    let mut found = right.clone();
    found[3200..3300].fill(0);
    for expected in [Expected::number(6), Expected::ANY] {
        let dump = verifier.dump(&found, BLOCK, |_| expected);
        assert!(dump.expected.as_ref() == Some(&right));
        assert!(dump.found == found);
    }
    // Without the header the contents are unknown, unless the number is known.
    found[1024..1100].fill(0);
    assert_eq!(verifier.dump(&found, BLOCK, |_| Expected::ANY).expected, None);
    let dump = verifier.dump(&found, BLOCK, |_| Expected::number(6));
    assert!(dump.expected.as_ref() == Some(&right));
}

#[test]
fn blocks_of_several_sizes_share_their_intervals() {
    let sizes = BlockSize::Split(vec![(8192, 50.0), (12288, 50.0)]);
    let options = options(VerifyMethod::Crc32c);
    let verifier = Verifier::new(&options, &Contents::default(), &sizes, 0, RUN, 3).unwrap();
    assert_eq!(verifier.interval(), 4096);
    let mut disk = vec![0; 20480];
    let mut ledger = Ledger::new(0, verifier.interval(), 5, 1 << 20).unwrap();
    for (number, (offset, length)) in (0..).zip([(0, 12288), (8192, 12288), (4096, 8192)]) {
        verifier.stamp(&mut disk[offset..offset + length], offset as u64, number);
        ledger.record_write(offset as u64, length as u64, number);
    }
    assert_eq!(verifier.check(&disk, 0, |offset| ledger.expected(offset)), Ok(()));
}

#[test]
fn short_blocks_are_reported_and_do_not_panic() {
    for method in METHODS {
        let verifier = verifier(method);
        for length in 0..200 {
            let mut block = vec![0; length];
            verifier.stamp(&mut block, 0, 1);
            let checked = verifier.check(&block, 0, |_| Expected::number(1));
            let room = length == 0 || length >= verifier.header_bytes();
            let expected = if room { Ok(()) } else { Err(MismatchKind::Short) };
            assert_eq!(checked.map_err(|mismatch| mismatch.kind), expected, "{method:?} {length}");
        }
    }
}

#[test]
fn null_writes_and_checks_nothing() {
    let verifier =
        new_verifier(&Verify { method: VerifyMethod::Null, ..Verify::default() }, 16).unwrap();
    let mut block = [7; 16];
    verifier.stamp(&mut block, 0, 0);
    assert_eq!(block, [7; 16]);
    assert_eq!(verifier.check(&block, 0, |_| Expected::number(1)), Ok(()));
}

#[test]
fn invalid_options_are_refused() {
    let crc32c = options(VerifyMethod::Crc32c);
    assert_eq!(
        new_verifier(&crc32c, 48).unwrap_err(),
        VerifyError::TooSmall { interval: 48, least: 49 }
    );
    assert!(new_verifier(&crc32c, 49).is_ok());
    let error = new_verifier(&Verify { interval: Some(1000), ..crc32c.clone() }, 4096).unwrap_err();
    assert_eq!(error, VerifyError::Interval { interval: 1000, block: 4096 });
    assert_eq!(
        new_verifier(&crc32c, 0).unwrap_err(),
        VerifyError::Interval { interval: 0, block: 0 }
    );
    let error = new_verifier(&Verify { offset: 470, ..crc32c }, 512).unwrap_err();
    assert_eq!(error, VerifyError::Offset { offset: 470, end: 518, interval: 512 });
    for method in [VerifyMethod::Pattern, VerifyMethod::PatternHeader] {
        for pattern in [vec![], vec![PatternPart::Bytes(vec![])]] {
            let verify = Verify { method, pattern, ..Verify::default() };
            assert_eq!(new_verifier(&verify, 4096).unwrap_err(), VerifyError::NoPattern);
        }
    }
    // Without a header, its offset is ignored.
    let verifier =
        new_verifier(&Verify { offset: 5000, ..options(VerifyMethod::Pattern) }, 4096).unwrap();
    assert_eq!(verifier.check(&stamped(&verifier, 0, 0), 0, |_| Expected::ANY), Ok(()));
    assert!(Ledger::new(0, 0, 1, 1 << 20).is_err());
    assert!(Ledger::new(1, 1 << 32, 1 << 32, 1 << 20).is_err());
}

#[test]
fn numbers_too_high_for_the_ledger_are_writes_of_unknown_number() {
    let mut ledger = Ledger::new(0, 4096, 2, 1 << 20).unwrap();
    ledger.record_write(0, 4096, u64::from(u32::MAX) - 3);
    assert_eq!(ledger.expected(0), Expected::number(u64::from(u32::MAX) - 3));
    for number in [u64::from(u32::MAX) - 2, u64::from(u32::MAX), u64::MAX] {
        ledger.record_write(4096, 4096, number);
        assert_eq!(ledger.expected(4096), Expected::Write { number: None, own: true });
    }
}
