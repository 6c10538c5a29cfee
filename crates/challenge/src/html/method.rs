//! How it was measured: what the words mean, the machine, the settings.

use std::fmt::{Result, Write};

use page::{escape, grouped};

use super::table::data;
use crate::text::bytes;
use crate::{Part, Report};

/// What the words mean.
const WORDS: [(&str, &str); 6] = [
    (
        "database alone",
        "The clients are connected to MariaDB itself over TCP, as it is installed: a thread for each \
         connection. With its thread pool: thread_handling=pool-of-threads, else the same.",
    ),
    (
        "through Myriad",
        "The clients are connected to Myriad over TCP, and Myriad to the same MariaDB over a unix socket, \
         with few connections.",
    ),
    (
        "mean by Little",
        "Each connection always has exactly one statement under way, so the mean time of a statement is \
         the number of connections divided by statements/s (Little’s law). No clock of the generator’s is \
         needed for it, so it is a check of the percentiles. Far above the median, some connections \
         waited much longer than others; above even the 99 %, some had no answer at all while it was measured.",
    ),
    (
        "each",
        "Resident memory that the process gained since nobody was connected, divided by the number of \
         connections. All rows were read before, so the cache of the database is not in it.",
    ),
    (
        "kernel each",
        "What the whole machine’s slab, kernel stacks, page tables and socket buffers gained, \
         divided by the number of connections. Both ends are in it, as the clients are on this machine, too. \
         Not told below 1,000 connections, where other things weigh more.",
    ),
    (
        "CPU, µs",
        "User and system time of the whole process while statements were measured, divided by their number.",
    ),
];

/// Appends the section.
pub(super) fn write(page: &mut String, report: &Report) -> Result {
    let (machine, settings) = (&report.machine, &report.settings);
    page.push_str("<section class=\"method\">\n<h2>How it was measured</h2>\n");
    let memory = machine.memory_bytes as f64;
    let (threads, backends) = (f64::from(settings.threads), f64::from(settings.backends));
    let [tables, rows] = settings.tables.map(f64::from);
    writeln!(
        page,
        "<p>On {}: {} with {} cores, {}, {}, kernel {}. Myriad {}, {}. Each of database, Myriad and load \
         generator is one process, all on this machine: each takes processor time from the others. Myriad had {} \
         worker and {} connections to the database, the generator as many threads as Myriad workers; the data \
         are {} tables of {} rows, all in memory.</p>",
        escape(&report.began),
        escape(&machine.cpu),
        data(f64::from(machine.cores), &machine.cores.to_string()),
        data(memory, &bytes(memory)),
        escape(&machine.system),
        escape(&machine.kernel),
        escape(&machine.myriad),
        escape(&machine.database),
        data(threads, &grouped(threads)),
        data(backends, &grouped(backends)),
        data(tables, &grouped(tables)),
        data(rows, &grouped(rows)),
    )?;
    chapters(page, &report.chapters)?;
    page.push_str("<dl>\n");
    for (word, meaning) in WORDS {
        writeln!(page, "<dt>{word}</dt><dd>{meaning}</dd>")?;
    }
    page.push_str("</dl>\n");
    let told = report
        .chapters
        .iter()
        .filter(|part| !part.reference.is_empty());
    let mut sources: Vec<&str> = told
        .filter_map(|part| part.chapter.story().source)
        .collect();
    sources.dedup();
    for source in sources {
        writeln!(page, "<p>{source}</p>")?;
    }
    self::settings(page, report)?;
    page.push_str("</section>\n");
    Ok(())
}

fn chapters(page: &mut String, parts: &[Part]) -> Result {
    for part in parts {
        let seconds = data(part.duration_s, &format!("{}", part.duration_s));
        let title = part.chapter.story().title;
        writeln!(
            page,
            "<p>{title}: each run was measured for {seconds} s after a warm-up.</p>"
        )?;
    }
    Ok(())
}

fn settings(page: &mut String, report: &Report) -> Result {
    let settings = &report.settings;
    let changed = settings.changed.iter().map(|change| {
        let doctor::Change { name, old, new } = change;
        format!("{name} = {new} (was {old} before, and is again)")
    });
    let changed: Vec<String> = changed.collect();
    let changed = match changed.is_empty() {
        true => "No setting was changed.".to_owned(),
        false => changed.join("\n"),
    };
    let host = format!("{changed}\n\n{}", settings.host.join("\n"));
    let all = [
        ("The host", host.as_str()),
        ("MariaDB’s arguments", &settings.database.join("\n")),
        (
            "Myriad’s configuration for the largest run",
            &settings.myriad,
        ),
        (
            "The generator’s command for the largest run",
            &settings.generator,
        ),
    ];
    for (name, text) in all {
        writeln!(
            page,
            "<details><summary>{name}</summary><pre>{}</pre></details>",
            escape(text.trim())
        )?;
    }
    Ok(())
}
