use session::statement::*;
use std::io::{BufRead, Write};
fn main() {
    let out = std::io::stdout();
    for l in std::io::stdin().lock().lines() {
        let l = l.unwrap();
        let (opts, hex) = l.split_once(' ').unwrap();
        let text: Vec<u8> = (0..hex.len() / 2)
            .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
            .collect();
        let mut o = opts.split(',');
        let mut d = Dialect::new(Flavor::MariaDb, 101119);
        d.charset = Trail::of(o.next().unwrap().as_bytes()).unwrap();
        for x in o {
            match x {
                "ansi" => d.ansi_quotes = true,
                "nbe" => d.no_backslash_escapes = true,
                "sp" => d.ignore_space = true,
                _ => {}
            }
        }
        let s = classify(&text, &d);
        let mut w = out.lock();
        writeln!(w, "{:?} {:?} {:?}", s.kind, s.traits, s.pins).unwrap();
        w.flush().unwrap();
    }
}
