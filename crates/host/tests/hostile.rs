//! Garbage in every file: never a panic.

mod support;

use iodyno_host::{
    Depth, disk_stats, mounts, namespace_ids, parse_format_in_use, parse_health_log,
    parse_identify_controller, parse_identify_namespace, parse_purge_support,
    parse_sanitize_status, snapshot,
};
use serde_json::json;
use support::{Machine, Numbers};

#[test]
fn pages_of_random_bytes_are_survived() {
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    for round in 0..3000 {
        let length = if round % 2 == 0 { 4096 } else { numbers.next() as usize % 5000 };
        let page = numbers.bytes(length);
        parse_identify_controller(&page);
        if let Some(namespace) = parse_identify_namespace(&page) {
            let _ = (namespace.format(), namespace.best_format(), namespace.used_share());
        }
        parse_health_log(&page);
        parse_purge_support(&page);
        assert!(parse_format_in_use(&page).is_none_or(|format| format.index < 64));
        assert!(parse_sanitize_status(&page).is_none_or(|now| (0.0..1.0).contains(&now.done)));
        assert!(namespace_ids(&page).len() <= page.len() / 4);
    }
}

#[test]
fn a_machine_full_of_garbage_is_survived() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let lab = Machine::lab();
    let paths: Vec<String> = lab.0.keys().cloned().collect();
    let texts = [
        "",
        "\n",
        "-1",
        "99999999999999999999999",
        "0x",
        ":",
        "0:",
        "a b c",
        "nan",
        "[",
        "]",
        ",-,",
        "é\u{1b}[2J",
        "18446744073709551615",
        "TOTAL_ERR 18446744073709551615",
        "/../..",
        "\\0",
    ];
    for _ in 0..150 {
        let mut machine = lab.clone();
        for _ in 0..=numbers.next() % 60 {
            let path = paths[numbers.next() as usize % paths.len()].clone();
            let entry = match numbers.next() % 6 {
                0 => json!("denied"),
                1 => json!({ "failed": numbers.next() % 130 }),
                2 => json!("directory"),
                3 => json!({ "link": texts[numbers.next() as usize % texts.len()] }),
                4 => {
                    machine.0.remove(&path);
                    continue;
                }
                _ => json!({ "text": texts[numbers.next() as usize % texts.len()] }),
            };
            machine.0.insert(path, entry);
        }
        let source = machine.open();
        let host = snapshot(&source, Depth::Full);
        for drive in &host.drives {
            for text in [&drive.model, &drive.serial, &drive.state] {
                assert!(!text.get().is_some_and(|text| text.contains(char::is_control)));
            }
        }
    }
}

#[test]
fn files_of_the_kernel_that_make_no_sense_are_survived() {
    let mut numbers = Numbers(7);
    for _ in 0..300 {
        let garbage = String::from_utf8_lossy(&numbers.bytes(300)).replace('\r', " - ");
        let machine = [
            "/proc/self/mountinfo",
            "/proc/swaps",
            "/proc/diskstats",
            "/proc/meminfo",
            "/proc/cpuinfo",
            "/proc/self/limits",
            "/proc/self/auxv",
            "/etc/os-release",
        ];
        let machine = machine.iter().fold(Machine::lab(), |m, path| m.file(path, &garbage));
        let source = machine.open();
        snapshot(&source, Depth::Quick);
        mounts(&source);
        disk_stats(&source);
    }
}
