//! Text that runs other text: CALL, compound statements, prepared statements; and diagnostics.

use super::dialect::Flavor;
use super::expression;
use super::findings::Findings;
use super::keyword::Keyword;
use super::kind::{Kind, Traits};
use super::pins::PinReason;
use super::reader::Reader;

/// Behind CALL: steps over the routine's name, then judges the arguments.
pub(super) fn call(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    found.hides(PinReason::Call);
    reader.next();
    while reader.accept_mark(b'.') {
        reader.next();
    }
    expression::scan_all(reader, found);
    Kind::Call
}

/// At a compound statement outside of a routine. Its semicolons separate nothing, so the whole
/// text belongs to it.
pub(super) fn compound(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    if reader.dialect().flavor == Flavor::MySql {
        return Kind::Unknown;
    }
    found.hides(PinReason::Call);
    found.add(Traits::CHANGES_SCHEMA);
    reader.skip_text();
    Kind::Call
}

/// Behind PREPARE.
pub(super) fn prepare(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    found.pin(PinReason::TextPrepared);
    expression::scan_all(reader, found);
    Kind::Prepared
}

/// Behind EXECUTE: whatever the prepared text does is hidden.
pub(super) fn execute(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    if !reader.accept(Keyword::Immediate) {
        found.pin(PinReason::TextPrepared);
    }
    found.hides(PinReason::Call);
    found.add(Traits::CHANGES_SCHEMA);
    expression::scan_all(reader, found);
    Kind::Prepared
}

/// Behind GET, SIGNAL or RESIGNAL.
pub(super) fn diagnostics(keyword: Keyword, reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    if keyword != Keyword::Signal {
        found.add(Traits::READS_DIAGNOSTICS);
    }
    expression::scan_all(reader, found);
    Kind::Diagnostics
}
