//! What texts that a session prepares by name do to it.

use carry::conditions::Does;
use carry::effect::Act;
use carry::packet::Packet;
use carry::prepared::by_name::{ByName, Harmless, Text};
use carry::user_variables::changes_data;
use membership::Key;
use session::statement::{
    Dialect, Kind, PinReason, Source, Statement, TextPrepared, Traits, classify, text_prepared,
};
use wire::Command;

use crate::record::client::Client;
use crate::record::records::Records;

/// Longer texts are not kept, and so are not harmless.
const LEN_MAX: usize = 4 << 10;

impl Client {
    /// The text of that name, unless something unseen may have prepared another one.
    fn text_named(&self, name: &[u8]) -> Option<&Text> {
        const HIDE: [PinReason; 3] = [
            PinReason::Call,
            PinReason::Unknown,
            PinReason::MultipleStatements,
        ];
        let holdings = self.holdings.as_ref()?;
        let hidden = HIDE.iter().any(|&reason| self.pins.contains(reason));
        if hidden || holdings.has_texts_unseen() {
            return None;
        }
        let mut texts = holdings.texts.list.iter();
        texts.find(|text| *text.name == *name)
    }
}

impl Records {
    /// The verdict on a statement about texts, where `found` is the verdict on its words.
    pub(crate) fn judge_by_name(
        &self,
        client: &Client,
        text: &[u8],
        dialect: &Dialect,
        mut found: Statement,
    ) -> Statement {
        match text_prepared(text, dialect) {
            Some(TextPrepared::Execute(name)) => {
                // USING may assign variables.
                let assigns = text.windows(2).any(|part| part == b":=");
                if !assigns
                    && let Some(text) = client.text_named(&name)
                    && let Some(harmless) = &text.harmless
                {
                    return run(&harmless.statement, found);
                }
            }
            // Which of the texts goes is not known.
            None if found.pins.is_empty() => found.pins.insert(PinReason::TextPrepared),
            _ => {}
        }
        if found.pins.contains(PinReason::Call) {
            found.traits |= Traits::COUNTS_UNSENT_ROWS;
        }
        found
    }

    /// What a COM_QUERY does to the texts of its session; `None` if it does nothing, or more than can be said.
    pub(crate) fn act_by_name(&self, key: Key, packet: Packet<'_>) -> Option<Act> {
        let client = self.clients.get(key)?;
        let dialect = self.known.facts.as_ref()?.dialect(&client.session)?;
        let act = match text_prepared(packet.text(), &dialect)? {
            TextPrepared::Prepare(name, source) => {
                ByName::Prepares(self.read_text(client, name, source, &dialect))
            }
            TextPrepared::Deallocate(name) => ByName::Deallocates(name),
            TextPrepared::Execute(_) => return None,
        };
        Some(Act::ByName(act))
    }

    /// What a COM_QUERY about texts does to the list of conditions; `None` if its words alone tell.
    pub(crate) fn does_by_name(&self, key: Key, packet: Packet<'_>) -> Option<Does> {
        if packet.payload.first() != Some(&(Command::Query as u8)) {
            return None;
        }
        let client = self.clients.get(key)?;
        let dialect = self.known.facts.as_ref()?.dialect(&client.session)?;
        match text_prepared(packet.text(), &dialect)? {
            TextPrepared::Execute(name) => client.text_named(&name)?.does,
            TextPrepared::Prepare(_, Source::Text(text)) => {
                let prepared = classify(&text, &dialect);
                Some(Does::of_preparing(&prepared, &text, self.known.flavor()))
            }
            TextPrepared::Prepare(..) | TextPrepared::Deallocate(_) => None,
        }
    }

    /// The text that PREPARE names, if it is known.
    fn text_of(&self, client: &Client, source: Source) -> Option<Vec<u8>> {
        match source {
            Source::Text(text) => Some(text),
            Source::Variable(variable) => {
                let backend = client.backend.and_then(|key| self.pool.get(key));
                if !client.knows_user_variable(backend, &variable) {
                    return None;
                }
                client.session.user.as_ref()?.get(&variable)?.ascii()
            }
        }
    }

    /// What is known of a text that is prepared.
    fn read_text(
        &self,
        client: &Client,
        name: Box<[u8]>,
        source: Source,
        dialect: &Dialect,
    ) -> Text {
        let Some(text) = self.text_of(client, source) else {
            return Text {
                name,
                does: None,
                harmless: None,
            };
        };
        let statement = classify(&text, dialect);
        let hides = matches!(statement.kind, Kind::Call | Kind::Multiple | Kind::Unknown);
        let does = (!hides).then(|| Does::of_statement(&statement, &text, self.known.flavor()));
        let keeps = text.len() <= LEN_MAX && self.is_harmless(&statement);
        let harmless = keeps.then(|| Harmless {
            text: text.into(),
            schema: client.session.schema.clone(),
            statement,
        });
        Text {
            name,
            does,
            harmless,
        }
    }

