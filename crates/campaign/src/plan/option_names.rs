//! Gives each option of a plan its main name, so that a later one overrides it however it is spelled.

use std::collections::BTreeMap;

use iodyno_job::{find, main_name};

use super::error::Mistake;
use super::study::{Study, written};

impl Study {
    /// Renames the options of all tables.
    ///
    /// # Errors
    /// An option that a table has twice, by two names.
    pub(super) fn name_options(&mut self) -> Result<(), Mistake> {
        let value = |name: &str, value: toml::Value| main_value(name, value);
        let values = |name: &str, values: Vec<toml::Value>| {
            values.into_iter().map(|one| main_value(name, one)).collect()
        };
        renamed(&mut self.job, &["job"], value)?;
        renamed(&mut self.grid, &["grid"], values)?;
        for (n, step) in self.steps.iter_mut().enumerate() {
            let n = n.to_string();
            renamed(&mut step.job, &["step", &n, "job"], value)?;
            renamed(&mut step.grid, &["step", &n, "grid"], values)?;
        }
        Ok(())
    }
}

fn renamed<V>(
    table: &mut BTreeMap<String, V>,
    path: &[&str],
    value: impl Fn(&str, V) -> V,
) -> Result<(), Mistake> {
    let mut known = BTreeMap::new();
    for (name, typed) in std::mem::take(table) {
        let main = main_name(&name).to_owned();
        if let Some(other) = known.insert(main.clone(), name.clone()) {
            let what = format!("`{other}` and `{name}` are one option: expected one of them");
            return Err(Mistake::at(&[path, &[name.as_str()]].concat(), what));
        }
        table.insert(main, value(&name, typed));
    }
    Ok(())
}

/// Value of the option `name` as one of its main name; unchanged if it is not valid, which is
/// reported where all values are checked.
pub(super) fn main_value(name: &str, value: toml::Value) -> toml::Value {
    let main = main_name(name);
    if find(name).is_none_or(|own| own.name == main) {
        return value;
    }
    let text = written(&value).ok().and_then(|text| iodyno_job::main_value(name, &text).ok());
    text.map_or(value, toml::Value::String)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "format = \"iodyno.plan/1\"\nname = \"x\"\n";

    /// Title and options of each point, after `change`.
    fn points(lines: &str, change: fn(&mut Study)) -> Vec<String> {
        let mut study = Study::parse(&format!("{HEAD}targets = [\"t\"]\n{lines}"), "p").unwrap();
        change(&mut study);
        let options = |of: &[(String, String)]| {
            let of = of.iter().map(|(name, value)| format!("{name}={value}"));
            of.collect::<Vec<_>>().join(" ")
        };
        study
            .points(0)
            .iter()
            .map(|point| format!("{}: {}", point.title, options(&point.options)))
            .collect()
    }

    #[test]
    fn later_option_overrides_an_earlier_one_by_any_name() {
        let write = "[job]\nrw = \"randwrite\"\nbs = \"4k\"\n";
        let steps = format!("{write}[[step]]\nname = \"a\"\n");
        let as_is = |lines: &str| points(lines, |_| {});
        assert_eq!(
            as_is(&format!("{steps}job = {{ readwrite = \"randread\" }}")),
            ["a: bs=4k rw=randread"]
        );
        assert_eq!(
            as_is(&format!("{steps}grid = {{ blocksize = [\"8k\", 131072] }}")),
            ["a bs=8k: rw=randwrite bs=8k", "a bs=131072: rw=randwrite bs=131072"]
        );
        assert_eq!(
            as_is(
                "[job]\ndirect = 1\nrwmixread = 70\n[[step]]\nname = \"a\"\njob = { buffered = true, rwmixwrite = 10 }"
            ),
            ["a: direct=0 rwmixread=90"]
        );
        // Options of which one overrides the other stay in the order in which they are set.
        assert_eq!(
            as_is("[job]\nbsrange = \"4k-8k\"\n[[step]]\nname = \"a\"\njob = { bs = \"4k\" }"),
            ["a: bsrange=4k-8k bs=4k"]
        );
        let set = |study: &mut Study| {
            study.set("readwrite", "randread");
            study.set("buffered", "0");
            study.vary("blocksize", &["8k".into()]);
        };
        assert_eq!(points(write, set), ["bs=8k: direct=1 rw=randread bs=8k"]);
        let study = |point: &str| Study::parse(&format!("{HEAD}{point}"), "p");
        let reads = study(&format!("targets = [\"t\"]\n{steps}job = {{ readwrite = \"read\" }}"));
        assert!(!reads.unwrap().points(0)[0].writes());
    }

    #[test]
    fn one_table_has_an_option_once() {
        let said =
            |lines: &str| Study::parse(&format!("{HEAD}{lines}"), "p").unwrap_err().to_string();
        assert_eq!(
            said("[job]\nrw = \"read\"\nreadwrite = \"write\""),
            "p: line 4, column 6: `readwrite` and `rw` are one option: expected one of them"
        );
    }
}
