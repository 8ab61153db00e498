//! Reads temperatures through the kernel's hwmon.

use iodyno_model::{ABSOLUTE_ZERO_C, Fact, HealthLog, IdentifyController, Temperature};

use crate::read;
use crate::source::Source;

/// Current composite temperature of a controller (`nvme0`), °C; `None` if the kernel does not offer
/// it. Reading makes the kernel send an admin command: do not use while single latencies are
/// measured.
pub fn temperature_c(source: &dyn Source, controller: &str) -> Option<f32> {
    let controller = format!("/sys/class/nvme/{controller}");
    let folder = hwmon(source, &controller, &source.list(&controller).ok()?)?;
    degrees(source, &format!("{folder}/temp1_input")).value().map(|degrees| degrees as f32)
}

/// Composite temperature and thresholds of a controller whose folder contains `names`.
pub(crate) fn read(source: &dyn Source, controller: &str, names: &[String]) -> Fact<Temperature> {
    let Some(folder) = hwmon(source, controller, names) else { return Fact::Absent };
    // For unset thresholds the kernel gives its limits, 0 K and beyond 300 °C.
    let level = |file| {
        let level = degrees(source, &format!("{folder}/{file}")).value();
        level.filter(|level| (0.0..300.0).contains(level))
    };
    degrees(source, &format!("{folder}/temp1_input")).map(|composite_c| Temperature {
        composite_c,
        warning_c: level("temp1_max"),
        critical_c: level("temp1_crit"),
    })
}

/// Reads millidegrees as °C; rejects values beyond the range of the drive's field.
fn degrees(source: &dyn Source, path: &str) -> Fact<f64> {
    let degrees = read::parsed(source, path, |text| {
        let millidegrees: i64 = text.parse().ok()?;
        (-273_150..=65_535_000).contains(&millidegrees).then(|| millidegrees as f64 / 1000.0)
    });
    // The kernel also converts the 0 K of a drive that reports none.
    degrees.and_then(|c| if c > ABSOLUTE_ZERO_C { Fact::Read(c) } else { Fact::Absent })
}

/// The hwmon folder: in the controller's, in `hwmon/` there, or, on older kernels, at the PCI
/// function.
fn hwmon(source: &dyn Source, controller: &str, names: &[String]) -> Option<String> {
    let is_hwmon = |name: &&String| read::is_numbered(name, "hwmon");
    if let Some(name) = names.iter().find(is_hwmon) {
        return Some(format!("{controller}/{name}"));
    }
    let beside = names.iter().any(|name| name == "hwmon").then_some("hwmon");
    beside.into_iter().chain(["device/hwmon"]).find_map(|folder| {
        let folder = format!("{controller}/{folder}");
        let name = source.list(&folder).ok()?.into_iter().find(|name| is_hwmon(&name))?;
        Some(format!("{folder}/{name}"))
    })
}

/// Temperature from the health log and Identify Controller, in K. 0 K means "not reported" (Base
/// Specification 2.0, figures 207 and 275).
pub(crate) fn from_health(
    identify: &Fact<IdentifyController>,
    health: &Fact<HealthLog>,
) -> Fact<Temperature> {
    let celsius = |kelvin: u16| (kelvin > 0).then(|| f64::from(kelvin) + ABSOLUTE_ZERO_C);
    let identify = identify.get();
    match health.as_ref().map(|health| celsius(health.temperature_k)) {
        Fact::Read(Some(composite_c)) | Fact::Stated(Some(composite_c)) => {
            Fact::Read(Temperature {
                composite_c,
                warning_c: identify.and_then(|page| celsius(page.warning_temperature_k)),
                critical_c: identify.and_then(|page| celsius(page.critical_temperature_k)),
            })
        }
        Fact::Read(None) | Fact::Stated(None) => Fact::Absent,
        Fact::NeedsRoot => Fact::NeedsRoot,
        Fact::NotAsked => Fact::NotAsked,
        Fact::Absent => Fact::Absent,
        Fact::Unreadable(what) => Fact::Unreadable(what),
    }
}
