//! Columns of numbers: divided by their common divisor, split into byte planes, compressed.
//!
//! Planes instead of varints: the low bytes of addresses and times are noise and the high ones are
//! not, and Huffman codes gain only if the two are separate.

use ruzstd::decoding::FrameDecoder;

use super::plane;

/// Appends a column.
pub(crate) fn write(to: &mut Vec<u8>, values: &[u64]) {
    let divisor = common_divisor(values.iter().copied()).max(1);
    let divided: Vec<u64>;
    let values = match divisor {
        1 => values,
        divisor => {
            divided = values.iter().map(|value| value / divisor).collect();
            &divided
        }
    };
    let most = values.iter().max().copied().unwrap_or(0);
    let planes = most.checked_ilog2().map_or(0, |bits| bits / 8 + 1);
    to.extend(divisor.to_le_bytes());
    to.push(planes as u8);
    for plane in 0..planes {
        let bytes: Vec<u8> = values.iter().map(|value| (value >> (8 * plane)) as u8).collect();
        let packed = plane::compress(&bytes);
        to.extend((packed.len() as u32).to_le_bytes());
        to.extend(packed);
    }
}

/// Takes a column of `count` values from the front of `bytes`; `None` if they are not a column.
pub(crate) fn read(bytes: &mut &[u8], count: usize) -> Option<Vec<u64>> {
    let divisor = u64::from_le_bytes(take(bytes, 8)?.try_into().ok()?);
    let planes = take(bytes, 1)?[0];
    if planes > 8 {
        return None;
    }
    let mut values = vec![0_u64; count];
    let mut plane = vec![0; count];
    for number in 0..planes {
        let length = u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?);
        let packed = take(bytes, usize::try_from(length).ok()?)?;
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(1 << 20);
        if decoder.decode_all(packed, &mut plane).ok()? != count {
            return None;
        }
        for (value, byte) in values.iter_mut().zip(&plane) {
            *value |= u64::from(*byte) << (8 * number);
        }
    }
    values.iter_mut().for_each(|value| *value = value.wrapping_mul(divisor));
    Some(values)
}

/// Takes the first `length` bytes off the front of `bytes`.
pub(crate) fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

/// Zigzag-encodes differences in units of `divisor`: the sign is in the lowest bit, so that the
/// high bytes of small ones are 0.
pub(super) fn unsigned(differences: &[i64]) -> (u64, Vec<u64>) {
    let divisor = common_divisor(differences.iter().map(|one| one.unsigned_abs()));
    let divisor = if divisor == 0 || divisor > i64::MAX as u64 { 1 } else { divisor };
    let zigzag = |one: &i64| {
        let one = one / divisor as i64;
        ((one << 1) ^ (one >> 63)) as u64
    };
    (divisor, differences.iter().map(zigzag).collect())
}

/// Decodes one number of [`unsigned`].
pub(super) const fn signed(divisor: u64, value: u64) -> i64 {
    let one = (value >> 1) as i64 ^ -((value & 1) as i64);
    one.wrapping_mul(divisor as i64)
}

/// Returns the greatest common divisor; 0 if all values are 0.
fn common_divisor(mut values: impl Iterator<Item = u64>) -> u64 {
    let divisor = values.try_fold(0, |divisor, value| match gcd(value, divisor) {
        1 => Err(1),
        divisor => Ok(divisor),
    });
    divisor.unwrap_or_else(|one| one)
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
