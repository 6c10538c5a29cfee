//! A report for people: a line per group that is fine, a paragraph per finding that is not, the
//! verdict last.
//!
//! Whether there is a terminal is not found out here.

use std::fmt::Write;

use crate::explain::Explanation;
use crate::finding::{Finding, Severity};
use crate::need::{Need, Role, Serving};
use crate::numbers::count;
use crate::remedy::Place;
use crate::report::Report;

/// How a report is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// With the colours of a terminal.
    pub colour: bool,
    /// How many characters fit in a line.
    pub width: usize,
    /// Also what is fine at full length.
    pub verbose: bool,
}

/// Where texts begin, behind mark and heading.
const INDENT: usize = 14;
/// Where those of a paragraph begin, behind its labels.
const DEEP: usize = INDENT + 7;

const GREEN: &str = "32";
const YELLOW: &str = "33";
const RED: &str = "31";
const BOLD: &str = "1";
const DIM: &str = "2";

impl Report {
    /// The report in words.
    pub fn to_text(&self, style: Style) -> String {
        let mut text = format!("{}\n\n", style.paint(BOLD, &headline(&self.need)));
        let mut rest = self.findings.as_slice();
        while let Some(first) = rest.first() {
            let length = rest.iter().take_while(|f| f.group == first.group).count();
            let (group, others) = rest.split_at(length);
            text += &self.group(group, style);
            rest = others;
        }
        text + "\n" + &self.verdict(style)
    }

    fn group(&self, findings: &[Finding], style: Style) -> String {
        let title = findings.first().map_or("", |finding| finding.group.title());
        let is_short = |f: &&Finding| f.severity() == Severity::Fine && !style.verbose;
        let fine: Vec<&str> = findings
            .iter()
            .filter(is_short)
            .map(|finding| finding.observation.short.as_str())
            .collect();
        let mut text = String::new();
        if !fine.is_empty() {
            let mark = style.mark(Severity::Fine);
            let list = style.wrap(&fine.join(" · "), INDENT);
            // Writing to a string cannot fail; its result is only that of the trait.
            let _ok = writeln!(text, "{mark} {title:<11} {list}");
        }
        for finding in findings.iter().filter(|finding| !is_short(finding)) {
            text += &self.paragraph(title, finding, style);
        }
        text
    }

    fn paragraph(&self, title: &str, finding: &Finding, style: Style) -> String {
        let observation = &finding.observation;
        let mark = style.mark(observation.severity);
        let name = style.paint(BOLD, finding.check);
        let mut text = format!("{mark} {title:<11} {name}{}\n", end(finding));
        let mut line = |label: &str, content: &str| {
            if !content.is_empty() {
                let label = style.paint(DIM, &format!("{label:<6}"));
                let content = style.wrap(content, DEEP);
                let _ok = writeln!(text, "{:INDENT$}{label} {content}", "");
            }
        };
        line("found", &observation.found);
        line("needs", &observation.needs);
        line("why", &observation.why);
        for remedy in &observation.remedies {
            line("now", &remedy.now());
            let lasting = remedy.lasting().into_iter();
            for (place, text) in lasting.filter(|(place, _)| self.suits(*place)) {
                line("keep", &format!("{}{text}", place.title()));
            }
        }
        if observation.severity != Severity::Fine {
            line("more", &finding.page());
        }
        text
    }

    /// Whether this is where somebody on this machine would set something.
    fn suits(&self, place: Place) -> bool {
        let of_container = matches!(place, Place::Container | Place::Kubernetes);
        place == Place::Database || of_container == self.in_container
    }

    fn verdict(&self, style: Style) -> String {
        let wanted = count(self.need.connections);
        let bad = |severity| {
            self.findings
                .iter()
                .filter(|f| f.severity() == severity)
                .count()
        };
        let (warnings, unknown) = (bad(Severity::Warning), bad(Severity::Unknown));
        let severity = self.severity();
        let mark = style.mark(severity);
        let first = self.first_limit().map_or(String::new(), |limit| {
            format!(
                " The first limit is {}, at {}.",
                limit.check,
                count(limit.connections)
            )
        });
        let sentence = match (severity, self.obstacle()) {
            (_, Some(limit)) => format!(
                "{wanted} connections will not come about here: {} stops them at {}.{}",
                limit.check,
                count(limit.connections),
                self.others(limit.check)
            ),
            (Severity::Fatal, None) => {
                format!("{wanted} connections will not work here; see what is marked ✗.")
            }
            (Severity::Fine, None) => format!("{wanted} connections will work here.{first}"),
            (Severity::Unknown, None) => format!(
                "Nothing that could be checked stops {wanted} connections here, but {unknown} facts are \
                 unknown.{first}"
            ),
            (Severity::Warning, None) => format!(
                "{wanted} connections will work here, but see what is marked ! ({warnings}) or ? \
                 ({unknown}).{first}"
            ),
        };
        let mut text = format!("{mark} {}\n", style.wrap(&sentence, 2));
        if !self.settings().is_empty() {
            let hint = "`myriad doctor --fix` sets what root may set; --dry-run shows it.";
            let _ok = writeln!(text, "  {hint}");
        }
        text
    }

    /// What stops them after that.
    fn others(&self, first: &str) -> String {
        let mut others: Vec<(u64, &str)> = self
            .findings
            .iter()
            .filter(|finding| finding.check != first)
            .filter_map(|finding| Some((finding.observation.limit?, finding.check)))
            .filter(|(limit, _)| *limit < self.need.connections)
            .collect();
        others.sort_unstable();
        let others = others
            .iter()
            .map(|(limit, check)| format!("{check} ({})", count(*limit)));
        let list = others.collect::<Vec<_>>().join(", ");
        if list.is_empty() {
            list
        } else {
            format!(" Then: {list}.")
        }
    }
}

