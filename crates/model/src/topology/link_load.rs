//! Capacity of a link, and the demand of the drives behind it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Host, Link, LinkState, format_mb_per_s};

/// A link and the drives that share it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LinkLoad {
    /// Name: PCI address of its device end.
    pub name: String,
    /// Trained state (speed and width in use).
    pub in_use: Option<LinkState>,
    /// Highest state supported by both ends.
    pub able: Option<LinkState>,
    /// Payload bytes per second towards memory in the trained state.
    pub payload_bytes_per_s: Option<f64>,
    /// Number of drives behind the link.
    pub drives: usize,
    /// Combined demand of these drives: for each, the capacity of the narrowest of its own links
    /// behind this one. Null if not known for all drives, or if only one drive uses the link.
    pub wanted_bytes_per_s: Option<f64>,
    /// Demand over capacity; above 1 the drives cannot all be fast at once.
    pub oversubscription: Option<f64>,
}

impl LinkLoad {
    pub(super) fn of(host: &Host, link: &Link) -> Self {
        let behind = |links: &[String]| -> Option<Vec<String>> {
            let at = links.iter().position(|name| name == link.name())?;
            Some(links[at + 1..].to_vec())
        };
        let ways: Vec<Vec<String>> =
            host.drives.iter().filter_map(|drive| behind(&drive.links)).collect();
        let carried = |name: &String| host.link(name)?.payload_bytes_per_s();
        let narrowest = |way: &Vec<String>| {
            let rates: Option<Vec<f64>> = way.iter().map(carried).collect();
            rates.filter(|rates| !rates.is_empty()).map(|r| r.into_iter().fold(f64::MAX, f64::min))
        };
        let wanted = ways.iter().map(narrowest).sum::<Option<f64>>().filter(|_| ways.len() > 1);
        let payload = link.payload_bytes_per_s();
        let times = wanted.zip(payload.filter(|payload| *payload > 0.0));
        Self {
            name: link.name().into(),
            in_use: link.current.value(),
            able: link.able(),
            payload_bytes_per_s: payload,
            drives: ways.len(),
            wanted_bytes_per_s: wanted,
            oversubscription: times.map(|(wanted, payload)| wanted / payload),
        }
    }

    /// Returns facts about the link, and concerns (what could be better), in words.
    pub(super) fn facts_and_concerns(&self, link: &Link) -> (Vec<String>, Vec<String>) {
        let (mut facts, mut concerns) = (Vec::new(), Vec::new());
        let Some(in_use) = self.in_use else {
            let why = link.current.why_unknown().unwrap_or_default();
            return (vec![format!("link state unknown ({why})")], concerns);
        };
        let [port, device] = link.able_beyond();
        facts.push(match port {
            Some(able) => format!("{} (port: {})", in_use.label(), able.label()),
            None => in_use.label(),
        });
        let ends = [&link.port.max_payload_bytes, &link.device.max_payload_bytes];
        if let Some(rate) = self.payload_bytes_per_s {
            // The payload size is readable only by root; without it the rate is an estimate.
            let known = ends.iter().any(|end| end.get().is_some());
            let about = if known { "" } else { "about " };
            facts.push(format!("carries {about}{}", format_mb_per_s(rate)));
        }
        if let Some(slot) = &link.slot {
            facts.push(format!("slot {slot}"));
        }
        let aspm = link.aspm.get().and_then(|aspm| aspm.label());
        facts.extend(aspm.map(|states| format!("ASPM {states}")));
        if let Some(able) = self
            .able
            .filter(|able| in_use.generation < able.generation || in_use.width < able.width)
        {
            concerns.push(format!("both ends can do {}", able.label()));
        }
        concerns.extend(device.map(|able| format!("device can do {}", able.label())));
        if let Some(able) =
            link.able_payload_bytes().filter(|able| link.max_payload_bytes() < *able)
        {
            let now = link.max_payload_bytes();
            concerns.push(format!("payloads of {now} bytes, both ends support {able}"));
        }
        match (self.drives, self.oversubscription) {
            (0 | 1, _) => {}
            (drives, Some(times)) if times > 1.05 => {
                concerns.push(format!(
                    "{drives} drives share it and may need {times:.1} times as much"
                ));
            }
            (drives, _) => facts.push(format!("{drives} drives share it")),
        }
        let count = |of: fn(&crate::LinkEnd) -> Option<u64>| {
            [&link.port, &link.device].into_iter().filter_map(of).fold(0_u64, u64::saturating_add)
        };
        for (count, what) in [
            (count(|end| end.correctable_errors.value()), "correctable"),
            (count(|end| end.uncorrectable_errors.value()), "uncorrectable"),
        ] {
            if count > 0 {
                let s = if count == 1 { "" } else { "s" };
                concerns.push(format!("{count} {what} error{s} since boot"));
            }
        }
        (facts, concerns)
    }
}
