//! Judges measures against the limits and against the list of exceptions, which may only shrink.

use crate::files::TextFile;
use crate::finding::Finding;
use crate::sizes::{Kind, Measure};

const LIST: &str = "xtask/tidy-allow.txt";

#[derive(Debug)]
struct Entry {
    kind: Kind,
    key: String,
    ceiling: usize,
    line: usize,
}

/// Everything that is too large, and every exception that is not needed as it stands.
pub(crate) fn judge(measures: &[Measure], files: &[TextFile]) -> Vec<Finding> {
    let list = files
        .iter()
        .find(|file| file.path == LIST)
        .map_or("", |file| file.text.as_str());
    let (entries, mut findings) = parse(list);
    for measure in measures
        .iter()
        .filter(|measure| measure.value > measure.kind.limit())
    {
        findings.extend(judge_large(measure, &entries));
    }
    for entry in &entries {
        findings.extend(judge_entry(entry, measures));
    }
    findings
}

fn judge_large(measure: &Measure, entries: &[Entry]) -> Option<Finding> {
    let entry = entries.iter().find(|entry| entry.matches(measure));
    let ceiling = entry.map_or(measure.kind.limit(), |entry| entry.ceiling);
    (measure.value > ceiling).then(|| {
        let (word, value) = (measure.kind.word(), measure.value);
        let what = match measure.kind {
            Kind::Parameters => format!("{value} parameters, at most {ceiling} allowed"),
            _ => format!("{word} of {value} lines, at most {ceiling} allowed"),
        };
        Finding::new(&measure.path, measure.line, what, measure.kind.fix())
    })
}

fn judge_entry(entry: &Entry, measures: &[Measure]) -> Option<Finding> {
    let matching = measures.iter().filter(|measure| entry.matches(measure));
    let largest = matching.map(|measure| measure.value).max().unwrap_or(0);
    if largest <= entry.kind.limit() {
        return Some(Finding::new(
            LIST,
            entry.line,
            "no longer needed",
            "remove the line",
        ));
    }
    let fix = format!("lower it to {largest}");
    (largest < entry.ceiling).then(|| Finding::new(LIST, entry.line, "ceiling too high", fix))
}

impl Entry {
    fn matches(&self, measure: &Measure) -> bool {
        self.kind == measure.kind && self.key == measure.key
    }
}

fn parse(list: &str) -> (Vec<Entry>, Vec<Finding>) {
    let (mut entries, mut findings) = (Vec::new(), Vec::new());
    for (index, text) in list.lines().enumerate() {
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        match parse_line(text, index + 1) {
            Some(entry) => entries.push(entry),
            None => {
                let fix = "write kind, path (or path:function) and ceiling";
                findings.push(Finding::new(LIST, index + 1, "not an exception", fix));
            }
        }
    }
    (entries, findings)
}

fn parse_line(text: &str, line: usize) -> Option<Entry> {
    let [kind, key, ceiling] = text
        .split_whitespace()
        .collect::<Vec<_>>()
        .try_into()
        .ok()?;
    let kind = Kind::ALL.into_iter().find(|known| known.word() == kind)?;
    Some(Entry {
        kind,
        key: key.into(),
        ceiling: ceiling.parse().ok()?,
        line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::file;

    fn judged(value: usize, list: &str) -> Vec<String> {
        let (path, key) = ("a.rs".to_string(), "a.rs:f".to_string());
        let measure = Measure {
            kind: Kind::Function,
            key,
            path,
            line: 3,
            value,
        };
        let findings = judge(&[measure], &[file(LIST, list)]);
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_within_the_limit_passes() {
        assert!(judged(70, "# nothing\n").is_empty());
    }

    #[test]
    fn what_is_too_large_fails_unless_listed() {
        let expected = "a.rs:3: function of 71 lines, at most 70 allowed; split it (aim at 30)";
        assert_eq!(judged(71, ""), [expected]);
        assert!(judged(71, "function a.rs:f 71\n").is_empty());
        assert_eq!(judged(72, "function a.rs:f 71\n").len(), 1);
        assert_eq!(judged(72, "parameters a.rs:f 72\n").len(), 2);
    }

    #[test]
    fn the_list_may_only_shrink() {
        let line = "xtask/tidy-allow.txt:1: ";
        let unneeded = format!("{line}no longer needed; remove the line");
        for list in ["function a.rs:f 80\n", "function gone.rs:f 80\n"] {
            assert_eq!(judged(70, list), [unneeded.as_str()]);
        }
        let loose = format!("{line}ceiling too high; lower it to 75");
        assert_eq!(judged(75, "function a.rs:f 80\n"), [loose]);
        assert!(judged(1, "functions a.rs 80 x\n")[0].contains("not an exception"));
    }
}
