//! Builds a job's workload from its options and from fio's description at its start.

use std::collections::BTreeMap;

use iodyno_model::Workload;

use super::header::JobDescription;
use super::job::JobContext;
use super::run::Run;
use crate::read::workload::{split_names, workload};

/// Index of the descriptions and options of jobs.
pub(super) struct DescriptionIndex<'a> {
    of_group: BTreeMap<u32, Vec<&'a JobDescription>>,
    of_job: BTreeMap<(u32, &'a str), Vec<&'a JobDescription>>,
    requested: BTreeMap<&'a str, &'a BTreeMap<String, String>>,
}

impl Run {
    pub(super) fn description_index(&self) -> DescriptionIndex<'_> {
        let (mut of_group, mut of_job) =
            (BTreeMap::<_, Vec<_>>::new(), BTreeMap::<_, Vec<_>>::new());
        for job in &self.described {
            of_group.entry(job.group).or_default().push(job);
            of_job.entry((job.group, job.name.as_str())).or_default().push(job);
        }
        let requested =
            self.requested.iter().map(|(name, options)| (name.as_str(), options)).collect();
        DescriptionIndex { of_group, of_job, requested }
    }

    /// Properties of a job other than its results.
    pub(super) fn context(
        &self,
        index: &DescriptionIndex<'_>,
        name: &str,
        group: u32,
    ) -> JobContext {
        let effective = self.described_workload(index, name, group);
        let (requested, targets) = requested_options(index, name, &effective).unwrap_or_default();
        let mut options = requested.options;
        if effective.bs.is_some() {
            options.remove("bs");
        }
        options.extend(effective.options);
        JobContext {
            source: match &self.version {
                Some(version) => format!("fio {version}"),
                None => "fio".into(),
            },
            workload: Workload {
                rw: effective.rw.or(requested.rw),
                bs: effective.bs.or(requested.bs),
                iodepth: effective.iodepth.or(requested.iodepth),
                ioengine: effective.ioengine.or(requested.ioengine),
                options,
                ..requested
            },
            targets,
            interrupted: self.interrupted,
        }
    }

    /// Workload that fio described at the start. With group_reporting one job represents its group:
    /// the properties common to all.
    fn described_workload(&self, index: &DescriptionIndex<'_>, name: &str, group: u32) -> Workload {
        let mut heads = self.heads_of(group);
        let gathered =
            matches!((heads.next(), heads.next()), (Some((.., jobs)), None) if *jobs != Some(1));
        let of_job = match gathered {
            true => index.of_group.get(&group),
            false => index.of_job.get(&(group, name)),
        };
        let Some((first, others)) = of_job.and_then(|jobs| jobs.split_first()) else {
            return Workload::default();
        };
        let mut common = first.workload.clone();
        for other in others.iter().map(|other| &other.workload) {
            common.rw = common.rw.filter(|rw| other.rw.as_ref() == Some(rw));
            common.bs = common.bs.filter(|bs| other.bs == Some(*bs));
            common.iodepth = common.iodepth.filter(|depth| other.iodepth == Some(*depth));
            common.ioengine =
                common.ioengine.filter(|engine| other.ioengine.as_ref() == Some(engine));
            common.options.retain(|name, value| other.options.get(name) == Some(value));
        }
        common
    }
}

/// Options of a job, and its targets; `None` if they contradict the job that ran.
fn requested_options(
    index: &DescriptionIndex<'_>,
    name: &str,
    effective: &Workload,
) -> Option<(Workload, Vec<String>)> {
    let mut options = (*index.requested.get(name)?).clone();
    // The shell's expansion of `$((4 * 1024))` is unknown.
    options.retain(|option, value| option != "name" && !value.contains(['$', '`']));
    let targets = options.remove("filename").map_or_else(Vec::new, |names| split_names(&names));
    let requested = workload(options);
    let long = |rw: &str| if rw == "readwrite" { "rw" } else { rw }.to_owned();
    let contradicts = |requested: Option<String>, effective: Option<String>| {
        requested
            .zip(effective)
            .is_some_and(|(requested, effective)| long(&requested) != long(&effective))
    };
    let text = |bs: Option<u64>| bs.map(|bs| bs.to_string());
    let other = contradicts(requested.rw.clone(), effective.rw.clone())
        || contradicts(text(requested.bs), text(effective.bs))
        || contradicts(requested.ioengine.clone(), effective.ioengine.clone());
    (!other).then_some((requested, targets))
}
