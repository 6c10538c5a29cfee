use session::statement::*;
use std::io::BufRead;
fn main() {
    let d = Dialect::new(Flavor::MariaDb, 101119);
    for l in std::io::stdin().lock().lines() {
        let l = l.unwrap();
        let s = classify(l.as_bytes(), &d);
        println!(
            "{l}\n    {:?} {:?} {:?}",
            s.kind,
            s.traits
                .iter_names()
                .map(|x| x.0)
                .collect::<Vec<_>>()
                .join("|"),
            s.pins.iter().map(|p| p.name()).collect::<Vec<_>>()
        );
    }
}
