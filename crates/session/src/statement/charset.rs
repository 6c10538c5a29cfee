//! Character sets as far as the lexer cares: which bytes may follow which lead byte, and which
//! byte beyond ASCII is white space. Owns no conversion and no collation.

use super::token::is_among;

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
const NAMES: [(Trail, &str); 9] = [
    (Trail::Plain, "utf8mb4 utf8mb3 utf8"),
    (
        Trail::Space(0xA0),
        "latin1 armscii8 cp1250 dec8 geostd8 greek hebrew latin2 latin5 latin7 tis620",
    ),
    (
        Trail::Plain,
        "ascii binary cp1251 cp1256 cp1257 cp850 eucjpms euckr gb2312 hp8 koi8r koi8u macce \
        macroman ujis",
    ),
    (Trail::Space(0xFF), "cp852 cp866 keybcs2"),
    (Trail::Sjis, "sjis"),
    (Trail::Cp932, "cp932"),
    (Trail::Big5, "big5"),
    (Trail::Gbk, "gbk"),
    (Trail::Gb18030, "gb18030"),
];

impl Trail {
    /// Looks a character set up by its name, in any case. `None`: the set is unknown, or the
    /// server reads ASCII punctuation as letters in it (swe7); such a session must be pinned.
    #[must_use]
    pub fn of(charset_name: &[u8]) -> Option<Self> {
        NAMES
            .iter()
            .find(|(_, names)| is_among(charset_name, names))
            .map(|&(trail, _)| trail)
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
