//! Evaluates integer arithmetic in values, such as `(2*4k)+1`, by the grammar of fio's
//! exp/expression-parser.y.

/// Longest accepted text, which also bounds the nesting.
const LONGEST: usize = 256;

/// Evaluates `text`; `factor` returns the factor of a unit behind a number or parenthesis. `None`
/// for an unknown unit, trailing text, overflow or division by zero.
pub(super) fn evaluate(text: &str, factor: &dyn Fn(&str) -> Option<i128>) -> Option<i128> {
    let text = text.trim();
    if text.len() > LONGEST || !text.is_ascii() {
        return None;
    }
    let mut reader = Reader { rest: text, factor };
    let value = reader.sum()?;
    reader.rest.is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
    factor: &'a dyn Fn(&str) -> Option<i128>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, signs: &str) -> Option<char> {
        let rest = self.rest.trim_start();
        let sign = rest.chars().next().filter(|c| signs.contains(*c))?;
        self.rest = &rest[1..];
        Some(sign)
    }

    fn sum(&mut self) -> Option<i128> {
        let mut value = self.product()?;
        while let Some(sign) = self.take("+-") {
            let other = self.product()?;
            value = if sign == '+' { value.checked_add(other) } else { value.checked_sub(other) }?;
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i128> {
        let mut value = self.power()?;
        while let Some(sign) = self.take("*/%") {
            let other = self.power()?;
            value = match sign {
                '*' => value.checked_mul(other),
                '/' => value.checked_div(other),
                _ => value.checked_rem(other),
            }?;
        }
        Some(value)
    }

    fn power(&mut self) -> Option<i128> {
        let base = self.signed()?;
        if self.take("^").is_none() {
            return Some(base);
        }
        base.checked_pow(u32::try_from(self.power()?).ok()?)
    }

    fn signed(&mut self) -> Option<i128> {
        match self.take("+-") {
            Some('-') => self.signed()?.checked_neg(),
            Some(_) => self.signed(),
            None => self.with_unit(),
        }
    }

    fn with_unit(&mut self) -> Option<i128> {
        let value = if self.take("(").is_some() {
            let value = self.sum()?;
            self.take(")")?;
            value
        } else {
            self.number()?
        };
        let unit = self.take_while(|c| c.is_ascii_alphabetic());
        if unit.is_empty() { Some(value) } else { value.checked_mul((self.factor)(unit)?) }
    }

    fn number(&mut self) -> Option<i128> {
        self.rest = self.rest.trim_start();
        let hex = self.rest.strip_prefix("0x").or_else(|| self.rest.strip_prefix("0X"));
        let (digits, base) = match hex {
            Some(rest) => {
                self.rest = rest;
                (self.take_while(|c| c.is_ascii_hexdigit()), 16)
            }
            None => (self.take_while(|c| c.is_ascii_digit()), 10),
        };
        i128::from_str_radix(digits, base).ok()
    }

    fn take_while(&mut self, accepts: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !accepts(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }
}
