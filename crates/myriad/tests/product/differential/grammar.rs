//! What sessions may say, as a grammar: texts of rules, and lines made of them by chance from a seed.
//! Knows nothing of what a line means.

use std::collections::BTreeMap;

use crate::support::Numbers;

/// Rules within rules are followed this far; below it, the first alternative is taken.
const DEPTH: usize = 12;

/// In front of the names of rules that sessions are mixed from.
const CLASS: &str = "class ";

/// Rules by name: alternatives, each as often as its weight says.
pub(super) struct Grammar(BTreeMap<String, Vec<String>>);

impl Grammar {
    /// Reads rules. A line that begins with a letter and ends with a colon begins one; its alternatives
    /// are indented, with their weight in brackets unless it is 1. `<name>` stands for a rule.
    pub(super) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut rules = BTreeMap::new();
        for text in texts {
            let mut current = String::new();
            for line in text.lines().filter(|line| !line.starts_with('#')) {
                match (line.strip_prefix("  "), line.strip_suffix(':')) {
                    (Some(alternative), _) => {
                        let (weight, alternative) = weighted(alternative);
                        let known: &mut Vec<String> = rules.entry(current.clone()).or_default();
                        known.extend(vec![alternative.to_owned(); weight]);
                    }
                    (None, Some(name)) => {
                        let known = rules.contains_key(name);
                        assert!(!known, "{name} has been told before");
                        current = name.to_owned();
                    }
                    (None, None) => assert!(line.is_empty(), "{line:?} is no rule"),
                }
            }
        }
        Self(rules)
    }

    /// Without the classes whose names lack this.
    pub(super) fn only(mut self, class: &str) -> Self {
        let stays = |name: &str| {
            name.strip_prefix(CLASS)
                .is_none_or(|name| name.contains(class))
        };
        self.0.retain(|name, _| stays(name));
        assert!(!self.classes().is_empty(), "no class is named {class:?}");
        self
    }

    /// The rules that sessions are mixed from.
    pub(super) fn classes(&self) -> Vec<&str> {
        let names = self.0.keys().map(String::as_str);
        names.filter(|name| name.starts_with(CLASS)).collect()
    }

    /// A line that follows the rule.
    pub(super) fn line(&self, rule: &str, numbers: &mut Numbers) -> String {
        self.expanded(rule, DEPTH, numbers)
    }

    fn expanded(&self, rule: &str, depth: usize, numbers: &mut Numbers) -> String {
        let alternatives = self.0.get(rule);
        let alternatives = alternatives.unwrap_or_else(|| panic!("no rule for {rule}"));
        let chosen = match depth {
            0 => &alternatives[0],
            _ => &alternatives[numbers.below(alternatives.len())],
        };
        let (mut line, mut rest) = (String::new(), chosen.as_str());
        while let Some((before, name, behind)) = placeholder(rest) {
            line.push_str(before);
            line.push_str(&self.expanded(name, depth.saturating_sub(1), numbers));
            rest = behind;
        }
        line + rest
    }
}

/// The weight of an alternative, and the rest of it.
fn weighted(alternative: &str) -> (usize, &str) {
    let bracketed = alternative.strip_prefix('[');
    let parts = bracketed.and_then(|rest| rest.split_once("] "));
    match parts {
        Some((weight, rest)) => (weight.parse().unwrap(), rest),
        None => (1, alternative),
    }
}

/// The first `<name>` of a text: what is before it, its name, and what is behind it.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let open = from + text[from..].find('<')?;
        let inside = &text[open + 1..];
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let end = inside.find(|c| !is_name(c));
        match end {
            Some(end) if end > 0 && inside[end..].starts_with('>') => {
                return Some((&text[..open], &inside[..end], &inside[end + 1..]));
            }
            _ => from = open + 1,
        }
    }
}

#[test]
fn a_grammar_says_what_its_rules_allow_and_the_same_from_the_same_seed() {
    let grammar = Grammar::new([
        "# remark\nclass a:\n  [3] x <b> < 5\n  y\n\nb:\n  1\n  (<b>)\n",
        "class c:\n  <class>\n",
    ]);
    assert_eq!(grammar.classes(), ["class a", "class c"]);
    let only = Grammar::new(["class a:\n  <b>\n\nb:\n  1\n\nclass c:\n  2\n"]).only("a");
    assert_eq!(only.classes(), ["class a"]);
    assert_eq!(only.line("class a", &mut Numbers(1)), "1");
    let lines = |seed| -> Vec<_> {
        let mut numbers = Numbers(seed);
        (0..400)
            .map(|_| grammar.line("class a", &mut numbers))
            .collect()
    };
    let (some, others) = (lines(1), lines(2));
    assert_eq!(some, lines(1));
    assert_ne!(some, others);
    assert!(some.iter().all(|line| {
        let inner = line.strip_prefix("x ").and_then(|l| l.strip_suffix(" < 5"));
        line == "y" || inner.is_some_and(|i| i.trim_matches(['(', ')']) == "1")
    }));
    let ys = some.iter().filter(|line| *line == "y").count();
    assert!((50..150).contains(&ys), "{ys} of 400");
}
