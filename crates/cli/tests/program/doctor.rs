//! `tenferro doctor` on whatever machine this is; its form is pinned by the unit tests of the report.

use std::path::Path;

use crate::command::succeed;

#[test]
fn doctor_explains_the_machine_to_people() {
    let out = succeed(Path::new("."), &["doctor"]);
    for heading in [
        "Machine\n",
        "Backend\n",
        "Providers of matrix products",
        "Buffers\n",
        "CPUs of this process\n",
    ] {
        assert!(out.contains(heading), "{out}");
    }
    assert!(out.contains("naive"), "there is always a provider: {out}");
}

#[test]
fn doctor_explains_the_machine_to_programs() {
    let out = succeed(Path::new("."), &["doctor", "--json"]);
    assert_eq!(out.matches('\n').count(), 1);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let budget = report["machine"]["budget"].as_u64().unwrap();
    assert!(budget >= 1);
    assert_eq!(report["backend"]["threads"], budget);
    assert_eq!(report["arbiter"]["holders"], serde_json::json!([]));
    let providers = report["providers"].as_array().unwrap();
    assert!(providers.iter().any(|provider| provider["name"] == "naive"));
}
