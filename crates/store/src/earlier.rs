//! Bodies as earlier versions wrote them.

use serde_json::{Map, Value};

/// Of a snapshot of format 1: the objects whose members have stood in the host itself since, by the
/// names that they have there.
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

/// A snapshot of format 1 in the form that is read now.
pub(crate) fn snapshot(host: &mut Map<String, Value>) {
    for (object, names) in HOISTED {
        let Some(Value::Object(members)) = host.remove(object) else { continue };
        for (name, value) in members {
            let renamed = names.iter().find(|(earlier, _)| *earlier == name);
            host.insert(renamed.map_or(name.clone(), |(_, now)| (*now).into()), value);
        }
    }
}
