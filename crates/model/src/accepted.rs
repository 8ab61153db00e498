//! Acceptance of one node among many: which node, which of the processes that started together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run was a step of, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    /// Profile of `iodyno accept`.
    pub profile: String,
    /// Which of its steps, from 1.
    pub step: u32,
    /// Name of the node: the launcher's, else the host's.
    pub node: String,
    /// Distinguishes hosts of one name: a digest of the machine id; null: it has none.
    pub host_id: Option<String>,
    /// Place among the processes that a launcher started together; absent: none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
    /// Start that was agreed on, RFC 3339; absent: none was. The run's own start says how late it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_at: Option<String>,
    /// How far the clock may be off at that start, as the kernel knows from what disciplines it, ns; absent:
    /// nothing was agreed on, or nothing disciplines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<u64>,
    /// Whether the deadline ended it before it was done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
}

/// Place among the processes that a launcher started together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// Who says so.
    pub by: Launcher,
    /// From 0.
    pub rank: u32,
    /// How many there are; null: the launcher does not say.
    pub of: Option<u32>,
    /// The launcher's name for all of them together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
}

/// Who starts processes on many nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Launcher {
    /// Slurm's srun.
    Slurm,
    /// An indexed Job of Kubernetes.
    Kubernetes,
    /// Open MPI's mpirun.
    OpenMpi,
    /// Another MPI's, by the process management interface.
    Pmi,
}

/// Each launcher's variables: rank, number of processes, job.
const VARIABLES: [(Launcher, [&str; 3]); 4] = [
    (Launcher::Slurm, ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID"]),
    (Launcher::Kubernetes, ["JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", "JOB_NAME"]),
    (
        Launcher::OpenMpi,
        ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_MCA_ess_base_jobid"],
    ),
    (Launcher::Pmi, ["PMI_RANK", "PMI_SIZE", "PMI_ID"]),
];

impl Rank {
    /// What the environment says; of several launchers the outer one, which places one process on
    /// each node, is Slurm.
    pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        VARIABLES.into_iter().find_map(|(by, [rank, of, job])| {
            let number = |name| variable(name)?.trim().parse().ok();
            Some(Self { by, rank: number(rank)?, of: number(of), job: variable(job) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(of: &[(&str, &str)]) -> Option<Rank> {
        Rank::of_environment(|name| {
            of.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn each_launcher_is_known() {
        let slurm = [("SLURM_PROCID", "3"), ("SLURM_NTASKS", "40"), ("SLURM_JOB_ID", "71")];
        let expected = Rank { by: Launcher::Slurm, rank: 3, of: Some(40), job: Some("71".into()) };
        assert_eq!(rank(&slurm), Some(expected));
        let index = [("JOB_COMPLETION_INDEX", "0")];
        let expected = Rank { by: Launcher::Kubernetes, rank: 0, of: None, job: None };
        assert_eq!(rank(&index), Some(expected));
        let mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")];
        assert_eq!(rank(&mpi).unwrap().by, Launcher::OpenMpi);
        assert_eq!(rank(&[("PMI_RANK", "1"), ("PMI_SIZE", "x")]).unwrap().of, None);
        assert_eq!(rank(&[("SLURM_PROCID", "-1")]), None);
        assert_eq!(rank(&[]), None);
    }
}
