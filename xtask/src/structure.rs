//! Who knows whom inside `crates/engine`: the order of its rooms, and figures that a change may only lower.
//!
//! Size says little about structure: a file of a thousand lines that knows nobody is easier to change than ten that
//! know each other. Tests inside the crate do not count.

mod source;

use std::collections::BTreeSet;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use self::source::{ENGINE, Source};
use crate::files::TextFile;
use crate::finding::Finding;

const FOLDER: &str = "crates/engine/src/";

/// The rooms: each knows only itself and those before it.
const ROOMS: [&str; 8] = [
    "record", "follow", "endings", "login", "matching", "report", "steps", "desk",
];

/// Today's figures, in the order of [`Figures::each`]. Whoever lowers one writes it here.
const TODAY: [usize; 4] = [12, 14, 46, 66];
const TABLE: &str = "xtask/src/structure.rs";

/// What is counted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    /// Files that know each other, directly or by way of others: through paths, and through calls of methods of the
    /// types that have them in several files.
    circle: usize,
    /// Files with methods of `Engine`.
    implementing: usize,
    /// Places that name a variant of `Purpose`.
    purposes: usize,
    /// Fields of `Client` and `Backend` that other files reach.
    fields: usize,
}

impl Figures {
    fn each(&self) -> [(&'static str, usize); 4] {
        [
            ("files in the largest circle", self.circle),
            ("files with `impl Engine`", self.implementing),
            ("places that name a variant of `Purpose`", self.purposes),
            ("public fields of `Client` and `Backend`", self.fields),
        ]
    }
}

/// Figures that differ from the table.
pub(crate) fn check(files: &[TextFile]) -> Vec<Finding> {
    let sources: Vec<Source> = files
        .iter()
        .filter_map(|file| {
            let path = file.path.strip_prefix(FOLDER)?.strip_suffix(".rs")?;
            Source::read(path, &file.text)
        })
        .collect();
    if sources.is_empty() {
        return Vec::new();
    }
    let figures = figures(&sources);
    let compared = figures.each().into_iter().zip(TODAY);
    let worse = compared.filter_map(|((name, now), before)| {
        let fix = match now.cmp(&before) {
            std::cmp::Ordering::Equal => return None,
            std::cmp::Ordering::Greater => "let files know fewer others".to_owned(),
            std::cmp::Ordering::Less => format!("write {now} into the table"),
        };
        let what = format!("{name}: {now}, and {before} in the table");
        Some(Finding::new(TABLE, 1, what, fix))
    });
    worse.chain(check_rooms(&sources)).collect()
}

/// Files that know a later room, and those in none.
fn check_rooms(sources: &[Source]) -> Vec<Finding> {
    let place = |module: &str| {
        let room = module.split("::").next().unwrap_or_default();
        ROOMS.iter().position(|known| *known == room)
    };
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| !source.module.is_empty()) {
        let path = format!("{FOLDER}{}.rs", source.module.replace("::", "/"));
        if place(&source.module).is_none() {
            let what = format!("{} is in none of the rooms", source.module);
            let fix = format!("put it into one, or a room into {TABLE}");
            found.push(Finding::new(&path, 1, what, fix));
        }
        for other in known_to(source, sources) {
            if place(other) > place(&source.module) {
                let what = format!("it knows {other}, which is in a later room");
                let fix = "move the code to where both may be known".to_owned();
                found.push(Finding::new(&path, 1, what, fix));
            }
        }
    }
    found
}

/// The modules that a file knows.
fn known_to<'a>(source: &Source, sources: &'a [Source]) -> BTreeSet<&'a str> {
    let modules: BTreeSet<&str> = sources.iter().map(|source| &*source.module).collect();
    let named = source
        .paths
        .iter()
        .filter_map(|path| file_of(path, &modules));
    let called = source.calls.iter().filter_map(|call| {
        let has = |other: &&Source| other.methods.contains(call);
        sources.iter().find(has).map(|other| &*other.module)
    });
    named
        .chain(called)
        .filter(|other| *other != source.module)
        .collect()
}

