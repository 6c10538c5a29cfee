//! `@@last_gtid` of a session.

use session::statement::Flavor;

use crate::record::client::Client;

impl Client {
    /// The expression for the session's `@@last_gtid`, where there is such a variable: of the same length, and of the variable's own type, collation
    /// and coercibility, which differ between versions.
    pub(crate) fn last_gtid(&self, flavor: Flavor) -> Option<String> {
        let last = self.origin.last_gtid;
        (flavor == Flavor::MariaDb).then(|| format!("CONCAT(LEFT(@@last_gtid,0),'{last}')"))
    }
}
