//! What is known of a job's workload: what was asked for, and what fio said of
//! it when it began.

use iodyno_model::Workload;

use super::header::Announced;
use super::job::Surroundings;
use super::run::Run;
use crate::read::workload::{split_names, workload};

impl Run {
    /// What is known of a job beside its results.
    pub(super) fn surroundings(&self, name: &str, group: u32) -> Surroundings {
        let effective = self.announced_workload(name, group);
        let (asked, targets) = self.asked_of(name, &effective).unwrap_or_default();
        let mut options = asked.options;
        if effective.bs.is_some() {
            options.remove("bs");
        }
        options.extend(effective.options);
        Surroundings {
            source: match &self.version {
                Some(version) => format!("fio {version}"),
                None => "fio".into(),
            },
            workload: Workload {
                rw: effective.rw.or(asked.rw),
                bs: effective.bs.or(asked.bs),
                iodepth: effective.iodepth.or(asked.iodepth),
                ioengine: effective.ioengine.or(asked.ioengine),
                options,
                ..asked
            },
            targets,
            interrupted: self.interrupted,
        }
    }

    /// What a job was asked for, and its targets; `None` where that is not of
    /// the job that ran.
    fn asked_of(&self, name: &str, effective: &Workload) -> Option<(Workload, Vec<String>)> {
        let (_, options) = self.asked.iter().rfind(|(job, _)| job == name)?;
        let mut options = options.clone();
        // What a shell put in the place of `$((4 * 1024))` is not known.
        options.retain(|option, value| option != "name" && !value.contains(['$', '`']));
        let targets = options.remove("filename").map_or_else(Vec::new, |names| split_names(&names));
        let asked = workload(options);
        let long = |rw: &str| if rw == "readwrite" { "rw" } else { rw }.to_owned();
        let contradicts = |asked: Option<String>, effective: Option<String>| {
            asked.zip(effective).is_some_and(|(asked, effective)| long(&asked) != long(&effective))
        };
        let text = |bs: Option<u64>| bs.map(|bs| bs.to_string());
        let other = contradicts(asked.rw.clone(), effective.rw.clone())
            || contradicts(text(asked.bs), text(effective.bs))
            || contradicts(asked.ioengine.clone(), effective.ioengine.clone());
        (!other).then_some((asked, targets))
    }

    /// What fio said of a job when it began. With group_reporting one job
    /// stands for all of its group: what they have in common.
    fn announced_workload(&self, name: &str, group: u32) -> Workload {
        let of_group = || self.announced.iter().filter(|job| job.group == group);
        let mut heads = self.heads.iter().filter(|(of, ..)| *of == group);
        let gathered =
            matches!((heads.next(), heads.next()), (Some((.., jobs)), None) if *jobs != Some(1));
        let of_job: Vec<&Announced> = match gathered {
            true => of_group().collect(),
            false => of_group().filter(|job| job.name == name).collect(),
        };
        let Some((first, others)) = of_job.split_first() else { return Workload::default() };
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
