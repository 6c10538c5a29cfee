//! Text that runs other text: CALL, compound statements, prepared statements; and diagnostics.

use super::calls::Called;
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
    procedure(reader);
    expression::scan_all(reader, found);
    Kind::Call
}

/// Steps over the name of a procedure behind CALL.
pub(super) fn procedure(reader: &mut Reader<'_>) {
    let mut name = reader.next().identifier();
    let (mut schema, mut parts) = (None, 1);
    while reader.accept_mark(b'.') {
        (schema, name) = (name, reader.next().identifier());
        parts += 1;
    }
    let called = name.and_then(|name| Called::new(schema, name, false));
    reader.note_call(called.filter(|_| parts <= 2));
}

/// At a compound statement outside of a routine. Its semicolons separate nothing, so the whole
/// text belongs to it.
pub(super) fn compound(reader: &mut Reader<'_>, found: &mut Findings) -> Kind {
    if reader.dialect().flavor == Flavor::MySql {
        return Kind::Unknown;
    }
    found.hides(PinReason::Call);
    reader.note_call(None);
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
    reader.note_call(None);
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
