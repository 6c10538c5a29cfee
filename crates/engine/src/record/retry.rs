//! Plain reads whose backend was lost before it answered: run once more, elsewhere (rule 6).
//!
//! A read is plain by its text only as long as the tables it names are no views: a view can call a
//! function that writes. The next backend is asked for that first.

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
