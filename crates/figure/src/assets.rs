//! Embedded drawing library, script and font. Third-party files are stored compressed.

use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::GzDecoder;

/// The drawing library, for inclusion in a page: sets `window.echarts`.
pub fn echarts() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        String::from_utf8(inflated(include_bytes!("../assets/echarts.min.js.gz")))
            .unwrap_or_default()
    });
    &TEXT
}

/// Binds an option's named functions and draws it, in a page after [`echarts`]: sets
/// `window.iodyno` with `draw(element, option)`, which returns the chart and follows the element's
/// size, and `svg(option, width, height)`. Needs neither `eval` nor a network.
pub const SCRIPT: &str = include_str!("../assets/draw.js");

/// The font of pictures (TrueType). SVG only names it, as `sans-serif`.
#[cfg(feature = "pictures")]
pub fn font() -> Vec<u8> {
    inflated(include_bytes!("../assets/DejaVuSans.ttf.gz"))
}

/// A test checks the result against the publishers' checksums.
fn inflated(compressed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Reading from memory cannot fail, and the bytes are compiled in.
    let _ = GzDecoder::new(compressed).read_to_end(&mut bytes);
    bytes
}
