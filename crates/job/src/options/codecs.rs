//! How values of options are read and printed: a codec for each kind of value.

use iodyno_model::PerDirection;

use super::Kind;
use super::value::{Refusal, Taken, Value, print_directions};
use crate::Amount;
use crate::value::{TimeUnit, parse_list, parse_time};

/// Reads and prints values of one kind.
pub(super) trait Codec {
    type Of;
    /// What it takes, for the reference and the command line.
    fn kind(&self) -> Kind;
    /// Reads `value`.
    fn read(&self, value: Value<'_>) -> Taken<Self::Of>;
    /// Reads `value` into `of`.
    fn set(&self, value: Value<'_>, of: &mut Self::Of) -> Taken {
        *of = self.read(value)?;
        Ok(())
    }
    /// As `read` reads it; empty: nothing is to be written.
    fn print(&self, of: &Self::Of) -> String;
}

/// fio's BOOL: 0 or 1.
pub(super) struct Bool;
/// fio's STR_SET: a flag that may stand alone; its value is 0 or not.
pub(super) struct Flag;
/// A whole number from a to b.
pub(super) struct Number(pub(super) u64, pub(super) u64);
/// Percent: 0 to 100.
pub(super) struct Percent;
/// Bytes, from a to b.
pub(super) struct Size(pub(super) u64, pub(super) u64);
/// Bytes, or percent of the file.
pub(super) struct Share;
/// ns; the unit is that of a value without one.
pub(super) struct Time(pub(super) TimeUnit);
/// Milliseconds, which take no units of time in fio; kept as ns.
pub(super) struct PlainMilliseconds;
/// A choice; the first word of a value is the one that is printed.
pub(super) struct Words<T: 'static>(pub(super) &'static [(&'static str, T)]);
/// Any text.
pub(super) struct Text;
/// Names with colons between them; `\:` is a colon in a name.
pub(super) struct Names;
/// Numbers such as CPUs: `0-3,8`.
pub(super) struct List;
/// Nothing, unless it is given.
pub(super) struct Maybe<C>(pub(super) C);
/// Nothing where 0 is given, or nothing is.
pub(super) struct OrZero<C>(pub(super) C);
/// One for each direction.
pub(super) struct Directions<C>(pub(super) C);

impl Codec for Bool {
    type Of = bool;
    fn kind(&self) -> Kind {
        Kind::Bool
    }
    fn read(&self, value: Value<'_>) -> Taken<bool> {
        match value.text.trim() {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err("0 or 1 was expected".into()),
        }
    }
    fn print(&self, of: &bool) -> String {
        u8::from(*of).to_string()
    }
}

impl Codec for Flag {
    type Of = bool;
    fn kind(&self) -> Kind {
        Kind::Flag
    }
    fn read(&self, value: Value<'_>) -> Taken<bool> {
        Ok(value.text.is_empty() || value.number_within(0, u32::MAX.into())? != 0)
    }
    fn print(&self, of: &bool) -> String {
        u8::from(*of).to_string()
    }
}

impl Codec for Number {
    type Of = u64;
    fn kind(&self) -> Kind {
        Kind::Number
    }
    fn read(&self, value: Value<'_>) -> Taken<u64> {
        value.number_within(self.0, self.1)
    }
    fn print(&self, of: &u64) -> String {
        of.to_string()
    }
}

/// A number that is kept in 32 bits.
pub(super) struct Count(pub(super) u32, pub(super) u32);

impl Codec for Count {
    type Of = u32;
    fn kind(&self) -> Kind {
        Kind::Number
    }
    fn read(&self, value: Value<'_>) -> Taken<u32> {
        let number = value.number_within(self.0.into(), self.1.into())?;
        u32::try_from(number).map_err(|_| "a number of 32 bits was expected".into())
    }
    fn print(&self, of: &u32) -> String {
        of.to_string()
    }
}

impl Codec for Percent {
    type Of = u32;
    fn kind(&self) -> Kind {
        Kind::Percent
    }
    fn read(&self, value: Value<'_>) -> Taken<u32> {
        Count(0, 100).read(value)
    }
    fn print(&self, of: &u32) -> String {
        of.to_string()
    }
}

impl Codec for Size {
    type Of = u64;
    fn kind(&self) -> Kind {
        Kind::Size
    }
    fn read(&self, value: Value<'_>) -> Taken<u64> {
        let size = value.number()?;
        if !(self.0..=self.1).contains(&size) {
            return Err(format!("a size from {} to {} bytes was expected", self.0, self.1).into());
        }
        Ok(size)
    }
    fn print(&self, of: &u64) -> String {
        print_size(*of)
    }
}

impl Codec for Share {
    type Of = Amount;
    fn kind(&self) -> Kind {
        Kind::Share
    }
    fn read(&self, value: Value<'_>) -> Taken<Amount> {
        let text = value.text.trim();
        if text.strip_suffix('z').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) {
            return Err(Refusal::ByFio("it counts zones of a zoned device".into()));
        }
        match value.percent() {
            // fio cuts 12.5% to 12 bytes.
            Some(percent) => match percent.text.trim_end().parse::<u8>() {
                Ok(percent) if percent <= 100 => Ok(Amount::Percent(percent.into())),
                _ => Err("whole percent from 0% to 100% were expected".into()),
            },
            None => value.number().map(Amount::Bytes),
        }
    }
    fn print(&self, of: &Amount) -> String {
        match of {
            Amount::Bytes(bytes) => print_size(*bytes),
            Amount::Percent(percent) => format!("{percent}%"),
        }
    }
}

impl Codec for Time {
    type Of = u64;
    fn kind(&self) -> Kind {
        Kind::Time(self.0)
    }
    fn read(&self, value: Value<'_>) -> Taken<u64> {
        Ok(parse_time(value.text, self.0)?)
    }
    fn print(&self, of: &u64) -> String {
        print_time(*of)
    }
}

impl Codec for PlainMilliseconds {
    type Of = u64;
    fn kind(&self) -> Kind {
        Kind::Time(TimeUnit::Milliseconds)
    }
    fn read(&self, value: Value<'_>) -> Taken<u64> {
        Ok(value.number_within(0, u32::MAX.into())? * TimeUnit::Milliseconds.ns())
    }
    fn print(&self, of: &u64) -> String {
        (of / TimeUnit::Milliseconds.ns()).to_string()
    }
}

impl<T: Copy + PartialEq> Codec for Words<T> {
    type Of = T;
    fn kind(&self) -> Kind {
        Kind::Words(self.0.iter().map(|(word, _)| *word).collect())
    }
    fn read(&self, value: Value<'_>) -> Taken<T> {
        if value.text.contains(':') {
            return Err(format!("a word alone was expected, not `{}`", value.text).into());
        }
        value.word(self.0)
    }
    fn print(&self, of: &T) -> String {
        let found = self.0.iter().find(|(_, value)| value == of);
        found.map_or(String::new(), |(word, _)| (*word).into())
    }
}

impl Codec for Text {
    type Of = String;
    fn kind(&self) -> Kind {
        Kind::Text
    }
    fn read(&self, value: Value<'_>) -> Taken<String> {
        Ok(value.text.into())
    }
    fn print(&self, of: &String) -> String {
        of.clone()
    }
}

impl Codec for Names {
    type Of = Vec<String>;
    fn kind(&self) -> Kind {
        Kind::Names
    }
    fn read(&self, value: Value<'_>) -> Taken<Vec<String>> {
        let mut names = vec![String::new()];
        let mut letters = value.text.trim().chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' if letters.next_if_eq(&':').is_some() => {
                    names.iter_mut().last().expect("there is one").push(':');
                }
                ':' => names.push(String::new()),
                _ => names.iter_mut().last().expect("there is one").push(letter),
            }
        }
        names.retain(|name| !name.is_empty());
        if names.is_empty() {
            return Err("a name was expected".into());
        }
        Ok(names)
    }
    fn print(&self, of: &Vec<String>) -> String {
        of.iter().map(|name| name.replace(':', "\\:")).collect::<Vec<_>>().join(":")
    }
}

