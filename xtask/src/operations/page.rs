//! The page that is made of the rows.

use super::row::{Family, Row};

/// What classes of dtypes are called: the variants of `Accepts`.
const CLASSES: &[(&str, &str)] = &[
    ("Any", "all"),
    ("Number", "all but bool"),
    ("Real", "integers, real floats"),
    ("Ordered", "all but complex"),
    ("Inexact", "floats, complex"),
    ("Float", "real floats"),
    ("Component", "f64, f32"),
    ("Integer", "integers"),
    ("Bits", "integers, bool"),
    ("Boolean", "bool"),
];

/// What types of results are called: the associated types of `Operate`.
const RESULTS: &[(&str, &str)] = &[
    ("Same", "that of"),
    ("Real", "that of magnitudes of"),
    ("Complex", "complex numbers of"),
    ("Truth", "bool"),
    ("Index", "i64"),
];

const HEAD: &str = "# Operations

Written by `cargo xtask operations` from the vocabulary table, `crates/tensor/src/table.rs`, and the table of composites,
`crates/ops/src/composite/mod.rs`. Change those, not this page.

All operations are methods of every engine, backend and session, through the trait of their family. Dtypes are never
promoted: operands of one operation have one dtype, and `convert` makes another. Any strided view is an operand as it
is. What a dtype has no meaning for is refused in the name of the operation and the dtype. What libraries disagree
about is decided in the text of the operation.

| Dtypes        |                                                                |
|---------------|----------------------------------------------------------------|
| real floats   | f64, f32, f16, bf16                                            |
| complex       | c64 (two f64), c32 (two f32)                                   |
| integers      | i8, i16, i32, i64, u8, u16, u32, u64                           |
| bool          | bool                                                           |
";

/// The text of the page.
///
/// # Errors
/// A sentence about a class of dtypes or a type of result that has no words here.
pub(super) fn page(families: &[Family], composites: &[Row]) -> Result<String, String> {
    let mut text = HEAD.to_owned();
    for family in families {
        text.push_str(&format!("\n## {}\n\n`{}`. {}\n\n", family.name, family.owner, family.about));
        text.push_str(
            "| Operation | Dtypes | Dtype of the result | Meaning |\n|---|---|---|---|\n",
        );
        for row in &family.rows {
            let accepts = row.accepts.as_deref().unwrap_or_default();
            let class = words(CLASSES, accepts, &row.method)?;
            let cells = [signature(row), class.to_owned(), result(row)?, meaning(row)];
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
    }
    text.push_str(
        "\n## Composites\n\n`TensorComposite`. Functions of the primitives above, which autodiff and programs share.\n\n",
    );
    text.push_str("| Operation | Dtype of the result | Meaning |\n|---|---|---|\n");
    for row in composites {
        text.push_str(&format!(
            "| {} |\n",
            [signature(row), result(row)?, meaning(row)].join(" | ")
        ));
    }
    text.push_str(LISTS);
    Ok(text)
}

/// Composites of lists of tensors, which have no row.
const LISTS: &str =
    "\nBesides, `stack(parts, axis)` puts tensors side by side along a new axis, and
`split(x, axis, extents)` cuts one into parts. What NumPy calls `where` is `select`.
";

/// A call as it is written.
fn signature(row: &Row) -> String {
    let operands = row.operands.iter().map(|operand| match operand.strip_prefix("many ") {
        Some(many) => format!("{many}.."),
        None => operand.clone(),
    });
    let parameters = row.parameters.iter().map(|(name, kind)| format!("{name}: {kind}"));
    let all: Vec<String> = operands.chain(parameters).collect();
    format!("`{}({})`", row.method, all.join(", "))
}

/// The dtype of the result in words.
fn result(row: &Row) -> Result<String, String> {
    let Some((_, kind)) = row.result.split_once("::").filter(|_| !row.result.contains("$crate"))
    else {
        return Ok("that of the parameter".to_owned());
    };
    let words = words(RESULTS, kind, &row.method)?;
    if !words.ends_with(" of") {
        return Ok(words.to_owned());
    }
    // A type is named as its operand, but for its case.
    let owner = row.result.split("::").next().unwrap_or_default().to_lowercase();
    let bare = |operand: &String| operand.trim_start_matches("many ").replace('_', "");
    let operand = row.operands.iter().find(|operand| bare(operand) == owner);
    Ok(format!(
        "{words} `{}`",
        operand.map_or(&row.operands[0], |name| name).trim_start_matches("many ")
    ))
}

/// The documentation as one cell.
fn meaning(row: &Row) -> String {
    row.about.replace("\n\n", "<br>").replace('|', "\\|")
}

fn words<'w>(list: &[(&str, &'w str)], name: &str, method: &str) -> Result<&'w str, String> {
    let found = list.iter().find(|(entry, _)| *entry == name);
    found.map(|(_, words)| *words).ok_or_else(|| {
        format!("`{method}`: `{name}` has no words yet; add them in xtask/src/operations/page.rs")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(result: &str, accepts: &str) -> Row {
        Row {
            method: "add".into(),
            operands: vec!["lhs".into(), "on_true".into()],
            parameters: vec![("ties".into(), "Ties".into())],
            result: result.into(),
            accepts: Some(accepts.into()),
            about: "One |x|.\n\nTwo.".into(),
        }
    }

    #[test]
    fn a_row_says_what_it_takes_and_gives() {
        let row = row("OnTrue::Same", "Number");
        assert_eq!(signature(&row), "`add(lhs, on_true, ties: Ties)`");
        assert_eq!(result(&row).unwrap(), "that of `on_true`");
        assert_eq!(meaning(&row), "One \\|x\\|.<br>Two.");
    }

    #[test]
    fn a_class_without_words_is_said() {
        let family = |accepts| Family {
            name: "F".into(),
            owner: "T".into(),
            about: "A.".into(),
            rows: vec![row("$crate::Tensor", accepts)],
        };
        assert!(page(&[family("Any")], &[]).unwrap().contains("that of the parameter"));
        assert!(page(&[family("Odd")], &[]).unwrap_err().contains("`Odd` has no words"));
    }
}
