//! `[proxy_protocol]`: which load balancers are believed when they say for whom they connect.
//!
//! How networks are written is the matter of `network`; what is in a header, and what becomes of it, is others' matter.

use crate::network::{self, Network};
use crate::section::Section;

/// The load balancers that are believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyProtocol {
    /// From where they connect; at most 64.
    pub networks: Vec<Network>,
}

impl ProxyProtocol {
    pub(crate) fn read(section: &mut Section<'_, '_>) -> Self {
        Self {
            networks: network::list(section, "networks"),
        }
    }
}
