//! Pages and plots of made-up figures.

use super::*;

fn chart(series: Vec<Series>) -> Chart {
    Chart {
        title: "a < b",
        series,
        marks: vec![(0.0, "left".into()), (2.0, "right".into())],
        measured_from: 0.0,
        name_of: |at| format!("place {at}"),
        size: NARROW,
        dots: true,
    }
}

fn line(name: &'static str, points: &[(f64, f64)]) -> Series {
    Series {
        name,
        points: points.to_vec(),
        colour: 1,
        ..Series::default()
    }
}

fn drawn(chart: &Chart) -> String {
    let mut page = String::new();
    chart.write(&mut page).unwrap();
    page
}

#[test]
fn a_place_tells_only_of_lines_that_have_a_point_there() {
    let long = line("long", &[(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]);
    let page = drawn(&chart(vec![long, line("short", &[(1.0, 7.0)])]));
    assert!(page.contains("<title>place 0\nlong: 1</title>"), "{page}");
    assert!(page.contains("<title>place 1\nlong: 2\nshort: 7</title>"));
    assert_eq!(page.matches("<circle").count(), 4);
    assert_eq!(
        page.matches("<path").count(),
        1,
        "a single point is no line"
    );
}

#[test]
fn a_line_that_stops_says_why_beside_its_last_point() {
    let stopped = Series {
        note: Some("no more than <20>".into()),
        ..line("short", &[(1.0, 7.0)])
    };
    let page = drawn(&chart(vec![stopped]));
    assert!(page.contains(">no more than &lt;20></text>"), "{page}");
    assert!(page.contains("a &lt; b"));
}

#[test]
fn strips_lie_side_by_side() {
    let page = drawn(&chart(vec![line(
        "a",
        &[(0.0, 1.0), (1.5, 1.0), (2.0, 1.0)],
    )]));
    let mut end = 64.0;
    for strip in page.split("class=\"hover\"").skip(1) {
        let of = |name: &str| -> f64 {
            let rest = strip.split_once(name).unwrap().1;
            rest.split('"').next().unwrap().parse().unwrap()
        };
        assert!((of(" x=\"") - end).abs() < 0.11, "{page}");
        end = of(" x=\"") + of("width=\"");
    }
    assert!((end - 416.0).abs() < 0.2, "{end}");
}

#[test]
fn nothing_to_see_draws_nothing() {
    assert_eq!(drawn(&chart(vec![line("a", &[])])), "");
    let mut lines = chart(vec![line("a", &[(1.0, 1.0)])]);
    lines.dots = false;
    assert_eq!(drawn(&lines), "");
}

#[test]
fn a_page_is_whole() {
    let mut page = String::new();
    begin(&mut page, "<t>", "x {}").unwrap();
    end(&mut page);
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("<title>&lt;t></title>") && page.contains("x {}</style>"));
    assert!(page.contains("prefers-color-scheme: dark"));
}

#[test]
fn numbers_are_short() {
    let texts = [0.0, 0.05, 1.5, 12.34, 5_000.0, 12_000.0, 3.4e6].map(number);
    assert_eq!(texts, ["0", "0.05", "1.5", "12.3", "5000", "12k", "3.4M"]);
    assert_eq!(
        [0.0, 999.0, 1_000.0, 1_234_567.0].map(grouped),
        ["0", "999", "1,000", "1,234,567"]
    );
}