    /// True if the answer to a statement, or its class, tells all that it leaves in its session.
    fn is_harmless(&self, statement: &Statement) -> bool {
        const LEAVES_MORE: Traits = Traits::READS_DIAGNOSTICS
            .union(Traits::READS_ROW_COUNTS)
            .union(Traits::READS_CONNECTION_ID)
            .union(Traits::READS_ADDRESS)
            .union(Traits::ASSIGNS_USER_VARIABLES)
            .union(Traits::DRAWS_SEQUENCE)
            .union(Traits::TELLS_SEQUENCE)
            .union(Traits::MULTIPLE);
        let kind = matches!(
            statement.kind,
            Kind::Select
                | Kind::Insert
                | Kind::Replace
                | Kind::Update
                | Kind::Delete
                | Kind::Do
                | Kind::Show
                | Kind::Ddl
                | Kind::Commit
                | Kind::Rollback
        );
        // With a binary log, what changes data sets the variables that it reads.
        let logs = self
            .known
            .facts
            .as_ref()
            .is_some_and(|facts| facts.binary_log);
        let sets = logs
            && changes_data(statement.kind)
            && statement.traits.contains(Traits::USES_USER_VARIABLES);
        kind && !sets && !statement.traits.intersects(LEAVES_MORE)
    }
}

/// The verdict on EXECUTE of a harmless text, where `found` is the verdict on its words.
fn run(inner: &Statement, found: Statement) -> Statement {
    let own = inner.traits - (Traits::PURE_READ | Traits::BARE_BEGIN);
    let values = found.traits & (Traits::USES_USER_VARIABLES | Traits::UNKNOWN_CALL);
    // Its words hide what it runs, and here that is known.
    let mut of_words = found.pins;
    of_words.remove(PinReason::TextPrepared);
    of_words.remove(PinReason::Call);
    Statement {
        kind: inner.kind,
        traits: own | values | Traits::RUNS_PREPARED_TEXT,
        pins: inner.pins | of_words,
        digest: found.digest,
    }
}

#[cfg(test)]
mod tests {
    use session::statement::Flavor;

    use super::*;
    use carry::prepared::by_name::TEXTS_MAX;
    use carry::prepared::by_name::Texts;
    use wire::code;

    fn prepares(name: &str) -> ByName {
        ByName::Prepares(Text {
            name: name.as_bytes().into(),
            does: None,
            harmless: None,
        })
    }

    fn deallocates(name: &str) -> ByName {
        ByName::Deallocates(name.as_bytes().into())
    }

    #[test]
    fn names_are_listed_as_long_as_the_server_may_have_them() {
        let mut texts = Texts::default();
        for (effect, error, listed) in [
            (prepares("a"), None, "a"),
            (prepares("b"), None, "ab"),
            (prepares("a"), None, "ba"),
            // It was killed before or after that took the text away.
            (prepares("a"), Some(code::QUERY_INTERRUPTED), "ba"),
            (prepares("a"), Some(code::PARSE_ERROR), "b"),
            (prepares("c"), Some(code::PARSE_ERROR), "b"),
            (deallocates("b"), Some(code::QUERY_INTERRUPTED), "b"),
            (deallocates("a"), Some(code::UNKNOWN_STMT_HANDLER), "b"),
            (deallocates("b"), Some(code::UNKNOWN_STMT_HANDLER), ""),
            (prepares("c"), None, "c"),
            (deallocates("c"), None, ""),
        ] {
            assert!(texts.take(&effect, error), "{effect:?}");
            let names: Vec<_> = texts.list.iter().map(|text| &text.name[..]).collect();
            assert_eq!(names.concat(), listed.as_bytes(), "{effect:?}, {error:?}");
        }
        assert!(texts.is_empty());
    }

    #[test]
    fn more_texts_than_are_listed_are_told() {
        let mut texts = Texts::default();
        for number in 0..TEXTS_MAX {
            assert!(texts.take(&prepares(&number.to_string()), None));
        }
        assert!(texts.take(&prepares("0"), None), "it replaces another");
        assert!(!texts.take(&prepares("more"), None));
    }

    #[test]
    fn an_execute_of_a_harmless_text_does_what_the_text_does() {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        let read = |text: &str| classify(text.as_bytes(), &dialect);
        for (text, pins) in [
            ("SELECT a FROM t", &[][..]),
            ("ALTER TABLE t ADD COLUMN b INT", &[]),
            (
                "CREATE TEMPORARY TABLE t (a INT)",
                &[PinReason::TemporaryTable],
            ),
        ] {
            let inner = read(text);
            let runs = run(&inner, read("EXECUTE p USING @a"));
            assert_eq!(runs.kind, inner.kind, "{text}");
            assert_eq!(runs.pins, pins.iter().copied().collect(), "{text}");
            assert!(runs.traits.contains(Traits::USES_USER_VARIABLES), "{text}");
            assert!(!runs.traits.contains(Traits::PURE_READ), "{text}");
        }
    }
}
