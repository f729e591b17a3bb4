//! Results equal those of `numpy.einsum`; see `fixtures/make.py` and `examples/data/make.py`.

use std::path::Path;

use crate::{
    array::Array,
    command::{fixtures, succeed},
};

#[derive(serde::Deserialize)]
struct Case {
    name: String,
    subscripts: String,
    operands: Vec<String>,
    result: String,
}

#[test]
fn contract_equals_numpy_for_every_dtype_order_version_and_byte_order() {
    let fixtures = fixtures();
    let manifest = std::fs::read_to_string(fixtures.join("cases.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_str(&manifest).unwrap();
    assert!(cases.len() >= 45);
    let folder = tempfile::tempdir().unwrap();
    for case in cases {
        let expected = Array::read(&fixtures.join(format!("{}.npy", case.result)));
        for order in ["F", "C"] {
            let out = folder.path().join(format!("{}_{order}.npy", case.name));
            let mut arguments = vec!["contract", &case.subscripts];
            let files: Vec<String> =
                case.operands.iter().map(|name| format!("{name}.npy")).collect();
            arguments.extend(files.iter().map(String::as_str));
            arguments.extend(["--order", order, "-o", out.to_str().unwrap()]);
            succeed(&fixtures, &arguments);
            let actual = Array::read(&out);
            assert_eq!(actual.fortran, order == "F" && actual.shape.len() > 1, "{}", case.name);
            assert_eq!(Array { fortran: expected.fortran, ..actual }, expected, "{}", case.name);
        }
    }
}

#[test]
fn contract_equals_numpy_on_the_shipped_files() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.npy");
    let path = out.to_str().unwrap();
    succeed(&data, &["contract", "ijk,jl,km->ilm", "a.npy", "b.npy", "c.npy", "-o", path]);
    let (actual, expected) = (Array::read(&out), Array::read(&data.join("expected.npy")));
    assert_eq!((&actual.shape, actual.fortran), (&expected.shape, true));
    assert_eq!(actual.elements.len(), 12 * 6 * 14);
    for (actual, expected) in actual.real().iter().zip(expected.real()) {
        assert!((actual - expected).abs() < 1e-12, "{actual} {expected}");
    }
}
