//! Limits that statements set (rule 21): the statement before it is sent, and its OK until the limits are kept. The keeper is
//! the one that is named to [`Shared::keep_limits_with`](crate::Shared::keep_limits_with).

use admission::AccountName;
use membership::Key;
use session::statement::Limits;

/// What becomes of limits, by a statement that the server has accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitsChange {
    /// These accounts have these limits; what is not named stays as it is.
    Set(Vec<AccountName>, Limits),
    /// These accounts are gone.
    Drop(Vec<AccountName>),
    /// These accounts have other names.
    Rename(Vec<(AccountName, AccountName)>),
}

/// A change that is to be kept and put in force; the client that asked is to be told by [`Mail::LimitsKept`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitsOrder {
    /// What changes.
    pub change: LimitsChange,
    /// The worker and the client that asked; `None` if it hung up.
    pub asker: Option<(usize, Key)>,
}

/// A statement that changes limits, before it was sent.
pub(crate) struct Intent {
    pub change: LimitsChange,
    /// What the server gets in its place; `None`: the text as it is.
    pub server_text: Option<Vec<u8>>,
    pub right: Right,
}

/// Whether the account may set limits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    /// The server is to be asked.
    Unknown,
    /// It was asked.
    Asked,
    /// It may, or the server checks the whole of the statement by itself.
    Granted,
}

/// What a statement changes that was sent, and its OK once that has come.
pub(crate) struct Keeping {
    /// Of limits, if any.
    pub change: Option<LimitsChange>,
    /// The accounts are to be read again.
    pub reads_accounts: bool,
    /// The OK, as the client will be told.
    pub answer: Vec<u8>,
}

/// An OK that is to be told once what the statement changed is in force.
pub(crate) struct Kept {
    pub answer: Vec<u8>,
    /// The accounts are to be read again before.
    pub reads_accounts: bool,
}

impl Keeping {
    /// Of a statement after which nothing but the accounts has changed.
    pub(crate) fn of_accounts() -> Self {
        Self {
            change: None,
            reads_accounts: true,
            answer: Vec::new(),
        }
    }
}
