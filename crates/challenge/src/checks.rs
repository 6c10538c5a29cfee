//! What a chapter is to show, as figures with bounds.
//!
//! Not here: which they are; each chapter says so.

use serde::{Deserialize, Serialize};

use crate::figures::rounded;

/// A figure that is to keep a bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// What it is of.
    pub name: String,
    /// What was found.
    pub value: f64,
    /// What it is held against.
    #[serde(flatten)]
    pub bound: Bound,
    /// Whether it keeps the bound.
    pub is_met: bool,
}

/// A bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The figure is to be so large.
    AtLeast(f64),
    /// It is not to be larger.
    AtMost(f64),
}

impl Check {
    pub(crate) fn new(name: impl Into<String>, value: f64, bound: Bound) -> Self {
        let value = rounded(value);
        Self {
            name: name.into(),
            value,
            bound,
            is_met: match bound {
                Bound::AtLeast(least) => value >= least,
                Bound::AtMost(most) => value <= most,
            },
        }
    }
}

impl Bound {
    /// The number in it, and the words before it.
    pub(crate) fn parts(self) -> (&'static str, f64) {
        match self {
            Self::AtLeast(least) => ("at least", least),
            Self::AtMost(most) => ("at most", most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_what_keeps_it() {
        let met = |value, bound| Check::new("it", value, bound).is_met;
        assert!(met(0.97, Bound::AtLeast(0.97)) && !met(0.969, Bound::AtLeast(0.97)));
        assert!(met(0.0, Bound::AtMost(0.0)) && !met(1.0, Bound::AtMost(0.0)));
    }

    #[test]
    fn a_check_is_kept_with_its_bound_beside_it() {
        let check = Check::new("it", 0.5, Bound::AtLeast(0.25));
        let json = serde_json::to_string(&check).unwrap();
        assert_eq!(
            json,
            r#"{"name":"it","value":0.5,"at_least":0.25,"is_met":true}"#
        );
        assert_eq!(serde_json::from_str::<Check>(&json).unwrap(), check);
    }
}
