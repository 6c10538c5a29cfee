//! White space that nobody sees: at the end of a line, and a missing line feed at the end of a file.

use crate::files::TextFile;
use crate::finding::Finding;

/// Lines that end in white space, and a last line that does not end.
pub(crate) fn check(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.text.split('\n').enumerate() {
        if line.ends_with(char::is_whitespace) {
            let what = "white space at the end of the line";
            findings.push(Finding::new(&file.path, index + 1, what, "remove it"));
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        let last = file.text.lines().count();
        findings.push(Finding::new(
            &file.path,
            last,
            "no line feed at the end",
            "add one",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::file;

    #[test]
    fn only_clean_lines_pass() {
        let cases: [(&str, &[usize]); 6] = [
            ("", &[]),
            ("a\n\nb\n", &[]),
            ("a \nb\n", &[1]),
            ("a\n\t\n", &[2]),
            ("a\r\n", &[1]),
            ("a\nb", &[2]),
        ];
        for (text, expected) in cases {
            let lines: Vec<usize> = check(&file("a", text)).iter().map(|f| f.line).collect();
            assert_eq!(lines, expected, "{text:?}");
        }
    }
}
