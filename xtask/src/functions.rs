//! Finds functions in masked Rust: name, place, length, number of parameters.
//! A brace counter, not a parser; where it cannot follow, it counts less rather than more.

use crate::mask::is_word;

/// One function with a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Counted from 1.
    pub(crate) line: usize,
    /// From `fn` to the closing brace.
    pub(crate) lines: usize,
    /// With `self`.
    pub(crate) parameters: usize,
}

/// All functions of a masked text, those inside others too.
pub(crate) fn functions(masked: &str) -> Vec<Function> {
    let code: Vec<char> = masked.chars().collect();
    (0..code.len())
        .filter_map(|at| function_at(&code, at))
        .collect()
}

/// The index of the bracket that closes the one at `open`.
pub(crate) fn closing(code: &[char], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in code.iter().enumerate().skip(open) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn function_at(code: &[char], at: usize) -> Option<Function> {
    let is_start = at == 0 || !(is_word(code[at - 1]) || code[at - 1] == '#');
    if !is_start || !code[at..].starts_with(&['f', 'n', ' ']) {
        return None;
    }
    let name: String = code[at + 3..]
        .iter()
        .take_while(|c| is_word(**c) || **c == '#')
        .collect();
    if name.is_empty() {
        return None;
    }
    let open = skip_generics(code, at + 3 + name.chars().count())?;
    let close = (*code.get(open)? == '(').then(|| closing(code, open))??;
    let end = closing(code, body(code, close + 1)?)?;
    Some(Function {
        name,
        line: 1 + newlines(&code[..at]),
        lines: 1 + newlines(&code[at..end]),
        parameters: parameters(&code[open + 1..close]),
    })
}

/// Passes `<…>` if it begins at `at`; arrows inside are no closing brackets.
fn skip_generics(code: &[char], at: usize) -> Option<usize> {
    if *code.get(at)? != '<' {
        return Some(at);
    }
    let mut depth = 0_usize;
    for (index, c) in code.iter().enumerate().skip(at) {
        match c {
            '<' => depth += 1,
            '>' if code[index - 1] != '-' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(index + 1);
        }
    }
    None
}

/// The opening brace of the body; `None` for a declaration.
fn body(code: &[char], mut at: usize) -> Option<usize> {
    loop {
        match code.get(at)? {
            '{' => return Some(at),
            ';' => return None,
            '(' | '[' => at = closing(code, at)?,
            _ => {}
        }
        at += 1;
    }
}

/// Counts what stands between the outermost commas.
fn parameters(inside: &[char]) -> usize {
    let (mut depth, mut count, mut is_empty) = (0_usize, 0, true);
    for (at, c) in inside.iter().enumerate() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '>' if at > 0 && inside[at - 1] != '-' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                count += 1;
                is_empty = true;
                continue;
            }
            _ => {}
        }
        is_empty &= c.is_whitespace();
    }
    count + usize::from(!is_empty)
}

fn newlines(code: &[char]) -> usize {
    code.iter().filter(|c| **c == '\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str) -> Vec<(String, usize, usize, usize)> {
        let functions = functions(code).into_iter();
        functions
            .map(|f| (f.name, f.line, f.lines, f.parameters))
            .collect()
    }

    #[test]
    fn length_runs_from_the_name_to_the_closing_brace() {
        let code = "\npub fn a(x: u8) -> [u8; 2] {\n  if x { y }\n}\nfn b() {}\n";
        assert_eq!(found(code), [("a".into(), 2, 3, 1), ("b".into(), 5, 1, 0)]);
    }

    #[test]
    fn parameters_are_counted_between_the_outermost_commas() {
        let cases = [
            ("fn f(&self, x: (u8, u8), y: Vec<(u8, u8)>,) {}", 3),
            (
                "fn f<F: Fn(u8, u8) -> u8>(f: F, g: impl Fn(u8) -> Map<u8, u8>) {}",
                2,
            ),
            ("fn f(\n    a: u8,\n    b: u8,\n) where u8: Copy {}", 2),
            ("fn f( ) {}", 0),
        ];
        for (code, expected) in cases {
            let found = functions(code);
            assert_eq!(found.len(), 1, "{code}");
            assert_eq!(found[0].parameters, expected, "{code}");
        }
    }

    #[test]
    fn what_has_no_body_or_no_name_is_no_function() {
        for code in [
            "fn f(x: [u8; 3]);",
            "type F = fn (u8);",
            "fn $name() {}",
            "let often = 1;",
        ] {
            assert_eq!(found(code), [], "{code}");
        }
    }

    #[test]
    fn functions_inside_others_are_found() {
        let names: Vec<_> = functions("fn a() { fn b() {} }")
            .into_iter()
            .map(|f| f.name)
            .collect();
        assert_eq!(names, ["a", "b"]);
    }
}
