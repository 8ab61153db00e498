//! Text for a terminal.

mod common;

use common::{assert_as_expected, style};
use iodyno_model::{
    Assessment, Basis, BlockDevice, BlockKind, Caveat, EndReason, Estimate, Evidence, Fact,
    Finding, LinkState, Reason, RuleReport, Run, RunState, Severity, Temperature, Use, Validity,
    Verdict, Yardstick,
};
use iodyno_report::text::{
    Style, drives_table, host_text, jobs_text, list_text, measurements_text, results_table,
    rules_text, run_heading, run_text, runs_table, verdict_text,
};

/// Width of a line; in these tests every character takes one column.
fn columns(line: &str) -> usize {
    line.chars().count()
}

fn without_color(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        out.push_str(before);
        rest = after.split_once('m').expect("only Select Graphic Rendition is used").1;
    }
    out + rest
}

#[test]
fn a_run_matches_on_narrow_usual_and_wide_terminals() {
    let record = common::record();
    let assessment = common::assessment(&record);
    for width in [40, 80, 120] {
        let text = run_text(&record, &assessment, 1, &style(width)).unwrap();
        assert_as_expected(&format!("server-{width}.txt"), &text);
    }
    let (record, assessment) = common::virtual_machine();
    for width in [40, 80] {
        let text = run_text(&record, &assessment, 4, &style(width)).unwrap();
        assert_as_expected(&format!("virtual-{width}.txt"), &text);
    }
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    let server = common::record();
    let judged = common::assessment(&server);
    let mut unknown = server.clone();
    unknown.snapshots = vec![common::without_facts(common::host())];
    let (machine, machine_judged) = common::virtual_machine();
    for (record, assessment) in
        [(&server, &judged), (&unknown, &judged), (&machine, &machine_judged)]
    {
        for width in (40..=200).step_by(5) {
            let text = run_text(record, assessment, 0, &style(width)).unwrap();
            let runs = runs_table(std::slice::from_ref(&record.run), &style(width));
            let heading = run_heading(record, &style(width));
            for line in [text, runs, heading].concat().lines() {
                assert!(columns(line) <= width, "{width}: {line}");
                assert_eq!(line.trim_end(), line, "no blanks at the end");
            }
        }
    }
}

#[test]
fn long_strings_of_devices_do_not_break_the_table() {
    let mut host = common::host();
    host.drives[0].name = "nvme123".into();
    host.drives[0].serial = Fact::Read("PHAX2345678901234567".into());
    host.drives[1].serial = Fact::Read("no device of this world has such a serial number".into());
    host.drives[1].model = Fact::Read("M".repeat(40));
    let record = common::record();
    let assessment = common::assessment(&record);
    for width in 40..=200 {
        let table = drives_table(&host, Some((&record, &assessment)), &style(width)).unwrap();
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines.iter().all(|line| columns(line) <= width), "{width}:\n{table}");
        for heading in ["NAME", "SERIAL", "VERDICT"] {
            assert!(lines[0].contains(heading), "{width}: {}", lines[0]);
        }
        assert!(lines[1].starts_with("nvme123 "), "{width}: {}", lines[1]);
    }
}

#[test]
fn colour_repeats_what_the_words_say() {
    let record = common::record();
    let assessment = common::assessment(&record);
    for width in [40, 100] {
        let plain = run_text(&record, &assessment, 1, &style(width)).unwrap();
        let colored = Style { color: true, ..style(width) };
        let colored = run_text(&record, &assessment, 1, &colored).unwrap();
        assert!(!plain.contains('\x1b'));
        assert!(colored.contains("\x1b["));
        assert_eq!(without_color(&colored), plain);
    }
}

