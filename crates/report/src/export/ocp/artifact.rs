//! Artifacts, with the names of the specification.

use iodyno_model::rfc3339;
use serde::Serialize;
use serde_json::Value;

/// Output line.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    sequence_number: u64,
    timestamp: String,
    #[serde(flatten)]
    artifact: Artifact,
}

impl Output {
    pub(super) fn new(sequence_number: u64, at_ns: i64, artifact: Artifact) -> Self {
        Self { sequence_number, timestamp: rfc3339(at_ns), artifact }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Artifact {
    SchemaVersion {
        major: u8,
        minor: u8,
    },
    #[serde(rename = "testRunArtifact")]
    Run(RunArtifact),
    #[serde(rename = "testStepArtifact", rename_all = "camelCase")]
    Step {
        test_step_id: String,
        #[serde(flatten)]
        artifact: StepArtifact,
    },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum RunArtifact {
    TestRunStart(Box<RunStart>),
    TestRunEnd(RunEnd),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum StepArtifact {
    TestStepStart(StepStart),
    TestStepEnd(StepEnd),
    Measurement(Measurement),
    Diagnosis(Diagnosis),
    Error(RunError),
    Log(Log),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunStart {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) command_line: String,
    pub(super) parameters: Value,
    pub(super) dut_info: DutInfo,
}

/// Device under test: the machine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DutInfo {
    pub(super) dut_info_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) platform_infos: Vec<PlatformInfo>,
    pub(super) software_infos: Vec<SoftwareInfo>,
    pub(super) hardware_infos: Vec<HardwareInfo>,
}

#[derive(Debug, Serialize)]
pub(super) struct PlatformInfo {
    pub(super) info: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SoftwareInfo {
    name: &'static str,
    software_info_id: &'static str,
    version: String,
    software_type: &'static str,
}

impl SoftwareInfo {
    /// `kind`: `SYSTEM`, `FIRMWARE`, `APPLICATION`.
    pub(super) fn new(name: &'static str, version: String, kind: &'static str) -> Self {
        Self { name, software_info_id: name, version, software_type: kind }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HardwareInfo {
    pub(super) name: String,
    pub(super) hardware_info_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) location: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) serial_number: Option<String>,
    pub(super) part_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) manufacturer_part_number: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct RunEnd {
    pub(super) status: Status,
    pub(super) result: RunResult,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Status {
    Complete,
    Error,
    Skip,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum RunResult {
    NotApplicable,
    Pass,
    Fail,
}

#[derive(Debug, Serialize)]
pub(super) struct StepStart {
    pub(super) name: String,
}

#[derive(Debug, Serialize)]
pub(super) struct StepEnd {
    pub(super) status: Status,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Measurement {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hardware_info_id: Option<String>,
    pub(super) metadata: Value,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Diagnosis {
    pub(super) verdict: String,
    #[serde(rename = "type")]
    pub(super) kind: DiagnosisType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hardware_info_id: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum DiagnosisType {
    Pass,
    Fail,
    Unknown,
}

#[derive(Debug, Serialize)]
pub(super) struct RunError {
    pub(super) symptom: &'static str,
    pub(super) message: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Log {
    pub(super) severity: &'static str,
    pub(super) message: String,
}
