//! Acceptance of one node among many: its name, and its rank among processes started together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Step of an acceptance profile that a run belongs to, and the node it ran on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    /// Profile of `iodyno accept`.
    pub profile: String,
    /// Number of the step in the profile, from 1.
    pub step: u32,
    /// Name of the node: from the launcher, else the host name.
    pub node: String,
    /// Digest of the machine id, which tells hosts of the same name apart; null: no machine id.
    pub host_id: Option<String>,
    /// Rank among the processes started by a launcher; absent: no launcher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
    /// Agreed start time, RFC 3339; absent: none. Compare with the run's own start for its delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_at: Option<String>,
    /// Estimated clock error at that start, ns, as the kernel reports it for the clock's
    /// synchronization; absent: no agreed start, or clock not synchronized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<u64>,
    /// True if the deadline ended the step before it was done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
}

/// Rank among the processes that a launcher started together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// Launcher that set the rank.
    pub by: Launcher,
    /// Rank, from 0.
    pub rank: u32,
    /// Number of processes; null: not set by the launcher.
    pub of: Option<u32>,
    /// Job id or name given by the launcher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
}

/// Program that starts processes on many nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Launcher {
    /// Slurm (srun).
    Slurm,
    /// Kubernetes indexed Job.
    Kubernetes,
    /// Open MPI (mpirun).
    OpenMpi,
    /// Another MPI, through the process management interface (PMI).
    Pmi,
}

/// Environment variables of each launcher: rank, number of processes, job.
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
    /// Reads the rank from environment variables. Slurm goes first: where launchers are nested it
    /// is the outer one, which starts one process per node.
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
    fn ranks_of_all_launchers_are_parsed() {
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
