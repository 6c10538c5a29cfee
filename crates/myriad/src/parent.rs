//! Ties the life of this process to that of the one that started it.

use anyhow::Context;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// Has the kernel kill this process when the thread that started it ends, however that comes.
///
/// # Errors
/// The process that started this one is not `parent`: it is gone already.
pub(crate) fn end_with(parent: u32) -> anyhow::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .context("cannot end with another process")?;
    // It may have ended before the kernel knew; then nobody would tell.
    let alive = getppid().map(Pid::as_raw_pid) == Some(parent.cast_signed());
    anyhow::ensure!(alive, "process {parent} did not start this one, or is gone");
    Ok(())
}