#[test]
fn devices_cannot_move_the_cursor() {
    let evil = "\x1b[2J\u{9b}31m\r\u{202e}x\ny\u{7}";
    let mut record = common::record();
    record.run.name = evil.into();
    record.run.command = evil.into();
    record.run.targets.push(evil.into());
    record.run.skipped[0].why = evil.into();
    record.run.skipped[0].target = evil.into();
    let mut assessment = common::assessment(&record);
    assessment.measurements[0].metrics[0].reason = evil.into();
    assessment.measurements[1].reasons.push(Reason {
        rule: evil.into(),
        validity: Validity::Qualified,
        why: evil.into(),
    });
    assessment.findings.push(Finding {
        rule: evil.into(),
        severity: Severity::Warn,
        subjects: vec![evil.into()],
        what: evil.into(),
        evidence: vec![Evidence::new(evil, evil)],
        why: evil.into(),
        next: evil.into(),
        cause: None,
    });
    assessment.rules.push(RuleReport {
        rule: evil.into(),
        outcome: iodyno_model::RuleOutcome::CannotTell(evil.into()),
        cannot_tell: vec![(evil.into(), evil.into())],
    });
    let host = &mut record.snapshots[0];
    host.hostname = Fact::Read(evil.into());
    host.cards[0].name = Fact::Read(evil.into());
    let drive = &mut host.drives[0];
    for fact in [
        &mut drive.model,
        &mut drive.serial,
        &mut drive.firmware,
        &mut drive.state,
        &mut drive.address,
    ] {
        *fact = Fact::Read(evil.into());
    }
    host.drives[0].name = evil.into();
    host.blocks[1].used_by =
        vec![Use::OpenBy { pid: 7, command: evil.into() }, Use::HeldBy(evil.into())];
    record.measurements[0].name = evil.into();
    record.measurements[0].targets = vec![evil.into()];
    record.measurements[0].source = evil.into();
    record.measurements[0].conditions.shortfalls.push(evil.into());
    let wide = Style { wide: true, ..style(100) };
    let text = run_text(&record, &assessment, 1, &wide).unwrap()
        + &runs_table(std::slice::from_ref(&record.run), &wide)
        + &run_heading(&record, &wide);
    let bad = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
    assert_eq!(bad, None);
}

fn table(host: &iodyno_model::Host, columns: &str) -> Vec<Vec<String>> {
    let columns = Some(columns.split(',').map(String::from).collect());
    let text =
        drives_table(host, None, &Style { columns, ..style(80) }).expect("columns that exist");
    let rows =
        text.lines().filter(|line| !line.starts_with('!') && !line.starts_with("root only:"));
    rows.map(|line| line.split("  ").filter(|c| !c.is_empty()).map(|c| c.trim().into()).collect())
        .collect()
}

#[test]
fn columns_are_those_asked_for() {
    let rows = table(&common::host(), "name,lba,usage,wear,numa");
    assert_eq!(rows[0], ["NAME", "LBA", "USAGE", "WEAR", "NUMA"]);
    assert_eq!(rows[1], ["nvme0", "512 (best 4096)", "93 %", "2 %", "0"]);
    assert_eq!(rows[3], ["nvme2", "512 (best 4096)", "0 %", "2 %", "0"]);
    let wrong = Style { columns: Some(vec!["modle".into()]), ..style(80) };
    let error = drives_table(&common::host(), None, &wrong).unwrap_err();
    assert!(error.to_string().contains("did you mean \"model\"?"), "{error}");
    assert_eq!(wrong.check(), Err(error));
}

#[test]
fn wide_shows_every_column() {
    let record = common::record();
    let assessment = common::assessment(&record);
    let wide = Style { wide: true, ..style(40) };
    let text = drives_table(&common::host(), Some((&record, &assessment)), &wide).unwrap();
    assert_eq!(text.lines().next().unwrap().split_whitespace().count(), 15);
}

#[test]
fn unknown_is_a_dash_or_a_need_for_root_but_never_zero() {
    let host = common::without_facts(common::host());
    let rows =
        table(&host, "name,model,serial,capacity,lba,usage,link,numa,temperature,wear,state");
    assert_eq!(
        rows[1],
        ["nvme0", "-", "root only", "-", "-", "root only", "-", "-", "-", "root only", "-"]
    );
    let text = drives_table(&host, None, &style(80)).unwrap();
    assert!(text.contains("root only: run with sudo to see it."), "{text}");
    assert!(!text.contains('0') || text.contains("nvme0"));
}

