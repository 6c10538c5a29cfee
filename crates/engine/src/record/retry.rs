//! How often a command was sent, and whether it may be sent again after its backend was lost (rule 6).

/// Longer commands, and those that name more, are not run again.
pub(crate) const COMMAND_MAX: usize = 16 << 10;

/// How often a client's command was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Retry {
    /// Once at most.
    #[default]
    Fresh,
    /// It will be sent for the second time, if it names no view.
    Unchecked,
    /// Twice: that is all it gets.
    Resent,
    /// Twice, because what was before it in its lane took too long.
    Moved,
}