impl Explanation {
    /// The explanation in words.
    pub fn to_text(&self, style: Style) -> String {
        let title = format!("{} {} ({})", self.kind.title(), self.number, self.name);
        let mut text = style.paint(BOLD, &title) + "\n";
        let page = self.check.map(|check| format!("docs/doctor/{check}.md"));
        let lines = [
            ("means", self.brief),
            ("says", self.who),
            ("do", self.fix),
            ("more", page.as_deref().unwrap_or_default()),
        ];
        for (label, content) in lines.iter().filter(|(_, content)| !content.is_empty()) {
            let label = style.paint(DIM, &format!("{label:<6}"));
            let _ok = writeln!(text, "  {label} {}", style.wrap(content, 9));
        }
        text
    }
}

impl Style {
    fn mark(self, severity: Severity) -> String {
        match severity {
            Severity::Fine => self.paint(GREEN, "✓"),
            Severity::Unknown => self.paint(YELLOW, "?"),
            Severity::Warning => self.paint(YELLOW, "!"),
            Severity::Fatal => self.paint(RED, "✗"),
        }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Breaks lines between words; all but the first are indented.
    fn wrap(self, text: &str, indent: usize) -> String {
        let room = self.width.saturating_sub(indent).max(20);
        let (mut wrapped, mut used) = (String::new(), 0);
        for word in text.split_whitespace() {
            let length = word.chars().count();
            if used > 0 && used + 1 + length > room {
                let _ok = write!(wrapped, "\n{:indent$}", "");
                used = 0;
            } else if used > 0 {
                wrapped.push(' ');
                used += 1;
            }
            wrapped += word;
            used += length;
        }
        wrapped
    }
}

fn end(finding: &Finding) -> String {
    match (finding.severity(), finding.observation.limit) {
        (Severity::Fatal, Some(limit)) => format!(": ends at {} connections", count(limit)),
        _ => String::new(),
    }
}

fn headline(need: &Need) -> String {
    let ends = match need.role {
        Role::Server => "served by this machine",
        Role::Clients => "made by this machine",
        Role::Both => "both ends on this machine",
    };
    let by = match need.serving {
        Serving::Myriad => "through Myriad",
        Serving::ThreadPerConnection => "to a database with a thread for each",
        Serving::ThreadPool => "to a database with a thread pool",
    };
    format!("{} connections, {ends}, {by}", count(need.connections))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examine;
    use crate::tree::Tree;

    const PLAIN: Style = Style {
        colour: false,
        width: 80,
        verbose: false,
    };

    fn text(tree: &Tree, style: Style) -> String {
        let need = Need {
            workers: 8,
            role: Role::Clients,
            sources: Some(1),
            driver: crate::Driver::Epoll,
            ..Need::new(20_000)
        };
        examine(&tree.host(), &need).to_text(style)
    }

    #[test]
    fn a_healthy_machine_fits_on_a_screen() {
        let text = text(&Tree::healthy(), PLAIN);
        assert!(text.lines().count() <= 16, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.starts_with("20,000 connections, made by this machine, through Myriad\n"));
        let verdict = "✓ 20,000 connections will work here. The first limit is ports, at 28,232.\n";
        assert!(text.ends_with(verdict), "{text}");
        assert!(!text.contains('\x1b'), "{text}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_numbers_and_fixes() {
        let tree = Tree::healthy()
            .open_files(1_024, 4_096)
            .sysctl("net.ipv4.ip_local_port_range", "40000 49999");
        let text = text(&tree, PLAIN);
        for part in [
            "✗ open files  open-files: ends at 997 connections\n",
            "              needs  20,000 connections + 27 of its own = 20,027\n",
            "              now    ulimit -n 20480\n",
            "              keep   systemd: [Service] LimitNOFILE=20480,",
            "              more   docs/doctor/ports.md\n",
            "open-files stops them at 997.\n  Then: ports (10,000).\n",
            "`myriad doctor --fix` sets",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(!text.contains("docker"), "{text}");
        let text = self::text(&tree.with(".dockerenv", ""), PLAIN);
        assert!(text.contains("docker run --ulimit nofile=20480"), "{text}");
    }

    #[test]
    fn colours_are_only_where_they_are_wanted_and_unknown_is_no_failure() {
        let tree = Tree::healthy().without("proc/sys/net/core/netdev_max_backlog");
        let colour = Style {
            colour: true,
            ..PLAIN
        };
        let text = text(&tree, colour);
        assert!(text.contains("\x1b[33m?\x1b[0m network"), "{text}");
        assert!(
            text.contains("Nothing that could be checked stops"),
            "{text}"
        );
    }

    #[test]
    fn every_finding_is_shown_on_demand() {
        let verbose = Style {
            verbose: true,
            ..PLAIN
        };
        let text = text(&Tree::healthy(), verbose);
        for check in crate::checks::names() {
            assert!(text.contains(check), "{check} is missing in\n{text}");
        }
    }

    #[test]
    fn an_explanation_says_who_and_what_to_do() {
        let entry = crate::explain("99")[0];
        let text = entry.to_text(PLAIN);
        assert!(text.starts_with("errno 99 (EADDRNOTAVAIL)\n  means  no source port is left"));
        assert!(text.ends_with("  more   docs/doctor/ports.md\n"), "{text}");
    }
}
