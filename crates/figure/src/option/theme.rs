//! Colours.

use serde_json::{Value, json};

use crate::figure::MOST_SERIES;

/// Colours of a figure.
pub(super) struct Theme {
    pub(super) background: &'static str,
    pub(super) text: &'static str,
    pub(super) faint: &'static str,
    pub(super) lines: &'static str,
    /// Text of warnings.
    pub(super) concern: &'static str,
    pub(super) palette: [&'static str; MOST_SERIES],
}

// After Okabe and Ito, "Color Universal Design" (2008), adjusted until each is visible on its
// background (contrast 3 : 1, WCAG 2) and colour-blind readers can distinguish all.
const LIGHT: Theme = Theme {
    background: "#ffffff",
    text: "#1f2328",
    faint: "#57606a",
    lines: "#d8dee4",
    concern: "#a14400",
    palette: [
        "#18488d", "#fd5e00", "#007b75", "#c256be", "#0090ff", "#b8200a", "#5b1e04", "#00000a",
    ],
};

const DARK: Theme = Theme {
    background: "#16191d",
    text: "#e6e8eb",
    faint: "#a3abb4",
    lines: "#363c44",
    concern: "#f0a04a",
    palette: [
        "#98d8fd", "#ee7d03", "#01767b", "#b299a2", "#7090ff", "#be3113", "#ffce2e", "#fcffd0",
    ],
};

/// Colours for a light or a dark background.
pub(super) const fn theme(dark: bool) -> &'static Theme {
    if dark { &DARK } else { &LIGHT }
}

impl Theme {
    /// Colour of the `n`th series.
    pub(super) const fn color(&self, n: usize) -> &'static str {
        self.palette[n % self.palette.len()]
    }

    /// Text style of a size.
    pub(super) fn words(&self, size: u32) -> Value {
        json!({"color": self.text, "fontSize": size, "fontWeight": "normal"})
    }
}

/// Anchors of viridis (Smith and van der Walt, 2015), perceptually uniform in brightness, also for
/// the colour-blind.
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

/// Colour of a share, 0..1, and a readable text colour on it.
pub(super) fn heat(share: f64) -> (String, &'static str) {
    let place = share.clamp(0.0, 1.0) * (HEAT.len() - 1) as f64;
    let from = (place as usize).min(HEAT.len() - 2);
    let part = place - from as f64;
    let [red, green, blue] =
        [0, 1, 2].map(|n| (HEAT[from][n] * (1.0 - part) + HEAT[from + 1][n] * part).round());
    // White and black have the same contrast at 0.179.
    let ink = if luminance([red, green, blue].map(linear)) > 0.179 { "#000000" } else { "#ffffff" };
    (format!("#{:02x}{:02x}{:02x}", red as u8, green as u8, blue as u8), ink)
}

/// Converts an sRGB channel, 0..255, to linear light.
fn linear(channel: f64) -> f64 {
    match channel / 255.0 {
        low if low <= 0.04045 => low / 12.92,
        high => ((high + 0.055) / 1.055).powf(2.4),
    }
}

/// Relative luminance (WCAG 2) of linear red, green and blue.
fn luminance([red, green, blue]: [f64; 3]) -> f64 {
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use super::*;

    type Matrix = [[f64; 3]; 3];

    /// Colour vision: normal, and full red, green and blue blindness (Machado, Oliveira and
    /// Fernandes, 2009).
    const EYES: [Matrix; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
        [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
    ];

    fn light(color: &str) -> [f64; 3] {
        let channel =
            |at: usize| linear(f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap()));
        [1, 3, 5].map(channel)
    }

    fn times(matrix: &Matrix, value: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(value).map(|(a, b)| a * b).sum())
    }

    /// Oklab (Ottosson, 2020), in which distances are perceptual.
    fn oklab(light: [f64; 3]) -> [f64; 3] {
        let cones = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]];
        let axes =
            [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]];
        times(&axes, times(&cones, light).map(f64::cbrt))
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (a, b) = (luminance(light(one)), luminance(light(other)));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_colour_is_visible_and_distinguishable_to_all() {
        for theme in [&LIGHT, &DARK] {
            for (n, color) in theme.palette.iter().enumerate() {
                assert!(contrast(color, theme.background) >= 3.0, "{color}");
                for other in &theme.palette[n + 1..] {
                    for eyes in &EYES {
                        let seen = |color| {
                            oklab(times(eyes, light(color)).map(|part| part.clamp(0.0, 1.0)))
                        };
                        let parts = seen(color).into_iter().zip(seen(other));
                        let distance = parts.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                        assert!(distance >= 0.11, "{color} {other}: {distance:.3}");
                    }
                }
            }
            for words in [theme.text, theme.faint, theme.concern] {
                assert!(contrast(words, theme.background) >= 4.5, "{words}");
            }
        }
    }
}
