//! The figures written out.

use std::fmt::{Result, Write};

use page::{escape, grouped, number};

use crate::figures::Figures;
use crate::summary::Summary;

/// The figures that matter most.
pub(super) fn tiles(page: &mut String, summary: &Summary) -> Result {
    let total = &summary.total;
    let errors = total.errors.values().sum::<u64>() + total.wrong_answers + total.reconnects;
    let class = if errors > 0 { " class=\"bad\"" } else { "" };
    page.push_str("<div class=\"tiles\">\n");
    let tiles = [
        ("", grouped(total.transactions_per_s), "transactions/s"),
        ("", grouped(total.goodput_per_s), "goodput/s"),
        (
            "",
            format!("{} ms", number(total.latency_ms.p50)),
            "latency, 50 %",
        ),
        (
            "",
            format!("{} ms", number(total.latency_ms.p99)),
            "latency, 99 %",
        ),
        (
            "",
            format!("{} ms", number(total.latency_ms.max)),
            "latency, longest",
        ),
        (
            class,
            grouped(errors as f64),
            "errors, wrong answers, reconnects",
        ),
    ];
    for (class, value, name) in tiles {
        writeln!(
            page,
            "<div class=\"tile\"><b{class}>{value}</b><span>{name}</span></div>"
        )?;
    }
    page.push_str("</div>\n");
    Ok(())
}

/// What must be known before the figures are believed.
pub(super) fn warnings(page: &mut String, summary: &Summary) -> Result {
    let bound = summary.is_generator_bound().then_some(
        "The generator's threads were nearly always busy: it may have been the limit, not the target.",
    );
    let explanations = summary.total.explanations.iter().map(String::as_str);
    let all: Vec<&str> = bound.into_iter().chain(explanations).collect();
    if all.is_empty() {
        return Ok(());
    }
    page.push_str("<section>\n<h2>Mind</h2>\n");
    for text in all {
        writeln!(page, "<div class=\"bad\">{}</div>", escape(text))?;
    }
    page.push_str("</section>\n");
    Ok(())
}

/// All other figures: a column for each group and one for all.
pub(super) fn figures(page: &mut String, summary: &Summary) -> Result {
    let mut columns = vec![("all", summary.connections, &summary.total)];
    if summary.groups.len() > 1 {
        let groups = summary.groups.iter();
        columns.extend(groups.map(|g| (g.name.as_str(), g.connections, &g.figures)));
    }
    page.push_str("<section>\n<h2>Figures</h2>\n<table>\n<tr><th></th>");
    for (name, _, _) in &columns {
        write!(page, "<th class=\"n\">{}</th>", escape(name))?;
    }
    page.push_str("</tr>\n");
    row(
        page,
        "connections",
        columns
            .iter()
            .map(|(_, count, _)| grouped(f64::from(*count))),
    )?;
    for (name, value) in ROWS {
        row(
            page,
            name,
            columns.iter().map(|(_, _, figures)| value(figures)),
        )?;
    }
    page.push_str("</table>\n</section>\n");
    processes(page, summary)
}

type Row = (&'static str, fn(&Figures) -> String);

const ROWS: [Row; 18] = [
    ("statements", |f| grouped(f.statements as f64)),
    ("statements/s", |f| grouped(f.statements_per_s)),
    ("reads", |f| grouped(f.reads as f64)),
    ("writes", |f| grouped(f.writes as f64)),
    ("transactions", |f| grouped(f.transactions as f64)),
    ("transactions/s", |f| grouped(f.transactions_per_s)),
    ("goodput/s", |f| grouped(f.goodput_per_s)),
    ("latency, 50 % (ms)", |f| number(f.latency_ms.p50)),
    ("latency, 95 % (ms)", |f| number(f.latency_ms.p95)),
    ("latency, 99 % (ms)", |f| number(f.latency_ms.p99)),
    ("latency, 99.9 % (ms)", |f| number(f.latency_ms.p999)),
    ("latency, longest (ms)", |f| number(f.latency_ms.max)),
    ("connects/s", |f| grouped(f.connects_per_s)),
    ("connect latency, 99 % (ms)", |f| {
        number(f.connect_latency_ms.p99)
    }),
    ("errors", |f| escape(&f.errors_text)),
    ("wrong answers", |f| grouped(f.wrong_answers as f64)),
    ("reconnects", |f| grouped(f.reconnects as f64)),
    ("timeouts, unanswered, backlog", |f| {
        format!("{}, {}, {}", f.timeouts, f.unanswered, f.backlog)
    }),
];

fn row(page: &mut String, name: &str, values: impl Iterator<Item = String>) -> Result {
    write!(page, "<tr><th>{name}</th>")?;
    for value in values {
        write!(page, "<td class=\"n\">{value}</td>")?;
    }
    page.push_str("</tr>\n");
    Ok(())
}

fn processes(page: &mut String, summary: &Summary) -> Result {
    let cpu = |us: Option<f64>| us.map_or("–".to_owned(), |us| format!("{us:.2} µs"));
    page.push_str(
        "<section>\n<h2>Processes</h2>\n<table>\n<tr><th></th><th class=\"n\">CPU per \
         statement</th><th class=\"n\">memory, most</th><th class=\"n\">memory per connection</th>\
         </tr>\n",
    );
    let busy = summary.generator_busy * 100.0;
    let own = cpu(summary.generator_cpu_us_per_statement);
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let most = mib(summary.generator_rss_bytes_max);
    writeln!(
        page,
        "<tr><th>generator, busy for {busy:.0} % of the time</th><td class=\"n\">{own}</td>\
         <td class=\"n\">{most:.1} MiB</td><td></td></tr>"
    )?;
    if let Some(bytes) = summary.slab_bytes_per_connection {
        writeln!(
            page,
            "<tr><th>kernel, slabs of the machine</th><td></td><td></td><td class=\"n\">{bytes} \
             bytes</td></tr>"
        )?;
    }
    for watched in &summary.watched {
        let most = mib(watched.rss_bytes_max);
        writeln!(
            page,
            "<tr><th>process {}</th><td class=\"n\">{}</td><td class=\"n\">{most:.1} MiB</td>\
             <td class=\"n\">{} bytes</td></tr>",
            watched.pid,
            cpu(watched.cpu_us_per_statement),
            watched.rss_bytes_per_connection
        )?;
    }
    page.push_str("</table>\n</section>\n");
    Ok(())
}