impl Codec for List {
    type Of = Vec<u32>;
    fn kind(&self) -> Kind {
        Kind::List
    }
    fn read(&self, value: Value<'_>) -> Taken<Vec<u32>> {
        let list = parse_list(value.text)?;
        if list.is_empty() {
            return Err("a list such as 0-3,8 was expected".into());
        }
        Ok(list)
    }
    fn print(&self, of: &Vec<u32>) -> String {
        of.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
    }
}

impl<C: Codec> Codec for Maybe<C> {
    type Of = Option<C::Of>;
    fn kind(&self) -> Kind {
        self.0.kind()
    }
    fn read(&self, value: Value<'_>) -> Taken<Self::Of> {
        self.0.read(value).map(Some)
    }
    fn print(&self, of: &Self::Of) -> String {
        of.as_ref().map_or(String::new(), |inner| self.0.print(inner))
    }
}

impl<C: Codec<Of: Default + PartialEq>> Codec for OrZero<C> {
    type Of = Option<C::Of>;
    fn kind(&self) -> Kind {
        self.0.kind()
    }
    fn read(&self, value: Value<'_>) -> Taken<Self::Of> {
        Ok(Some(self.0.read(value)?).filter(|inner| *inner != C::Of::default()))
    }
    fn print(&self, of: &Self::Of) -> String {
        of.as_ref().map_or("0".into(), |inner| self.0.print(inner))
    }
}

impl<C: Codec<Of: Default>> Codec for Directions<C> {
    type Of = PerDirection<C::Of>;
    fn kind(&self) -> Kind {
        Kind::Directions(Box::new(self.0.kind()))
    }
    fn read(&self, value: Value<'_>) -> Taken<Self::Of> {
        let mut of = PerDirection::default();
        self.set(value, &mut of)?;
        Ok(of)
    }
    fn set(&self, value: Value<'_>, of: &mut Self::Of) -> Taken {
        for (direction, part) in value.directions(true)? {
            self.0.set(part, of.of_mut(direction))?;
        }
        Ok(())
    }
    fn print(&self, of: &Self::Of) -> String {
        print_directions(&of.map(|value| Some(self.0.print(value)).filter(|text| !text.is_empty())))
    }
}

/// A size as fio reads it whatever `kb_base` is: plain bytes.
pub(super) fn print_size(bytes: u64) -> String {
    bytes.to_string()
}

/// A time, ns, in the largest unit that it is whole in; below us it is cut.
pub(super) fn print_time(ns: u64) -> String {
    match ns {
        0 => "0".into(),
        _ if ns.is_multiple_of(1_000_000_000) => format!("{}s", ns / 1_000_000_000),
        _ if ns.is_multiple_of(1_000_000) => format!("{}ms", ns / 1_000_000),
        _ => format!("{}us", ns / 1000),
    }
}
