//! Any text is imported as far as it can be read; no figure is negative or no number.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let imported = iodyno_fio::read::text("fuzz", text);
    for result in imported.measurements.iter().flat_map(|one| &one.total) {
        for figure in [result.iops, result.bandwidth, result.latency_mean].into_iter().flatten() {
            assert!(figure.value.is_finite() && figure.value >= 0.0, "{figure:?}");
            assert!(figure.low() <= figure.value && figure.value <= figure.high(), "{figure:?}");
        }
    }
});
