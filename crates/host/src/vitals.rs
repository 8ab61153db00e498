//! Reads a drive's temperature and health while it works, without waking a sleeping one.

use iodyno_model::{ABSOLUTE_ZERO_C, HealthLog};

use crate::nvme::parse_health_log;
use crate::read;
use crate::source::{AdminRead, Source};
use crate::temperature::temperature_c;

/// Current state that a controller reports.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Vitals {
    /// Composite temperature, °C; `None` if not reported.
    pub temperature_c: Option<f64>,
    /// The SMART / Health log; root only.
    pub health: Option<HealthLog>,
}

/// Queries a controller (`nvme0`) with one or two admin commands. Returns `None` without asking if
/// it may sleep, so as not to wake it. `is_idle`: it has had nothing to do for a while.
pub fn vitals(source: &dyn Source, controller: &str, is_idle: bool) -> Option<Vitals> {
    if may_sleep(source, controller, is_idle) {
        return None;
    }
    let page = source.admin(controller, AdminRead::Health).ok();
    let health = page.and_then(|page| parse_health_log(&page));
    let reported = health.as_ref().filter(|health| health.temperature_k > 0);
    let of_log = reported.map(|health| f64::from(health.temperature_k) + ABSOLUTE_ZERO_C);
    let of_kernel = || temperature_c(source, controller).map(f64::from);
    Some(Vitals { temperature_c: of_log.or_else(of_kernel), health })
}

/// True if a command might wake it: the kernel has suspended its function (D3), or it may sleep by
/// itself (APST) because it is idle. The kernel shows the tolerated latency only for drives with
/// APST; 0 disables it (nvme_configure_apst in drivers/nvme/host/core.c).
fn may_sleep(source: &dyn Source, controller: &str, is_idle: bool) -> bool {
    let of =
        |file: &str| read::text(source, &format!("/sys/class/nvme/{controller}/{file}")).value();
    let is_live = of("state").is_none_or(|state| state == "live");
    let is_suspended =
        of("device/power/runtime_status").is_some_and(|status| status.starts_with("suspend"));
    let sleeps_itself = of("power/pm_qos_latency_tolerance_us").is_some_and(|most| most != "0");
    !is_live || is_suspended || is_idle && sleeps_itself
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::{Captured, Entry};

    type Files<'a> = &'a [(&'a str, &'a str)];

    fn drive(files: Files<'_>) -> Captured {
        let folder = "/sys/class/nvme/nvme0";
        let entry = |(file, text): &(&str, &str)| {
            (format!("{folder}/{file}"), Entry::Text((*text).to_owned()))
        };
        let monitor = [("hwmon0/temp1_input", "41850"), ("state", "live")];
        Captured::new(monitor.iter().chain(files).map(entry).collect())
    }

    #[test]
    fn a_drive_is_asked_unless_it_may_sleep() {
        let apst = ("power/pm_qos_latency_tolerance_us", "100000");
        let off = ("power/pm_qos_latency_tolerance_us", "0");
        let suspended = ("device/power/runtime_status", "suspended");
        let cases: [(Files<'_>, bool, bool); 7] = [
            (&[], true, true),
            (&[apst], false, true),
            (&[apst], true, false),
            (&[off], true, true),
            (&[suspended], false, false),
            (&[("device/power/runtime_status", "active")], true, true),
            (&[("state", "resetting")], false, false),
        ];
        for (files, is_idle, asked) in cases {
            let found = vitals(&drive(files), "nvme0", is_idle);
            assert_eq!(found.is_some(), asked, "{files:?} {is_idle}");
            let degrees = found.and_then(|vitals| vitals.temperature_c);
            assert!(!asked || degrees.is_some_and(|c| (c - 41.85).abs() < 0.01), "{degrees:?}");
        }
    }
}
