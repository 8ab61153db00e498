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

/// Anchors of viridis (Smith and van der Walt, 2015), which rises evenly in
/// brightness, also for the colour-blind.
const HEAT: [[f64; 3]; 9] = [
    [68.0, 1.0, 84.0],
    [71.0, 44.0, 122.0],
    [59.0, 81.0, 139.0],
    [44.0, 113.0, 142.0],
    [33.0, 144.0, 141.0],
    [39.0, 173.0, 129.0],
    [92.0, 200.0, 99.0],
    [170.0, 220.0, 50.0],
    [253.0, 231.0, 37.0],
];

/// The colour of a share, 0..1, and the colour of text that can be read on it.
pub(super) fn heat(share: f64) -> (String, &'static str) {
    let place = share.clamp(0.0, 1.0) * (HEAT.len() - 1) as f64;
    let from = (place as usize).min(HEAT.len() - 2);
    let part = place - from as f64;
    let [red, green, blue] =
        [0, 1, 2].map(|n| (HEAT[from][n] * (1.0 - part) + HEAT[from + 1][n] * part).round());
    // Relative luminance (WCAG 2): white and black contrast alike at 0.179.
    let linear = |channel: f64| match channel / 255.0 {
        low if low <= 0.04045 => low / 12.92,
        high => ((high + 0.055) / 1.055).powf(2.4),
    };
    let luminance = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    let ink = if luminance > 0.179 { "#000000" } else { "#ffffff" };
    (format!("#{:02x}{:02x}{:02x}", red as u8, green as u8, blue as u8), ink)
}
