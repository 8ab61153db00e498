//! Codecs that parse and print the values of options, one for each kind of value.

use iodyno_model::PerDirection;

use super::Kind;
use super::value::{Parsed, Refusal, Value, print_directions};
use crate::Amount;
use crate::value::{TimeUnit, parse_list, parse_time};

/// Parses and prints values of one kind.
pub(super) trait Codec {
    /// Type of the job's field.
    type Field;
    /// The kind of value, for the reference and the command line.
    fn kind(&self) -> Kind;
    /// Parses `value`.
    fn parse(&self, value: Value<'_>) -> Parsed<Self::Field>;
    /// Parses `value` into `field`.
    fn set(&self, value: Value<'_>, field: &mut Self::Field) -> Parsed {
        *field = self.parse(value)?;
        Ok(())
    }
    /// Prints a field so that `parse` accepts it; empty: the option is not to be written.
    fn print(&self, field: &Self::Field) -> String;
}

/// fio's BOOL: 0 or 1.
pub(super) struct Bool;
/// fio's STR_SET: a flag with an optional value, 0 or not.
pub(super) struct Flag;
/// An integer from a to b.
pub(super) struct Number(pub(super) u64, pub(super) u64);
/// Percent: 0 to 100.
pub(super) struct Percent;
/// Bytes, from a to b.
pub(super) struct Size(pub(super) u64, pub(super) u64);
/// Bytes, or percent of the file.
pub(super) struct SizeOrPercent;
/// A time, in ns; the unit is that of a value without one.
pub(super) struct Time(pub(super) TimeUnit);
/// Milliseconds, without units of time, as in fio; kept in ns.
pub(super) struct PlainMilliseconds;
/// One of several words; the first word of a value is the one that is printed.
pub(super) struct Words<T: 'static>(pub(super) &'static [(&'static str, T)]);
/// Any text.
pub(super) struct Text;
/// Names separated by colons; `\:` is a colon in a name.
pub(super) struct Names;
/// Numbers such as CPUs: `0-3,8`.
pub(super) struct List;
/// `None` unless the option is given.
pub(super) struct Optional<C>(pub(super) C);
/// `None` unless the option is given and not 0.
pub(super) struct NonZero<C>(pub(super) C);
/// One value for each direction.
pub(super) struct Directions<C>(pub(super) C);

impl Codec for Bool {
    type Field = bool;
    fn kind(&self) -> Kind {
        Kind::Bool
    }
    fn parse(&self, value: Value<'_>) -> Parsed<bool> {
        match value.text.trim() {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err("expected 0 or 1".into()),
        }
    }
    fn print(&self, field: &bool) -> String {
        u8::from(*field).to_string()
    }
}

impl Codec for Flag {
    type Field = bool;
    fn kind(&self) -> Kind {
        Kind::Flag
    }
    fn parse(&self, value: Value<'_>) -> Parsed<bool> {
        Ok(value.text.is_empty() || value.number_within(0, u32::MAX.into())? != 0)
    }
    fn print(&self, field: &bool) -> String {
        u8::from(*field).to_string()
    }
}

impl Codec for Number {
    type Field = u64;
    fn kind(&self) -> Kind {
        Kind::Number
    }
    fn parse(&self, value: Value<'_>) -> Parsed<u64> {
        value.number_within(self.0, self.1)
    }
    fn print(&self, field: &u64) -> String {
        field.to_string()
    }
}

/// An integer of 32 bits from a to b.
pub(super) struct Count(pub(super) u32, pub(super) u32);

impl Codec for Count {
    type Field = u32;
    fn kind(&self) -> Kind {
        Kind::Number
    }
    fn parse(&self, value: Value<'_>) -> Parsed<u32> {
        let number = value.number_within(self.0.into(), self.1.into())?;
        u32::try_from(number).map_err(|_| "expected a number of 32 bits".into())
    }
    fn print(&self, field: &u32) -> String {
        field.to_string()
    }
}

impl Codec for Percent {
    type Field = u32;
    fn kind(&self) -> Kind {
        Kind::Percent
    }
    fn parse(&self, value: Value<'_>) -> Parsed<u32> {
        Count(0, 100).parse(value)
    }
    fn print(&self, field: &u32) -> String {
        field.to_string()
    }
}

impl Codec for Size {
    type Field = u64;
    fn kind(&self) -> Kind {
        Kind::Size
    }
    fn parse(&self, value: Value<'_>) -> Parsed<u64> {
        let size = value.number()?;
        if !(self.0..=self.1).contains(&size) {
            return Err(format!("expected a size from {} to {} bytes", self.0, self.1).into());
        }
        Ok(size)
    }
    fn print(&self, field: &u64) -> String {
        print_size(*field)
    }
}

impl Codec for SizeOrPercent {
    type Field = Amount;
    fn kind(&self) -> Kind {
        Kind::SizeOrPercent
    }
    fn parse(&self, value: Value<'_>) -> Parsed<Amount> {
        let text = value.text.trim();
        if text.strip_suffix('z').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) {
            return Err(Refusal::FioOnly("it counts zones of a zoned device".into()));
        }
        match value.percent() {
            // fio truncates 12.5% to 12 bytes.
            Some(percent) => match percent.text.trim_end().parse::<u8>() {
                Ok(percent) if percent <= 100 => Ok(Amount::Percent(percent.into())),
                _ => Err("expected whole percentages from 0% to 100%".into()),
            },
            None => value.number().map(Amount::Bytes),
        }
    }
    fn print(&self, field: &Amount) -> String {
        match field {
            Amount::Bytes(bytes) => print_size(*bytes),
            Amount::Percent(percent) => format!("{percent}%"),
        }
    }
}

impl Codec for Time {
    type Field = u64;
    fn kind(&self) -> Kind {
        Kind::Time(self.0)
    }
    fn parse(&self, value: Value<'_>) -> Parsed<u64> {
        Ok(parse_time(value.text, self.0)?)
    }
    fn print(&self, field: &u64) -> String {
        print_time(*field)
    }
}

impl Codec for PlainMilliseconds {
    type Field = u64;
    fn kind(&self) -> Kind {
        Kind::Time(TimeUnit::Milliseconds)
    }
    fn parse(&self, value: Value<'_>) -> Parsed<u64> {
        Ok(value.number_within(0, u32::MAX.into())? * TimeUnit::Milliseconds.ns())
    }
    fn print(&self, field: &u64) -> String {
        (field / TimeUnit::Milliseconds.ns()).to_string()
    }
}

impl<T: Copy + PartialEq> Codec for Words<T> {
    type Field = T;
    fn kind(&self) -> Kind {
        Kind::Words(self.0.iter().map(|(word, _)| *word).collect())
    }
    fn parse(&self, value: Value<'_>) -> Parsed<T> {
        if value.text.contains(':') {
            return Err(format!("expected a word alone, not `{}`", value.text).into());
        }
        value.word(self.0)
    }
    fn print(&self, field: &T) -> String {
        let found = self.0.iter().find(|(_, value)| value == field);
        found.map_or(String::new(), |(word, _)| (*word).into())
    }
}

impl Codec for Text {
    type Field = String;
    fn kind(&self) -> Kind {
        Kind::Text
    }
    fn parse(&self, value: Value<'_>) -> Parsed<String> {
        Ok(value.text.into())
    }
    fn print(&self, field: &String) -> String {
        field.clone()
    }
}

impl Codec for Names {
    type Field = Vec<String>;
    fn kind(&self) -> Kind {
        Kind::Names
    }
    fn parse(&self, value: Value<'_>) -> Parsed<Vec<String>> {
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
            return Err("expected a name".into());
        }
        Ok(names)
    }
    fn print(&self, field: &Vec<String>) -> String {
        field.iter().map(|name| name.replace(':', "\\:")).collect::<Vec<_>>().join(":")
    }
}

impl Codec for List {
    type Field = Vec<u32>;
    fn kind(&self) -> Kind {
        Kind::List
    }
    fn parse(&self, value: Value<'_>) -> Parsed<Vec<u32>> {
        let list = parse_list(value.text)?;
        if list.is_empty() {
            return Err("expected a list such as 0-3,8".into());
        }
        Ok(list)
    }
    fn print(&self, field: &Vec<u32>) -> String {
        field.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
    }
}

impl<C: Codec> Codec for Optional<C> {
    type Field = Option<C::Field>;
    fn kind(&self) -> Kind {
        self.0.kind()
    }
    fn parse(&self, value: Value<'_>) -> Parsed<Self::Field> {
        self.0.parse(value).map(Some)
    }
    fn print(&self, field: &Self::Field) -> String {
        field.as_ref().map_or(String::new(), |inner| self.0.print(inner))
    }
}

impl<C: Codec<Field: Default + PartialEq>> Codec for NonZero<C> {
    type Field = Option<C::Field>;
    fn kind(&self) -> Kind {
        self.0.kind()
    }
    fn parse(&self, value: Value<'_>) -> Parsed<Self::Field> {
        Ok(Some(self.0.parse(value)?).filter(|inner| *inner != C::Field::default()))
    }
    fn print(&self, field: &Self::Field) -> String {
        field.as_ref().map_or("0".into(), |inner| self.0.print(inner))
    }
}

impl<C: Codec<Field: Default>> Codec for Directions<C> {
    type Field = PerDirection<C::Field>;
    fn kind(&self) -> Kind {
        Kind::Directions(Box::new(self.0.kind()))
    }
    fn parse(&self, value: Value<'_>) -> Parsed<Self::Field> {
        let mut field = PerDirection::default();
        self.set(value, &mut field)?;
        Ok(field)
    }
    fn set(&self, value: Value<'_>, field: &mut Self::Field) -> Parsed {
        for (direction, part) in value.directions(true)? {
            self.0.set(part, field.of_mut(direction))?;
        }
        Ok(())
    }
    fn print(&self, field: &Self::Field) -> String {
        print_directions(
            &field.map(|value| Some(self.0.print(value)).filter(|text| !text.is_empty())),
        )
    }
}

/// Prints a size in plain bytes, whose meaning does not depend on `kb_base`.
pub(super) fn print_size(bytes: u64) -> String {
    bytes.to_string()
}

/// Prints a time in ns in the largest unit in which it is an integer, rounded down to us.
pub(super) fn print_time(ns: u64) -> String {
    match ns {
        0 => "0".into(),
        _ if ns.is_multiple_of(1_000_000_000) => format!("{}s", ns / 1_000_000_000),
        _ if ns.is_multiple_of(1_000_000) => format!("{}ms", ns / 1_000_000),
        _ => format!("{}us", ns / 1000),
    }
}
