//! Reads bench-fio's INI files as studies (fio-plot, `bench_fio/templates/benchmark.ini`).

use configparser::ini::Ini;
use iodyno_campaign::{Order, PlanError, Study};

/// fio's option names for those of bench-fio (`defaultsettings.py`, `map_settings_to_fio`).
const NAMES: [(&str, &str); 6] = [
    ("mode", "rw"),
    ("engine", "ioengine"),
    ("block_size", "bs"),
    ("ss", "steadystate"),
    ("ss_dur", "steadystate_duration"),
    ("ss_ramp", "steadystate_ramp_time"),
];

/// bench-fio's defaults (from the same file).
const DEFAULTS: [(&str, &str); 6] = [
    ("engine", "libaio"),
    ("mode", "randread"),
    ("block_size", "4k"),
    ("iodepth", "1,2,4,8,16,32,64"),
    ("numjobs", "1,2,4,8,16,32,64"),
    ("direct", "1"),
];

/// Settings of bench-fio itself, or with another equivalent here: results go to the store, writes
/// are allowed by --allow-write.
const OWN_SETTINGS: [&str; 11] = [
    "output",
    "type",
    "destructive",
    "dry_run",
    "quiet",
    "create",
    "benchmarks",
    "loginterval",
    "time_based",
    "remote_timeout",
    "precondition_template",
];

/// Parses a bench-fio INI file; `name` is the file.
///
/// # Errors
/// Not such a file, or a setting that works differently here.
pub(crate) fn study(text: &str, name: &str) -> Result<Study, PlanError> {
    let form = |text: String| PlanError { name: name.into(), text };
    let mut ini = Ini::new();
    let sections = ini.read(text.to_owned()).map_err(form)?;
    let settings =
        sections.get("benchfio").ok_or_else(|| form("expected a section [benchfio]".into()))?;
    let mut study = Study::named("bench-fio");
    study.order = Order::Written;
    let defaults = DEFAULTS.iter().filter(|(setting, _)| !settings.contains_key(*setting));
    let defaults = defaults.map(|(setting, value)| ((*setting).to_owned(), (*value).to_owned()));
    let written = settings.iter();
    let written = written.map(|(name, value)| (name.clone(), value.clone().unwrap_or_default()));
    for (setting, value) in defaults.chain(written) {
        apply(&mut study, &setting, value.trim()).map_err(form)?;
    }
    if study.targets.is_empty() {
        return Err(form("[benchfio] has no target".into()));
    }
    study.check().map_err(|error| form(error.text))?;
    Ok(study)
}

/// Applies a setting to `study`.
fn apply(study: &mut Study, setting: &str, value: &str) -> Result<(), String> {
    let values = || value.split(',').map(|one| one.trim().to_owned()).filter(|v| !v.is_empty());
    let is_set = !matches!(value.to_ascii_lowercase().as_str(), "" | "false" | "no" | "0" | "none");
    match setting {
        "target" => study.targets = values().collect(),
        "runtime" => study.stop_at(None, Some(value)),
        "loops" => {
            study.repeat =
                value.parse().map_err(|_| format!("loops = {value}: expected a number"))?;
        }
        "extra_opts" => {
            for option in values() {
                let (option, value) = option.split_once('=').unwrap_or((&option, "1"));
                study.set(option, value);
            }
        }
        "precondition"
        | "precondition_repeat"
        | "remote"
        | "ceph_pool"
        | "parallel"
        | "entire_device"
            if is_set =>
        {
            let advice = match setting {
                "precondition" | "precondition_repeat" => {
                    "fill the drive first, by a job that writes all of it"
                }
                "entire_device" => "use a plan with until = \"done\"",
                "parallel" => "give each target a run of its own",
                _ => "run iodyno on the machine that has the drives",
            };
            return Err(format!("{setting} is not supported: {advice}, and drop it here"));
        }
        _ if OWN_SETTINGS.contains(&setting) || !is_set => {}
        _ => {
            let fios = NAMES.iter().find(|(ours, _)| *ours == setting);
            let option = fios.map_or(setting, |(_, option)| *option);
            let values: Vec<String> = values().collect();
            match values.as_slice() {
                [only] => study.set(option, only),
                several => study.vary(option, several),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {

    #[test]
    fn bench_fio_file_becomes_a_grid() {
        let text = "[benchfio]\ntarget = /dev/a, /dev/b\noutput = x\ntype = device\n\
                    mode = randread,randwrite\nsize = 10G\niodepth = 1,2,4\nnumjobs = 8\n\
                    engine = io_uring\nprecondition = False\nruntime = 30\ndestructive = True\n\
                    extra_opts = norandommap=1,refill_buffers=1\n";
        let study = super::study(text, "b.ini").unwrap();
        let points = study.points(0);
        assert_eq!(points.len(), 2 * 2 * 3);
        let first = &points[0];
        let of =
            |name: &str| first.options.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        assert_eq!(
            (of("bs"), of("ioengine"), of("numjobs")),
            (Some("4k"), Some("io_uring"), Some("8"))
        );
        assert_eq!((of("norandommap"), of("direct")), (Some("1"), Some("1")));
        assert_eq!(study.stop().unwrap().max_ns, 30_000_000_000);
    }

    #[test]
    fn unsupported_settings_give_advice() {
        let of = |line: &str| {
            let text = format!("[benchfio]\ntarget = /dev/a\n{line}\n");
            super::study(&text, "b.ini").unwrap_err().to_string()
        };
        assert!(of("precondition = True").contains("fill the drive first"));
        assert!(of("iodeth = 3").contains("iodepth"), "{}", of("iodeth = 3"));
        assert!(super::study("[global]\nrw=read\n", "b.ini").is_err());
    }
}
