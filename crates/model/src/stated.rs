//! What a user states of the machine that a result came from, where nothing of
//! it was read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{LinkState, ParseError};

/// An environment as it was stated; what was not stated is `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Stated {
    /// What each drive's own link was trained to.
    pub link: Option<LinkState>,
    /// Model of the drives: their model string, or their name on the data sheet.
    pub model: Option<String>,
    /// What the blocks held.
    pub blocks: Option<StatedBlocks>,
    /// What the drives were behind.
    pub behind: Option<StatedCard>,
    /// How many drives there were.
    pub drives: Option<u32>,
    /// What made one target of several drives: `raid0`, `raid6`, `stripe`.
    pub layer: Option<String>,
}

/// What the blocks that were measured held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StatedBlocks {
    /// Data, written in sequence.
    WrittenSeq,
    /// Data, written in random order.
    WrittenRandom,
    /// Nothing: trimmed, formatted or new.
    Trimmed,
    /// Nobody knows.
    Unknown,
}

/// Cards that drives were behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedCard {
    /// Name of the card.
    pub name: String,
    /// How many of them shared the drives.
    pub count: u32,
    /// What each card's own link was trained to.
    pub link: Option<LinkState>,
}

impl StatedBlocks {
    /// All of them, in the order of help texts.
    pub const ALL: [Self; 4] =
        [Self::WrittenSeq, Self::WrittenRandom, Self::Trimmed, Self::Unknown];

    /// As it is typed: `written-seq`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WrittenSeq => "written-seq",
            Self::WrittenRandom => "written-random",
            Self::Trimmed => "trimmed",
            Self::Unknown => "unknown",
        }
    }

    /// Reads `trimmed`.
    ///
    /// # Errors
    /// None of the words, which the message lists.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let found = Self::ALL.into_iter().find(|blocks| blocks.name() == text.trim());
        found.ok_or_else(|| {
            let words = Self::ALL.map(Self::name).join(", ");
            ParseError::new(text, format!("one of {words}"))
        })
    }
}

impl StatedCard {
    /// Reads `PERC H965i`, `2 x PERC H965i gen4x16`: how many, the name, and
    /// the link of each; only the name has to be there.
    ///
    /// # Errors
    /// No name, or no card at all.
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
    fn cards_and_blocks_are_read_as_people_write_them() {
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
