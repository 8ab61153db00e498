//! Facts stated by the user about the machine of a result, where none could be read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{LinkState, ParseError};

/// Stated environment; values not stated are null.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Stated {
    /// Trained state of each drive's own link.
    pub link: Option<LinkState>,
    /// Drive model: the model string, or the name on the data sheet.
    pub model: Option<String>,
    /// Content of the blocks.
    pub blocks: Option<StatedBlocks>,
    /// Cards that the drives were behind.
    pub behind: Option<StatedCard>,
    /// Number of drives.
    pub drives: Option<u32>,
    /// Layer that joined several drives into one target: `raid0`, `raid6`, `stripe`.
    pub layer: Option<String>,
}

/// Content of the measured blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StatedBlocks {
    /// Data written sequentially.
    WrittenSeq,
    /// Data written in random order.
    WrittenRandom,
    /// No data: trimmed, formatted or new.
    Trimmed,
    /// Not known.
    Unknown,
}

/// Cards between host and drives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedCard {
    /// Name of the card.
    pub name: String,
    /// Number of cards that shared the drives.
    pub count: u32,
    /// Trained state of each card's own link.
    pub link: Option<LinkState>,
}

impl StatedBlocks {
    /// All values, in the order of help texts.
    pub const ALL: [Self; 4] =
        [Self::WrittenSeq, Self::WrittenRandom, Self::Trimmed, Self::Unknown];

    /// Name on the command line: `written-seq`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WrittenSeq => "written-seq",
            Self::WrittenRandom => "written-random",
            Self::Trimmed => "trimmed",
            Self::Unknown => "unknown",
        }
    }

    /// Parses `trimmed`.
    ///
    /// # Errors
    /// If it is none of the names; the message lists them.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let found = Self::ALL.into_iter().find(|blocks| blocks.name() == text.trim());
        found.ok_or_else(|| {
            let words = Self::ALL.map(Self::name).join(", ");
            ParseError::new(text, format!("one of {words}"))
        })
    }
}

impl StatedCard {
    /// Parses `PERC H965i`, `2 x PERC H965i gen4x16`: count, name, and link of each; only the name
    /// is required.
    ///
    /// # Errors
    /// If there is no name, or the count is 0.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let link = words.last().and_then(|last| LinkState::parse(last).ok());
        if link.is_some() {
            words.pop();
        }
        let mut count = 1;
        if let [number, "x", ..] = words.as_slice()
            && let Ok(number) = number.parse()
        {
            count = number;
            words.drain(..2);
        }
        if words.is_empty() || count == 0 {
            return Err(ParseError::new(text, "a card such as `2 x PERC H965i gen4x16`"));
        }
        Ok(Self { name: words.join(" "), count, link })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_and_blocks_are_parsed() {
        let card = StatedCard::parse("2 x PERC H965i gen4x16").unwrap();
        assert_eq!((card.name.as_str(), card.count), ("PERC H965i", 2));
        assert_eq!(card.link, Some(LinkState { generation: 4, width: 16 }));
        let plain = StatedCard::parse("HBA 9400-8i").unwrap();
        assert_eq!((plain.name.as_str(), plain.count, plain.link), ("HBA 9400-8i", 1, None));
        for wrong in ["", "gen4x8", "0 x HBA", "2 x gen3x8"] {
            assert!(StatedCard::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(StatedBlocks::parse("trimmed"), Ok(StatedBlocks::Trimmed));
        assert!(StatedBlocks::parse("empty").unwrap_err().to_string().contains("written-random"));
    }
}
