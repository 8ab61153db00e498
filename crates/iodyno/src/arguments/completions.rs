//! `iodyno completions` and `iodyno man`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno completions bash > ~/.local/share/bash-completion/completions/iodyno
  iodyno completions zsh > ~/.zfunc/_iodyno        # with fpath+=~/.zfunc before compinit
  iodyno completions fish > ~/.config/fish/completions/iodyno.fish")]
pub(crate) struct Completions {
    /// Shell; docs/howto/installing.md says where the script goes
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// Number of the word to complete, from 0
    pub(crate) index: usize,
    /// The command line up to that word
    #[arg(last = true)]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct ManPages {
    /// Folder for one page per command [default: iodyno(1) on standard output]
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}
