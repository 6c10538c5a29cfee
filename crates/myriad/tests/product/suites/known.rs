//! Files that are known to differ, under the words of `docs/DIFFERENCES.md` and its like that say why.

use crate::support::{Server, differences};

/// Whether the file differs for what is listed.
pub(super) fn is_known(name: &str) -> bool {
    let mut names = list().lines().filter(|line| line.starts_with(' '));
    names.any(|line| line.split_whitespace().any(|known| known == name))
}

/// Lines of words, and beneath each the names of files, indented.
fn list() -> &'static str {
    match Server::is_mariadb() {
        true => include_str!("mariadb.txt"),
        false => include_str!("mysql.txt"),
    }
}

#[test]
fn what_is_known_of_files_stands_in_the_document() {
    let document = differences();
    let document = document.split_whitespace().collect::<Vec<_>>().join(" ");
    for list in [include_str!("mariadb.txt"), include_str!("mysql.txt")] {
        for words in list.lines().filter(|line| !line.starts_with(' ')) {
            assert!(document.contains(words), "not in the document: {words}");
        }
    }
}
