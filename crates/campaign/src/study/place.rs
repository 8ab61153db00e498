//! Where in a plan's text an option stands.

use toml::de::{DeTable, DeValue};

/// Line and column (from 1, in characters) of what `option` is set to: in the
/// step of this name, else in the whole plan.
pub(super) fn place_of(text: &str, step: &str, option: &str) -> Option<(usize, usize)> {
    let plan = DeValue::Table(DeTable::parse(text).ok()?.into_inner());
    let steps = plan.get("step").and_then(|steps| steps.get_ref().as_array());
    let named = |one: &&toml::Spanned<DeValue<'_>>| {
        one.get_ref().get("name").and_then(|name| name.get_ref().as_str()) == Some(step)
    };
    let own = steps.into_iter().flat_map(|steps| steps.iter()).find(named);
    let whole = [own.map(toml::Spanned::get_ref), Some(&plan)];
    let span = whole.into_iter().flatten().find_map(|of| {
        let value = |table: &str| Some(of.get(table)?.get_ref().get(option)?.span());
        value("job").or_else(|| value("grid"))
    })?;
    let before = text.get(..span.start)?;
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Some((before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_found_in_its_step_or_in_the_whole() {
        let text = "[job]\nbs = \"4k\"\n[grid]\niodepth = [1]\n\
                    [[step]]\nname = \"a\"\njob = { bs = \"8k\", rw = \"read\" }\n\
                    [[step]]\nname = \"b\"\n[step.grid]\n# ü\nrw = [1]\n";
        let found = [("a", "bs"), ("a", "rw"), ("b", "bs"), ("b", "rw"), ("", "iodepth")];
        let places = found.map(|(step, option)| place_of(text, step, option).unwrap());
        assert_eq!(places, [(7, 14), (7, 25), (2, 6), (12, 6), (4, 11)]);
        assert_eq!(place_of(text, "a", "size"), None);
        assert_eq!(place_of("x = [", "a", "bs"), None);
    }
}
