//! Conversion of bodies written by earlier versions.

use serde_json::{Map, Value};

/// Objects of a format 1 snapshot whose members are now in the host itself, with the new names of
/// the renamed ones.
const HOISTED: [(&str, &[(&str, &str)]); 4] = [
    ("system", &[("vendor", "system_vendor"), ("product", "system_product")]),
    (
        "cpus",
        &[
            ("model", "cpu_model"),
            ("sockets", "cpu_sockets"),
            ("cores", "cpu_cores"),
            ("online", "cpus_online"),
            ("governor", "cpu_governor"),
            ("nodes", "numa_nodes"),
        ],
    ),
    ("kernel", &[("release", "kernel"), ("command_line", "kernel_command_line")]),
    ("limits", &[]),
];

/// Converts a snapshot of format 1 to the current form.
pub(crate) fn upgrade_snapshot(host: &mut Map<String, Value>) {
    for (object, names) in HOISTED {
        let Some(Value::Object(members)) = host.remove(object) else { continue };
        for (name, value) in members {
            let renamed = names.iter().find(|(earlier, _)| *earlier == name);
            host.insert(renamed.map_or(name.clone(), |(_, now)| (*now).into()), value);
        }
    }
}
