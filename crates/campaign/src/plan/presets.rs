//! Built-in plans.

use super::study::Study;

impl Study {
    /// Names of the presets with their descriptions.
    pub fn presets() -> impl Iterator<Item = (&'static str, String)> {
        PRESETS.iter().filter_map(|(name, _)| Some((*name, Self::preset(name)?.about)))
    }

    /// Returns the preset of this name.
    ///
    /// # Panics
    /// If a built-in preset is invalid, which a test excludes.
    pub fn preset(name: &str) -> Option<Self> {
        let (_, text) = PRESETS.iter().find(|(known, _)| *known == name)?;
        Some(Self::parse(text, name).expect("presets are parsed in a test"))
    }
}

const PRESETS: &[(&str, &str)] = &[
    ("check", include_str!("../../plans/check.toml")),
    ("quick", include_str!("../../plans/quick.toml")),
    ("blocksize", include_str!("../../plans/blocksize.toml")),
    ("depth-grid", include_str!("../../plans/depth-grid.toml")),
    ("limits", include_str!("../../plans/limits.toml")),
    ("database", include_str!("../../plans/database.toml")),
    ("file-layout", include_str!("../../plans/file-layout.toml")),
    ("headroom", include_str!("../../plans/headroom.toml")),
    ("headroom-sync", include_str!("../../plans/headroom-sync.toml")),
    ("scaling", include_str!("../../plans/scaling.toml")),
    ("acceptance", include_str!("../../plans/acceptance.toml")),
    ("soak", include_str!("../../plans/soak.toml")),
    ("trim-effect", include_str!("../../plans/trim-effect.toml")),
    ("snia-iops", include_str!("../../plans/snia-iops.toml")),
    ("snia-throughput", include_str!("../../plans/snia-throughput.toml")),
    ("snia-latency", include_str!("../../plans/snia-latency.toml")),
    ("snia-wsat", include_str!("../../plans/snia-wsat.toml")),
    ("snia-hir", include_str!("../../plans/snia-hir.toml")),
    ("snia-xsr", include_str!("../../plans/snia-xsr.toml")),
    ("snia-cbw", include_str!("../../plans/snia-cbw.toml")),
    ("snia-dirth", include_str!("../../plans/snia-dirth.toml")),
];
