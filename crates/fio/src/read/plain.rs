//! Decompresses reports and logs.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Extensions of the formats that [`plain`] reads.
const ENDINGS: [&str; 3] = [".gz", ".xz", ".zst"];
/// Memory limit of a decoder, bytes: enough for `xz -9` and `zstd -19`.
const MOST_BYTES: u64 = 64 << 20;
/// Memory of an xz decoder in addition to its dictionary, KiB.
const XZ_BESIDE_KIB: u32 = 1024;

/// File name without the extension of a compressed file.
pub fn plain_name(name: &str) -> &str {
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// Decompresses `input` from gzip, xz or zstd; any other input is returned as it is.
///
/// # Errors
/// Unreadable input.
pub fn plain<'a>(mut input: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    const LONGEST_MARK: u64 = 6;
    let mut mark = Vec::new();
    input.by_ref().take(LONGEST_MARK).read_to_end(&mut mark)?;
    let input = io::Cursor::new(mark.clone()).chain(input);
    Ok(match mark[..] {
        [0x1f, 0x8b, ..] => Box::new(BufReader::new(MultiGzDecoder::new(input))),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => {
            let most_kib = (MOST_BYTES >> 10) as u32 + XZ_BESIDE_KIB;
            Box::new(BufReader::new(XzReader::new_mem_limit(input, true, most_kib)))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(BufReader::new(Zstd::new(input))),
        _ => Box::new(input),
    })
}

/// Reads the consecutive frames of a zstd file.
struct Zstd<R> {
    input: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    fn new(input: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MOST_BYTES);
        Self { input, decoder, in_frame: false }
    }

    /// Starts the next frame; returns `false` at the end.
    fn next_frame(&mut self) -> io::Result<bool> {
        use ReadFrameHeaderError::SkipFrame;
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(SkipFrame { length, .. })) => {
                    io::copy(&mut self.input.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.in_frame && self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if self.in_frame && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.input, one).map_err(io::Error::other)?;
                continue;
            }
            self.in_frame = self.next_frame()?;
            if !self.in_frame {
                return Ok(0);
            }
        }
    }
}
