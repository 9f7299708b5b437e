//! `bench memory` at sizes that take no time: shapes and counts, no times.

use super::Home;

#[test]
fn a_made_up_memory_is_measured_at_every_size() {
    let home = Home::new();
    let report = home.json(&["bench", "memory", "--semantics", "300,40,40", "--json"]);
    let rows = report["rows"].as_array().unwrap();
    let sizes: Vec<_> = rows.iter().map(|row| row["semantics"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [40, 300], "smallest first, each once: {report}");
    for row in rows {
        let of = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("{name}: {row}"));
        // At most twelve facts a theme, and groups hold several.
        let facts = of("semantics");
        assert!((facts / 12.0..facts).contains(&of("themes")), "{row}");
        for what in ["insert", "selection"] {
            let (p50, p99) = (of(&format!("{what}_p50_ms")), of(&format!("{what}_p99_ms")));
            assert!(0.0 < p50 && p50 <= p99, "{row}");
        }
        assert!(of("insert_max_ms") >= of("insert_p99_ms"), "{row}");
        assert!(of("insert_seconds") > 0.0, "{row}");
        assert_eq!(of("neighbour_recall"), 1.0, "exact at this size: {row}");
        if cfg!(target_os = "linux") {
            assert!((1e6..1e9).contains(&of("resident_bytes")), "{row}");
        }
    }
    let table = home.ok(&["bench", "memory", "--semantics", "20"]);
    assert!(table.contains("insert p50, p99") && table.contains("       20 "), "{table}");
    assert!(!home.data().join("memory.db").exists(), "measuring leaves no memory");
}

#[test]
fn impossible_sizes_are_refused() {
    let home = Home::new();
    for sizes in ["0", "ten", "10,,20", "-5", "99999999"] {
        home.fails(&["bench", "memory", "--semantics", sizes], 2);
    }
}
