//! What sessions have said the session tracker is to tell, and what it tells of those that have said nothing.

use wire::TextResultSet;

use crate::track_filter::TrackFilter;

/// The list of variables that are told.
pub const LIST: &[u8] = b"session_track_system_variables";

/// The variables that are told unless somebody names others. Source: `session_track_system_variables` in the
/// MySQL manual.
pub const DEFAULT: [&[u8]; 5] = [
    b"autocommit",
    b"character_set_client",
    b"character_set_connection",
    b"character_set_results",
    b"time_zone",
];

/// What a session has said is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// `session_track_system_variables`; `None` for NULL.
    pub variables: Option<Box<[u8]>>,
    /// `session_track_schema`.
    pub schema: bool,
    /// `session_track_state_change`.
    pub state: bool,
}

impl Asked {
    /// What the server has answered that was asked for the three, from this column on.
    pub fn told(rows: &TextResultSet, column: usize) -> Self {
        let is_on = |column| rows.first(column) == Some(b"1");
        Self {
            variables: rows.first(column).map(Into::into),
            schema: is_on(column + 1),
            state: is_on(column + 2),
        }
    }

    /// True of what servers do unless somebody has said something else.
    fn is_default(&self) -> bool {
        let names = self.variables.as_deref().unwrap_or_default();
        let mut names: Vec<_> = names.split(|&byte| byte == b',').collect();
        names.sort_unstable();
        self.schema && !self.state && names == DEFAULT
    }

    /// What has a backend track this.
    pub fn setting(&self) -> String {
        let list = match &self.variables {
            Some(list) => format!("'{}'", String::from_utf8_lossy(list)),
            // MySQL goes on with the list of before.
            None => "'',session_track_system_variables=NULL".into(),
        };
        let (schema, state) = (u8::from(self.schema), u8::from(self.state));
        format!(
            "SET session_track_schema={schema},session_track_state_change={state},\
             session_track_system_variables={list}"
        )
    }

    /// True if the list has the variable.
    pub fn names(&self, name: &[u8]) -> bool {
        let list = self.variables.as_deref().unwrap_or_default();
        let mut names = list.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        names.any(|listed| listed == b"*" || listed.eq_ignore_ascii_case(name))
    }
}

/// What sessions have said, each but once, and what they begin with.
#[derive(Debug, Default)]
pub struct TrackLists {
    asked: Vec<Asked>,
    /// What the server's global variables say, once that is known.
    global: Option<Asked>,
    first: TrackFilter,
}

impl TrackLists {
    /// How a session is told of its changes that has asked for this. `None` if the list is not one of names, or there are
    /// too many others: drivers have one each.
    pub fn filter(&mut self, asked: Asked) -> Option<TrackFilter> {
        let is_of_names = |&byte: &u8| byte.is_ascii_alphanumeric() || b"_,.* ".contains(&byte);
        let list = asked.variables.as_deref().unwrap_or_default();
        if !list.iter().all(is_of_names) {
            return None;
        }
        let known = self.asked.iter().position(|known| *known == asked);
        let filter = TrackFilter::carried(known.unwrap_or(self.asked.len()))?;
        if known.is_none() {
            self.asked.push(asked);
        }
        Some(filter)
    }

    /// The list at a place.
    pub fn at(&self, place: usize) -> Option<&Asked> {
        self.asked.get(place)
    }

    /// How a session is told of its changes that has said nothing.
    pub fn first(&self) -> TrackFilter {
        self.first
    }

    /// Sessions that begin from now on are told of this. True if nobody knew what they begin with.
    pub fn begin_with(&mut self, global: Asked) -> bool {
        if self.global.as_ref() == Some(&global) {
            return false;
        }
        self.first = match global.is_default() {
            true => TrackFilter::default(),
            false => self.filter(global.clone()).unwrap_or_default(),
        };
        self.global.replace(global).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_begin_with_what_is_global() {
        let mut lists = TrackLists::default();
        let asked = |list: &str, schema, state| Asked {
            variables: Some(list.as_bytes().into()),
            schema,
            state,
        };
        let usual = "time_zone,autocommit,character_set_client,character_set_results,character_set_connection";
        assert!(lists.begin_with(asked(usual, true, false)));
        assert_eq!(lists.first(), TrackFilter::default());
        assert!(!lists.begin_with(asked("*", true, false)));
        let all = lists.first();
        assert_ne!(all, TrackFilter::default());
        assert!(!lists.begin_with(asked(usual, false, false)));
        assert_eq!(
            Some(lists.first()),
            lists.filter(asked(usual, false, false))
        );
        lists.begin_with(asked("*", true, false));
        assert_eq!(lists.first(), all);
    }
}
