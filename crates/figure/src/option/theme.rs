//! Colours.

use serde_json::{Value, json};

/// Colours of a figure that are not its data's.
pub(super) struct Theme {
    pub(super) background: &'static str,
    pub(super) text: &'static str,
    pub(super) faint: &'static str,
    pub(super) lines: &'static str,
    pub(super) palette: [&'static str; 8],
}

// Okabe and Ito, "Color Universal Design" (2008): told apart by the colour-blind.
// Its yellow is too light for white, its black is lost on black.
const LIGHT: Theme = Theme {
    background: "#ffffff",
    text: "#1f2328",
    faint: "#57606a",
    lines: "#d8dee4",
    palette: [
        "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000",
    ],
};

const DARK: Theme = Theme {
    background: "#16191d",
    text: "#e6e8eb",
    faint: "#a3abb4",
    lines: "#363c44",
    palette: [
        "#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#f0e442", "#a6a6a6", "#ffffff",
    ],
};

/// The colours for a light or a dark surface.
pub(super) const fn theme(dark: bool) -> &'static Theme {
    if dark { &DARK } else { &LIGHT }
}

impl Theme {
    /// The colour of the `n`th series.
    pub(super) const fn color(&self, n: usize) -> &'static str {
        self.palette[n % self.palette.len()]
    }

    /// Text of a size.
    pub(super) fn words(&self, size: u32) -> Value {
        json!({"color": self.text, "fontSize": size, "fontWeight": "normal"})
    }
}