#[test]
fn links_show_their_limit() {
    let mut host = common::host();
    host.links[1].device.max_generation = Fact::Read(5);
    host.links[1].port.max_generation = Fact::Read(4);
    host.links[3].current = Fact::Read(LinkState { generation: 4, width: 4 });
    let mut uplink = host.links[3].clone();
    uplink.device.address = "0000:30:00.0".into();
    uplink.current = Fact::Read(LinkState { generation: 1, width: 4 });
    host.links.push(uplink);
    host.drives[3].links.insert(0, "0000:30:00.0".into());
    let links: Vec<String> =
        table(&host, "name,link")[1..].iter().map(|row| row[1].clone()).collect();
    assert_eq!(
        links,
        ["Gen4 x4", "Gen4 x4 (drive Gen5 x4)", "Gen3 x2 of Gen4 x4 !", "Gen4 x4, uplink !"]
    );
}

#[test]
fn uses_are_found_through_the_layers() {
    let mut host = common::host();
    let uses = |host: &_| -> Vec<String> {
        table(host, "name,use")[1..].iter().map(|row| row[1].clone()).collect()
    };
    assert_eq!(uses(&host), ["/, /boot/efi +1", "/, md0", "unused", "/srv/data, LVM"]);
    let block = host.blocks.iter_mut().find(|block| block.name == "nvme2n1").unwrap();
    block.used_by = vec![Use::Signature("ext4".into())];
    assert_eq!(uses(&host)[2], "holds ext4");
    host.blocks.retain(|block| block.name != "nvme2n1");
    assert_eq!(uses(&host)[2], "-", "not known to be free");
}

#[test]
fn without_nvme_the_disks_are_listed() {
    let (record, _) = common::virtual_machine();
    let mut host = record.snapshots[0].clone();
    let text = list_text(&host, &style(80)).unwrap();
    assert!(text.starts_with("No NVMe drive on this machine; other storage"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("vda   virtual disk")), "{text}");
    host.blocks[0].kind = BlockKind::Zram;
    let none = list_text(&host, &style(80)).unwrap();
    assert!(none.starts_with("No NVMe drive on this machine\n"), "{none}");
    host.no_sysfs = true;
    let blind = list_text(&host, &style(80)).unwrap();
    assert!(blind.starts_with("/sys is not mounted: ") && !blind.contains("No NVMe"), "{blind}");
    host.hostname = Fact::Absent;
    assert!(host_text(&common::without_facts(host), &style(80)).contains("virtio_blk"));
}

#[test]
fn hot_and_dead_drives_are_marked() {
    let mut host = common::host();
    host.drives[0].state = Fact::Read("dead".into());
    host.drives[1].temperature =
        Fact::Read(Temperature { composite_c: 84.0, warning_c: Some(80.0), critical_c: None });
    let rows = table(&host, "name,state,temperature");
    assert_eq!(rows[1], ["nvme0", "dead", "38 °C"]);
    assert_eq!(rows[2], ["nvme1", "live", "84 °C"]);
    let narrow = drives_table(&host, None, &style(60)).unwrap();
    assert!(narrow.contains("dead"), "a dead drive is seen on a narrow terminal:\n{narrow}");
}

#[test]
fn what_a_rule_says_of_the_target_is_not_said_again() {
    let mut record = common::record();
    let mut assessment = common::assessment(&record);
    let conditions = &mut record.measurements[0].conditions;
    conditions.target_remarks = vec![Caveat::NoDirect];
    conditions.shortfalls = vec![Caveat::BlockTooLargeToRegister];
    let [remark, shortfall] = [Caveat::NoDirect, Caveat::BlockTooLargeToRegister]
        .map(|one| one.to_string().trim_end_matches('.').to_owned());
    let said = |assessment: &Assessment| measurements_text(&record, assessment, &style(400));
    let text = said(&assessment);
    assert!(text.contains(&format!("note: {remark}")), "{text}");
    let (rule, validity) = ("target-qualified".to_owned(), Validity::Qualified);
    let reason = Reason { rule, validity, why: format!("{remark}; and more") };
    assessment.measurements[0].reasons.push(reason);
    let text = said(&assessment);
    assert!(!text.contains(&remark) && text.contains("qualified: target-qualified"), "{text}");
    assert!(text.contains(&format!("note: {shortfall}")), "{text}");
}

#[test]
fn a_failed_measurement_and_one_never_assessed_say_so() {
    let mut record = common::record();
    let mut assessment = common::assessment(&record);
    record.measurements[0].end =
        iodyno_model::EndReason::Failed("nvme0n1 vanished after 3 s (ENODEV)".into());
    record.measurements[0].total.clear();
    assessment.measurements.remove(0);
    assessment.measurements.retain(|judged| judged.measurement != 1);
    let text = measurements_text(&record, &assessment, &style(100));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], "  FAILED    sequential read  nvme0n1 vanished after 3 s (ENODEV)");
    assert!(lines[2].starts_with("  UNJUDGED  random read      982.3k ± 1.8k IOPS"), "{text}");
}

