//! What is configured for an account or a schema. Owns the fields and what 0 means; who they apply
//! to is the matter of `rules`.

use events::Span;

/// Limits. 0 means none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Client connections.
    pub max_connections: u32,
    /// Statements that run at once.
    pub max_concurrent_queries: u32,
    /// Transactions that are open at once.
    pub max_concurrent_transactions: u32,
    /// Statements that wait at once.
    pub max_queued: u32,
    /// How long a statement may wait; zero = as long as anybody's.
    pub queue_timeout: Span,
    /// The share of the backends relative to other accounts', while several want more than there
    /// is; 0 counts as 1.
    pub weight: u32,
    /// How long a statement may take, its wait included.
    pub max_statement_time: Span,
    /// Client connections that may begin within a second.
    pub max_connects_per_second: u32,
    /// What becomes of waiters when there are more than can be served.
    pub overload: Overload,
    /// A wait longer than this is taken for overload.
    pub overload_target: Span,
}

/// What becomes of waiters when there are more than can be served in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Overload {
    /// First come, first served, until `queue_timeout`.
    #[default]
    Fifo,
    /// While the oldest has waited for longer than the target, the newest is served first.
    Lifo,
    /// Controlled delay: while somebody has waited for five times the target without a break,
    /// whoever has waited for longer than the target is rejected.
    Codel,
}

impl Quota {
    /// No limits.
    pub const NONE: Self = Self {
        max_connections: 0,
        max_concurrent_queries: 0,
        max_concurrent_transactions: 0,
        max_queued: 0,
        queue_timeout: Span::ZERO,
        weight: 1,
        max_statement_time: Span::ZERO,
        max_connects_per_second: 0,
        overload: Overload::Fifo,
        overload_target: Span::from_ms(100),
    };

    /// Whether a statement may ever wait, be refused or be ended because of this.
    pub(crate) fn limits_statements(&self) -> bool {
        self.counts_statements()
            || self.max_queued != 0
            || self.queue_timeout != Span::ZERO
            || self.max_statement_time != Span::ZERO
            || self.overload != Overload::Fifo
    }

    /// Whether statements must be counted.
    pub(crate) fn counts_statements(&self) -> bool {
        self.max_concurrent_queries != 0 || self.max_concurrent_transactions != 0
    }
}

impl Default for Quota {
    fn default() -> Self {
        Self::NONE
    }
}
