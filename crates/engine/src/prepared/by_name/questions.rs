//! Questions that are prepared by name (`PREPARE … FROM 'SHOW WARNINGS'`). What they ask for is the session's, and the
//! backend that runs an EXECUTE may have something else. MariaDB answers an EXECUTE of them as it answers their text, so
//! that is run in its place.

use membership::Key;
use session::statement::{
    Flavor, Kind, PinReason, Source, Statement, TextPrepared, Traits, text_prepared,
};
use wire::{Command, write_packet};

use crate::Engine;
use crate::commands::Packet;

/// Longer ones are none: those of a session are kept.
const LEN_MAX: usize = 256;

/// True if a text does nothing but ask for conditions and counts.
pub(super) fn is_question(statement: &Statement, text: &[u8], flavor: Flavor) -> bool {
    const ASKS: Traits = Traits::READS_DIAGNOSTICS.union(Traits::READS_ROW_COUNTS);
    const HARMLESS: Traits = ASKS
        .union(Traits::PURE_READ)
        .union(Traits::KEEPS_FOUND_ROWS);
    flavor == Flavor::MariaDb
        && text.len() <= LEN_MAX
        && matches!(statement.kind, Kind::Select | Kind::Show)
        && statement.traits.intersects(ASKS)
        && HARMLESS.contains(statement.traits)
        && statement.pins.is_empty()
        && !text.contains(&b'?')
}

impl Engine {
    /// The packet of a COM_QUERY that asks what an EXECUTE asks; `None` of any other command.
    pub(crate) fn question_by_name(&self, client: Key, packet: Packet<'_>) -> Option<Vec<u8>> {
        let client = self.clients.get(client)?;
        if packet.payload.first() != Some(&(Command::Query as u8)) || !may_ask(packet.text()) {
            return None;
        }
        let dialect = self.facts.as_ref()?.dialect(&client.session)?;
        let question = match text_prepared(packet.text(), &dialect)? {
            TextPrepared::Execute(name) => client.texts.as_ref()?.question(&name)?.into(),
            TextPrepared::Immediate { source, .. } => {
                let (text, inner) = self.inner(client, source, &dialect)?;
                is_question(&inner, &text, self.flavor()).then_some(text)?
            }
            TextPrepared::Prepare(..) | TextPrepared::Deallocate(_) => return None,
        };
        let payload = [&packet.payload[..1], packet.attributes(), &question].concat();
        let mut raw = Vec::with_capacity(payload.len() + wire::HEADER_LEN);
        write_packet(&mut raw, 0, &payload);
        Some(raw)
    }

    /// True if a command may prepare texts by name, and does not say which: those that ask may not have theirs then.
    pub(crate) fn may_rename_questions(
        &self,
        key: Key,
        (packet, statement): (Packet<'_>, &Statement),
    ) -> bool {
        let client = self.clients.get(key);
        let Some(texts) = client.and_then(|client| client.texts.as_ref()) else {
            return false;
        };
        runs_unseen(statement)
            && self.about(key, packet).is_none_or(|about| match about {
                TextPrepared::Prepare(..) | TextPrepared::Deallocate(_) => false,
                TextPrepared::Execute(name) => texts.may_prepare(&name),
                TextPrepared::Immediate { source, .. } => {
                    let inner = self.inner_of(key, source);
                    inner.is_none_or(|inner| runs_unseen(&inner))
                }
            })
    }

    fn about(&self, client: Key, packet: Packet<'_>) -> Option<TextPrepared> {
        let session = &self.clients.get(client)?.session;
        text_prepared(packet.text(), &self.facts.as_ref()?.dialect(session)?)
    }

    fn inner_of(&self, client: Key, source: Source) -> Option<Statement> {
        let client = self.clients.get(client)?;
        let dialect = self.facts.as_ref()?.dialect(&client.session)?;
        Some(self.inner(client, source, &dialect)?.1)
    }
}

/// True of a statement that may run what its text does not show: so it may prepare texts by name, and count rows.
pub(crate) fn runs_unseen(statement: &Statement) -> bool {
    let reasons = [PinReason::Call, PinReason::TextPrepared, PinReason::Unknown];
    reasons
        .iter()
        .any(|&reason| statement.pins.contains(reason))
}

/// True of what may be an EXECUTE without values, of which a question takes none.
fn may_ask(text: &[u8]) -> bool {
    const EXECUTE: &[u8] = b"execute";
    let text = text.trim_ascii_start();
    let verb = text.get(..EXECUTE.len());
    let lists_values = || {
        let mut words = text.windows(b"using".len());
        words.any(|word| word.eq_ignore_ascii_case(b"using"))
    };
    verb.is_some_and(|verb| verb.eq_ignore_ascii_case(EXECUTE)) && !lists_values()
}

#[cfg(test)]
mod tests {
    use session::statement::{Dialect, classify};

    use super::*;

    #[test]
    fn what_may_be_an_execute_without_values() {
        assert!(may_ask(b" Execute p"));
        assert!(may_ask(b"EXECUTE IMMEDIATE 'SHOW WARNINGS'"));
        for text in ["EXECUTE p USING @a", "SELECT 1", "exec", ""] {
            assert!(!may_ask(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_only_asks() {
        for (text, asks) in [
            ("SHOW WARNINGS", true),
            ("show errors limit 1", true),
            ("SHOW COUNT(*) WARNINGS", true),
            ("SELECT @@warning_count, ROW_COUNT(), FOUND_ROWS()", true),
            ("SELECT @@warning_count FROM t", false),
            ("SELECT ROW_COUNT() INTO @a", false),
            ("SELECT ROW_COUNT(), f()", false),
            ("SELECT ROW_COUNT() + ?", false),
            ("SELECT @@warning_count, @a", false),
            ("SELECT 1", false),
            ("SHOW TABLES", false),
            ("SET @a = ROW_COUNT()", false),
            ("SHOW WARNINGS; SHOW ERRORS", false),
            (
                &format!("SELECT ROW_COUNT(), '{}'", "x".repeat(LEN_MAX)),
                false,
            ),
        ] {
            for (flavor, version) in [(Flavor::MariaDb, 101_119), (Flavor::MySql, 90_700)] {
                let statement = classify(text.as_bytes(), &Dialect::new(flavor, version));
                let found = is_question(&statement, text.as_bytes(), flavor);
                assert_eq!(found, asks && flavor == Flavor::MariaDb, "{text}");
            }
        }
    }
}
