//! The host's settings, as far as this process may change them.

use challenge::{Change, Host, Need};

/// Settings below /proc/sys.
pub(super) struct HostSettings {
    keep: bool,
}

impl HostSettings {
    /// With `keep`, nothing will be changed.
    pub(super) fn new(keep: bool) -> Self {
        Self { keep }
    }
}

impl Host for HostSettings {
    fn read(&self, key: &str) -> Option<String> {
        let path = format!("/proc/sys/{}", key.replace('.', "/"));
        std::fs::read_to_string(path).ok()
    }

    fn change(&mut self, _needs: &[Need]) -> Result<Vec<Change>, String> {
        Ok(Vec::new())
    }

    fn restore(&mut self) -> Result<(), String> {
        Ok(())
    }
}