fn figures(sources: &[Source]) -> Figures {
    let count = |of: fn(&Source) -> usize| sources.iter().map(of).sum();
    Figures {
        circle: largest_circle(sources).len(),
        implementing: sources
            .iter()
            .filter(|source| source.methods.iter().any(|(of, _)| *of == ENGINE))
            .count(),
        purposes: count(|source| source.purposes),
        fields: count(|source| source.public_fields),
    }
}

/// The modules of the largest set of files in which each knows each.
fn largest_circle(sources: &[Source]) -> BTreeSet<&str> {
    let mut graph: DiGraphMap<&str, ()> = DiGraphMap::new();
    for source in sources {
        for other in known_to(source, sources) {
            graph.add_edge(&source.module, other, ());
        }
    }
    let circles = tarjan_scc(&graph).into_iter();
    let largest = circles.max_by_key(Vec::len).unwrap_or_default();
    match largest.len() {
        0 | 1 => BTreeSet::new(),
        _ => largest.into_iter().collect(),
    }
}

/// The file that a path leads to: that of its longest part that is a module. What the root of the crate names for
/// others leads nowhere.
fn file_of<'a>(path: &str, modules: &BTreeSet<&'a str>) -> Option<&'a str> {
    let ends = path.match_indices("::").map(|(at, _)| at);
    let mut parts: Vec<&str> = ends.map(|end| &path[..end]).collect();
    parts.push(path);
    let leads = |part: &&str| modules.iter().copied().find(|module| module == part);
    parts.iter().rev().find_map(leads)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Vec<Source> {
        let read = |(path, text): &(&str, &str)| Source::read(path, text).unwrap();
        files.iter().map(read).collect()
    }

    #[test]
    fn a_circle_is_closed_by_paths_and_by_methods() {
        let files = [
            ("lib", "mod a; mod b; pub struct Engine;"),
            (
                "a",
                "use crate::b::{self, c::Deep}; use crate::Engine; impl Engine { fn first(&self) {} }",
            ),
            (
                "b",
                "use crate::Engine; impl Engine { fn second(&self) { assert!(self.first()); } }",
            ),
            ("b/c", "pub struct Deep; fn alone() { crate::d::go() }"),
            (
                "d",
                "pub fn go() {} #[cfg(test)] mod tests { use crate::b::c::Deep; }",
            ),
        ];
        let sources = sources(&files);
        let circle = largest_circle(&sources);
        assert_eq!(circle.into_iter().collect::<Vec<_>>(), ["a", "b"]);
        let figures = figures(&sources);
        assert_eq!((figures.circle, figures.implementing), (2, 2));
    }

    #[test]
    fn a_room_knows_those_before_it() {
        let files = [
            ("record", "mod records;"),
            (
                "record/records",
                "pub struct Records; impl Records { fn f(&self) { self.g() } }",
            ),
            (
                "desk",
                "use crate::record::records::Records; impl Records { fn g(&self) {} }",
            ),
            ("lost", ""),
        ];
        let found = check_rooms(&sources(&files));
        let found: Vec<&str> = found.iter().map(|finding| &*finding.what).collect();
        let expected = [
            "it knows desk, which is in a later room",
            "lost is in none of the rooms",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn purposes_and_public_fields_are_counted() {
        let files = [(
            "backend",
            "pub(crate) struct Backend { pub(crate) a: u8, pub b: u8, c: u8 } struct Other { pub d: u8 } \
             fn f(p: Purpose) { match p { Purpose::A => {} Purpose::B(x) => {} } debug_assert!(matches!(p, Purpose::C)); }",
        )];
        let figures = figures(&sources(&files));
        assert_eq!((figures.purposes, figures.fields), (3, 2));
    }

    #[test]
    fn another_figure_than_that_of_the_table_is_found() {
        let text = "impl Engine { fn f(&self) {} }".to_owned();
        let path = format!("{FOLDER}a.rs");
        let found = check(&[TextFile { path, text }]);
        assert!(
            found
                .iter()
                .any(|finding| finding.what.contains("impl Engine"))
        );
        assert!(check(&[]).is_empty());
    }
}
