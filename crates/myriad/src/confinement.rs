//! Keeping the process's memory, which has passwords in it, from files: no core dumps, and no swap space where that
//! is asked for.

use anyhow::Context;
use config::Server;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Does what the settings say, before any password is used.
pub(crate) fn confine(server: &Server) -> anyhow::Result<()> {
    if !server.core_dump {
        let confined = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        confined.context("core dumps cannot be turned off (server.core_dump)")?;
    }
    if server.memlock {
        let all = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
        mlockall(all).context(
            "memory cannot be kept out of swap space (server.memlock); give the process \
             CAP_IPC_LOCK or an unlimited `ulimit -l`",
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rustix::process::dumpable_behavior;

    use super::*;

    #[test]
    fn no_core_is_dumped_unless_that_is_asked_for() {
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::Dumpable);
        let asked = Server {
            core_dump: true,
            ..Server::default()
        };
        confine(&asked).unwrap();
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::Dumpable);
        confine(&Server::default()).unwrap();
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    }
}
