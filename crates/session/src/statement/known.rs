//! What the front door knows better than the backend at hand. Owns the names; `substitute` knows where in a text they are
//! replaced.

use super::reader::Reader;
use super::token::Token;
use super::variables::{self, Scope};

macro_rules! known {
    ($($variant:ident $written:literal)*) => {
        /// What can be replaced.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Known { $(#[doc = $written] $variant,)* }

        impl Known {
            const ALL: &[Self] = &[$(Self::$variant,)*];

            /// How it is written.
            pub const fn expression(self) -> &'static str {
                match self { $(Self::$variant => $written,)* }
            }
        }
    };
}

known! {
    RowCount "ROW_COUNT()"
    FoundRows "FOUND_ROWS()"
    ConnectionId "CONNECTION_ID()"
    WarningCount "@@warning_count"
    ErrorCount "@@error_count"
    LastGtid "@@last_gtid"
    PseudoThreadId "@@pseudo_thread_id"
    Socket "@@socket"
    Port "@@port"
    Hostname "@@hostname"
    BindAddress "@@bind_address"
}

impl Known {
    /// Takes the one that comes next. A variable of the other scope is left to the server, which refuses it.
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (known, is_whole) = match reader.next() {
            Token::Word(word) => {
                let known = Self::find(word.text, |written| written.strip_suffix("()"))?;
                (known, reader.accept_call())
            }
            Token::SystemVariable => {
                let (scope, name) = variables::name(reader)?;
                let known = Self::find(name, |written| written.strip_prefix("@@"))?;
                let of_session = known.is_of_last_statement() || known == Self::PseudoThreadId;
                let other = if of_session {
                    Scope::Global
                } else {
                    Scope::Session
                };
                (known, scope != other)
            }
            _ => return None,
        };
        is_whole.then_some(known)
    }

    fn find(name: &[u8], part: impl Fn(&'static str) -> Option<&'static str>) -> Option<Self> {
        let is_named = |known: &Self| {
            part(known.expression()).is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(name))
        };
        Self::ALL.iter().copied().find(is_named)
    }

    /// It is about the statement before, so that only the first statement of a text may be told.
    pub(super) const fn is_of_last_statement(self) -> bool {
        matches!(
            self,
            Self::RowCount
                | Self::FoundRows
                | Self::WarningCount
                | Self::ErrorCount
                | Self::LastGtid
        )
    }
}