#[test]
fn the_last_line_is_the_verdict_in_words() {
    let record = common::record();
    let mut assessment = common::assessment(&record);
    let mut line = |verdict, status| {
        assessment.verdict = verdict;
        verdict_text(&record, &assessment, status, &style(80))
    };
    assert_eq!(line(Verdict::Fail, 1), "FAIL  1 finding needs attention (exit status 1)\n");
    assert_eq!(line(Verdict::Warn, 0), "WARN  no failures, 1 warning (exit status 0)\n");
    assert_eq!(line(Verdict::Pass, 0), "PASS  no problems found (exit status 0)\n");
    assert_eq!(
        line(Verdict::Unjudged, 4),
        "UNJUDGED  no failures; some results could not be judged (exit status 4)\n"
    );
    for verdict in [Verdict::Unjudged, Verdict::Pass] {
        assert_eq!(line(verdict, 3), "UNJUDGED  a measurement failed (exit status 3)\n");
    }
}

#[test]
fn runs_are_distinguished_by_the_shortest_prefix_of_their_ids() {
    let first = common::record().run;
    let twin = Run {
        id: "01935f2a-7a80-7c99-8000-000000000000".into(),
        name: String::new(),
        state: RunState::Interrupted,
        ended_ns: None,
        ..first.clone()
    };
    let text = runs_table(&[first, twin], &style(120));
    assert!(text.starts_with("2 runs, 1 interrupted\n\nID "), "{text}");
    let lines: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(
        lines[1],
        "01935f2a-7a80-7c1  db17-after-firmware  2024-11-21 11:34  104 s  done         \
         nvme0n1, nvme1n1 +2  iodyno check"
    );
    assert!(lines[2].starts_with("01935f2a-7a80-7c9  -  "), "{text}");
    assert!(runs_table(&[], &style(80)).starts_with("No runs stored yet"));
}

#[test]
fn a_long_name_costs_no_column_and_no_room() {
    let mut record = common::record();
    let name = "n".repeat(250);
    let long = Run { id: "02".into(), name: name.clone(), ..record.run.clone() };
    let text = runs_table(&[record.run.clone(), long], &style(120));
    assert!(text.contains("NAME") && text.contains("nnn…  2024-11-21"), "{text}");

    let assessment = common::assessment(&record);
    record.measurements.truncate(1);
    record.measurements[0].name.clone_from(&name);
    let text = jobs_text(&record, &assessment, &style(100));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], name, "whole, to be copied");
    assert!(lines[1..].iter().all(|line| line.chars().count() <= 100), "{text}");
    assert!(lines.len() < 30, "{text}");
}

#[test]
fn interrupted_measurements_are_marked() {
    let mut record = common::record();
    record.measurements.truncate(1);
    assert!(!results_table(&record, usize::MAX, &style(160)).contains("interrupted"));
    record.measurements[0].end = EndReason::Interrupted;
    assert!(results_table(&record, usize::MAX, &style(160)).contains("interrupted"));
}

#[test]
fn every_yardstick_is_printed_once() {
    let record = common::record();
    let mut assessment = common::assessment(&record);
    assessment.measurements.truncate(1);
    let mut items = |of, ratio| {
        let judgement = &mut assessment.measurements[0].metrics[0];
        judgement.reason = Basis::share(of, ratio);
        judgement.peers = Some((6.7e9, 3));
        judgement.baseline = Some(Estimate::confident(6.0e9, 5.9e9, 6.1e9, 0.95));
        let text = measurements_text(&record, &assessment, &style(400));
        text.lines().nth(1).expect("a line for the measurement")[29..].to_string()
    };
    let (own, ceiling) = ("6853 ± 13 MB/s (6536 MiB/s)", "ceiling 7094 MB/s (link Gen4 x4)");
    assert_eq!(
        items(Yardstick::Claim, 0.99),
        format!(
            "{own} · 99 % of the claim (6900 MB/s) · median 6700 MB/s of 3 equal drives, 102 % · \
             baseline 6000 ± 100 MB/s, 114 % · {ceiling}"
        )
    );
    assert_eq!(
        items(Yardstick::Baseline, 1.14),
        format!(
            "{own} · 114 % of the baseline (6000 ± 100 MB/s) · \
             claim 6900 MB/s, 99 % · median 6700 MB/s of 3 equal drives, 102 % · {ceiling}"
        )
    );
}

