//! Draws a terminal's text with its colours as SVG, for the README.

use std::fmt::Write as _;

/// Width of a character and height of a line, pixels, at a font size of 14.
const CELL: (f64, usize) = (8.4, 18);
const MARGIN: usize = 16;

/// The terminal's first eight colours on a dark background, each with a contrast above 4.5.
const COLOURS: [&str; 8] =
    ["#6e7681", "#ff7b72", "#7ee787", "#f2cc60", "#79c0ff", "#d2a8ff", "#76e3ea", "#e6edf3"];

#[derive(Clone, Copy, Default, PartialEq)]
struct Style {
    bold: bool,
    dim: bool,
    colour: Option<usize>,
}

impl Style {
    /// Style after an escape sequence, given without `ESC [` and `m`.
    fn after(mut self, codes: &str) -> Self {
        let codes: Vec<usize> = codes.split(';').filter_map(|code| code.parse().ok()).collect();
        match codes[..] {
            [38, 5, colour] => self.colour = Some(colour),
            _ => codes.iter().for_each(|code| match code {
                0 => self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                22 => (self.bold, self.dim) = (false, false),
                30..=37 => self.colour = Some(code - 30),
                39 => self.colour = None,
                _ => panic!("escape sequence {codes:?}"),
            }),
        }
        self
    }

    fn attributes(self) -> String {
        let weight = if self.bold { " font-weight=\"bold\"" } else { "" };
        let colour =
            self.colour.or(self.dim.then_some(0)).map_or("#e6edf3", |colour| COLOURS[colour]);
        format!("fill=\"{}\"{weight}", if self.dim { "#9198a1" } else { colour })
    }
}

/// The text as a picture; `title` is its description for screen readers.
pub(crate) fn svg(text: &str, title: &str) -> String {
    let lines: Vec<Vec<(usize, Style, String)>> = text.lines().map(pieces).collect();
    let end = |line: &Vec<(usize, Style, String)>| {
        line.last().map_or(0, |(at, _, s)| at + s.chars().count())
    };
    let columns = lines.iter().map(end).max().unwrap_or(0);
    let width = columns as f64 * CELL.0 + 2.0 * MARGIN as f64;
    let height = lines.len() * CELL.1 + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height}\" width=\"{width:.0}\" \
         height=\"{height}\" role=\"img\" font-family=\"DejaVu Sans Mono,Menlo,Consolas,monospace\" font-size=\"14\">\n\
         <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n"
    );
    for (row, line) in lines.iter().enumerate() {
        let y = MARGIN + row * CELL.1 + 13;
        for (at, style, piece) in line.iter().filter(|(_, _, piece)| !piece.trim().is_empty()) {
            let x = MARGIN as f64 + *at as f64 * CELL.0;
            let length = piece.chars().count() as f64 * CELL.0;
            let piece = piece.replace('&', "&amp;").replace('<', "&lt;").replace(' ', "\u{a0}");
            // A fixed length keeps columns aligned in any font.
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y}\" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\" {}>{piece}</text>",
                style.attributes()
            );
        }
    }
    svg + "</svg>\n"
}

/// Pieces of a line with one style each, and their columns; split at wide gaps, so that columns
/// stay aligned.
fn pieces(line: &str) -> Vec<(usize, Style, String)> {
    let mut pieces = Vec::new();
    let (mut column, mut style) = (0, Style::default());
    for (nth, part) in line.split("\u{1b}[").enumerate() {
        let text = match part.split_once('m').filter(|_| nth > 0) {
            Some((codes, rest)) => {
                style = style.after(codes);
                rest
            }
            None => part,
        };
        pieces.push((column, style, text.to_owned()));
        column += text.chars().count();
    }
    pieces
}
