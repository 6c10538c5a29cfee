//! Character sets as far as the lexer cares: which bytes may follow which lead byte, and which
//! byte beyond ASCII is white space. Owns no conversion and no collation.

/// How a `character_set_client` treats bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trail {
    /// ASCII bytes always stand for themselves and no other byte is white space: utf8 and others.
    Plain,
    /// As [`Trail::Plain`], but the server takes this byte for white space, too: latin1 and others.
    Space(u8),
    /// Two bytes; the second may be ASCII.
    Sjis,
    /// As sjis, with the extensions of Windows.
    Cp932,
    /// Two bytes; the second may be ASCII.
    Big5,
    /// Two bytes; the second may be ASCII.
    Gbk,
    /// One, two or four bytes; the second may be ASCII.
    Gb18030,
}

/// The common ones come first, because Myriad looks up that of the session for each statement.
const NAMES: &[(&str, Trail)] = &[
    ("utf8mb4", Trail::Plain),
    ("utf8mb3", Trail::Plain),
    ("utf8", Trail::Plain),
    ("latin1", Trail::Space(0xA0)),
    ("armscii8", Trail::Space(0xA0)),
    ("ascii", Trail::Plain),
    ("big5", Trail::Big5),
    ("binary", Trail::Plain),
    ("cp1250", Trail::Space(0xA0)),
    ("cp1251", Trail::Plain),
    ("cp1256", Trail::Plain),
    ("cp1257", Trail::Plain),
    ("cp850", Trail::Plain),
    ("cp852", Trail::Space(0xFF)),
    ("cp866", Trail::Space(0xFF)),
    ("cp932", Trail::Cp932),
    ("dec8", Trail::Space(0xA0)),
    ("eucjpms", Trail::Plain),
    ("euckr", Trail::Plain),
    ("gb18030", Trail::Gb18030),
    ("gb2312", Trail::Plain),
    ("gbk", Trail::Gbk),
    ("geostd8", Trail::Space(0xA0)),
    ("greek", Trail::Space(0xA0)),
    ("hebrew", Trail::Space(0xA0)),
    ("hp8", Trail::Plain),
    ("keybcs2", Trail::Space(0xFF)),
    ("koi8r", Trail::Plain),
    ("koi8u", Trail::Plain),
    ("latin2", Trail::Space(0xA0)),
    ("latin5", Trail::Space(0xA0)),
    ("latin7", Trail::Space(0xA0)),
    ("macce", Trail::Plain),
    ("macroman", Trail::Plain),
    ("sjis", Trail::Sjis),
    ("tis620", Trail::Space(0xA0)),
    ("ujis", Trail::Plain),
];

impl Trail {
    /// Looks a character set up by its name, in any case. `None`: the set is unknown, or the
    /// server reads ASCII punctuation as letters in it (swe7); such a session must be pinned.
    #[must_use]
    pub fn of(charset_name: &[u8]) -> Option<Self> {
        NAMES
            .iter()
            .find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(charset_name))
            .map(|&(_, trail)| trail)
    }

    /// The byte besides the ASCII ones that is white space; a space if there is none.
    pub(super) const fn space(self) -> u8 {
        match self {
            Self::Space(byte) => byte,
            _ => b' ',
        }
    }

    /// The length of the character that begins with the non-ASCII byte `rest[0]`; `None` if the
    /// bytes are no character of this set.
    pub(super) fn length(self, rest: &[u8]) -> Option<usize> {
        let &lead = rest.first()?;
        let second = || rest.get(1).copied().unwrap_or(0);
        match self {
            Self::Plain | Self::Space(_) => Some(1),
            Self::Sjis | Self::Cp932 => match lead {
                0xA1..=0xDF => Some(1),
                0x81..=0x9F | 0xE0..=0xFC => {
                    matches!(second(), 0x40..=0x7E | 0x80..=0xFC).then_some(2)
                }
                _ => None,
            },
            Self::Big5 => (matches!(lead, 0xA1..=0xF9)
                && matches!(second(), 0x40..=0x7E | 0xA1..=0xFE))
            .then_some(2),
            Self::Gbk => (matches!(lead, 0x81..=0xFE)
                && matches!(second(), 0x40..=0x7E | 0x80..=0xFE))
            .then_some(2),
            Self::Gb18030 => gb18030_length(rest),
        }
    }
}

fn gb18030_length(rest: &[u8]) -> Option<usize> {
    match rest {
        [0x81..=0xFE, 0x40..=0x7E | 0x80..=0xFE, ..] => Some(2),
        [0x81..=0xFE, 0x30..=0x39, 0x81..=0xFE, 0x30..=0x39, ..] => Some(4),
        _ => None,
    }
}