#[test]
fn a_list_has_the_host_and_drives_without_verdicts() {
    let text = list_text(&common::host(), &style(120)).unwrap();
    assert!(text.contains(" NVMe drive"), "{text}");
    assert!(text.contains("\n\nNAME   MODEL ") && text.contains("\n\nHost     db17"), "{text}");
    assert!(!text.contains("VERDICT"), "{text}");
}

#[test]
fn rules_are_listed_with_the_worst_they_find() {
    let rules = [
        ("link-degraded", Severity::Fail, "Links run as fast and wide as both ends are able to."),
        ("lba-format", Severity::Info, "Namespaces have the fastest LBA format."),
    ];
    assert_eq!(
        rules_text(rules, &style(40)),
        "FAIL  link-degraded\n      Links run as fast and wide as both\n      \
         ends are able to.\nINFO  lba-format\n      Namespaces have the fastest LBA\n      format.\n"
    );
}

#[test]
fn targets_on_the_same_drive_are_not_summed() {
    let mut record = common::record();
    let assessment = common::assessment(&record);
    let text = |record: &_| measurements_text(record, &assessment, &style(80));
    assert!(text(&record).contains("of the sum of each alone"));
    for host in &mut record.snapshots {
        host.blocks.retain(|block| block.name != "nvme1n1");
        host.blocks.push(BlockDevice {
            name: "nvme1n1".into(),
            kind: BlockKind::Partition,
            stands_on: vec!["nvme0n1".into()],
            ..BlockDevice::default()
        });
    }
    assert!(!text(&record).contains("of the sum of each alone"));
}

#[test]
fn the_verdict_on_a_file_is_shown_at_its_drive() {
    let mut record = common::record();
    let mut assessment = common::assessment(&record);
    let columns = Some(vec!["name".into(), "verdict".into()]);
    let style = Style { columns, ..style(80) };
    let mut verdicts = |device: &str| -> Vec<String> {
        record.measurements.truncate(1);
        record.measurements[0].targets = vec!["/srv/data/file".into()];
        record.measurements[0].conditions.device = Some(device.into());
        assessment.subjects = vec![("/srv/data/file".into(), Verdict::Warn)];
        let host = common::host();
        let text = drives_table(&host, Some((&record, &assessment)), &style).unwrap();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines().skip(1).map(words).collect()
    };
    let on_lvm = verdicts("dm-0");
    assert_eq!(on_lvm[..4], ["nvme0 -", "nvme1 -", "nvme2 -", "nvme3 WARN"]);
    let on_mirror = verdicts("md0");
    assert_eq!(on_mirror[..4], ["nvme0 -", "nvme1 -", "nvme2 -", "nvme3 -"]);
    assert_eq!(on_mirror[4], "md0 WARN");
}

#[test]
fn results_are_a_line_each_without_unknown_columns() {
    let mut record = common::record();
    let table = results_table(&record, usize::MAX, &style(160));
    assert_eq!(table.lines().count(), 1 + record.measurements.len());
    assert!(table.lines().next().is_some_and(|heading| heading.contains("JOBS")), "{table}");
    for measurement in &mut record.measurements {
        measurement.workload.numjobs = None;
    }
    record.measurements[0].workload.iodepth = None;
    record.measurements[1].end = EndReason::Failed("EIO at \u{1b}[31m4096".into());
    record.measurements[1].total.clear();
    for width in [40, 80, 100, 160] {
        let table = results_table(&record, usize::MAX, &style(width));
        assert!(!table.contains("JOBS") && !table.contains('\u{1b}'), "{table}");
        assert!(table.lines().all(|line| columns(line) <= width), "{width}:\n{table}");
    }
    let table = results_table(&record, usize::MAX, &style(160));
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[1].contains(" - "), "one of several is unknown: {table}");
    assert!(lines[2].contains("FAILED") && lines[2].contains("EIO at"), "{table}");
}
