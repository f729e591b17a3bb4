//! Patterns of permutation: the built-in ones, and those that a JSON file lists.
//!
//! The file holds `{"patterns": [{"id", "dtype", "shape", "perm", "src_layout"}, ..]}`; other fields
//! are ignored. Axis `k` of the result is axis `perm[k]` of the source. A layout is
//! `{"kind": "col_major"}` or `{"kind": "explicit_strides", "strides": [..]}`, strides in elements.

use std::path::Path;

use serde::Deserialize;

use tenferro_bench_worker::Movement;

use super::Error;

/// One permutation of an `f64` tensor's axes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// The case's name.
    pub case: String,
    /// The source's extents.
    pub shape: Vec<usize>,
    /// The source's strides in elements.
    pub strides: Vec<isize>,
    /// Axis `k` of the result is axis `permutation[k]` of the source.
    pub permutation: Vec<usize>,
}

impl Pattern {
    /// A pattern on a contiguous source, its case named `name/f64/extents`.
    pub fn new(name: &str, shape: &[usize], permutation: &[usize]) -> Self {
        let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
        Self {
            case: format!("{name}/f64/{}", extents.join("x")),
            shape: shape.to_vec(),
            strides: column_major(shape),
            permutation: permutation.to_vec(),
        }
    }

    /// How many elements are moved.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The result's extents.
    pub fn permuted(&self) -> Vec<usize> {
        self.permutation.iter().map(|&axis| self.shape[axis]).collect()
    }

    /// The pattern as peers in processes of their own are told of it.
    pub fn movement(&self) -> Movement {
        let Self { shape, strides, permutation, .. } = self.clone();
        Movement { shape, strides, permutation }
    }

    /// Reads the patterns of a file.
    ///
    /// # Errors
    /// [`Error::Patterns`] for a file that cannot be read or is no such list, [`Error::Pattern`] for
    /// a pattern that makes no sense.
    pub fn read(path: &Path) -> Result<Vec<Self>, Error> {
        let refused = |source| Error::Patterns { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(refused)?;
        let file: File = serde_json::from_str(&text).map_err(|error| refused(error.into()))?;
        file.patterns.into_iter().map(Self::check).collect()
    }

    fn check(entry: Entry) -> Result<Self, Error> {
        let Entry { id, dtype, shape, perm, src_layout } = entry;
        let contiguous = column_major(&shape);
        let strides = match src_layout {
            Layout::ColMajor => contiguous.clone(),
            Layout::ExplicitStrides { strides } => strides,
        };
        let sorted = |mut values: Vec<usize>| {
            values.sort_unstable();
            values
        };
        let problem = if dtype != "f64" {
            "its dtype is not f64"
        } else if sorted(perm.clone()) != (0..shape.len()).collect::<Vec<_>>() {
            "`perm` is no permutation of its axes"
        } else if !dense(&shape, &strides) {
            "its strides do not cover a block of memory once"
        } else {
            return Ok(Self { case: format!("pattern/{id}"), shape, strides, permutation: perm });
        };
        Err(Error::Pattern { id, problem })
    }
}

fn column_major(shape: &[usize]) -> Vec<isize> {
    let mut stride = 1;
    let advance = |&extent: &usize| {
        let own = stride;
        stride *= extent as isize;
        own
    };
    shape.iter().map(advance).collect()
}

/// Whether the strides are those of a contiguous tensor in some order of its axes.
fn dense(shape: &[usize], strides: &[isize]) -> bool {
    let mut axes: Vec<usize> = (0..shape.len()).filter(|&axis| shape[axis] != 1).collect();
    if strides.len() != shape.len() || shape.contains(&0) {
        return false;
    }
    axes.sort_unstable_by_key(|&axis| strides[axis]);
    let ordered: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
    column_major(&ordered).into_iter().eq(axes.iter().map(|&axis| strides[axis]))
}

#[derive(Deserialize)]
struct File {
    patterns: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    dtype: String,
    shape: Vec<usize>,
    perm: Vec<usize>,
    src_layout: Layout,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Layout {
    ColMajor,
    ExplicitStrides { strides: Vec<isize> },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entry: &str) -> Result<Pattern, Error> {
        Pattern::check(serde_json::from_str(entry).unwrap())
    }

    #[test]
    fn a_listed_pattern_is_read_with_its_strides() {
        let pattern = check(
            r#"{"id": "p", "label": "unused", "dtype": "f64", "shape": [2, 3, 4], "perm": [2, 0, 1],
                "src_layout": {"kind": "col_major"}, "dst_layout": {"kind": "col_major"}}"#,
        )
        .unwrap();
        assert_eq!(pattern.case, "pattern/p");
        assert_eq!((pattern.elements(), pattern.permuted()), (24, vec![4, 2, 3]));
        assert_eq!(pattern.strides, [1, 2, 6]);
        let scattered = check(
            r#"{"id": "p", "dtype": "f64", "shape": [2, 3, 4], "perm": [0, 1, 2],
                "src_layout": {"kind": "explicit_strides", "strides": [12, 1, 3]}}"#,
        );
        assert_eq!(scattered.unwrap().strides, [12, 1, 3]);
    }

    #[test]
    fn a_pattern_that_makes_no_sense_is_refused() {
        let entry = |dtype: &str, perm: &str, strides: &str| {
            check(&format!(
                r#"{{"id": "p", "dtype": "{dtype}", "shape": [2, 3], "perm": {perm},
                    "src_layout": {{"kind": "explicit_strides", "strides": {strides}}}}}"#
            ))
        };
        assert!(entry("f64", "[1, 0]", "[3, 1]").is_ok());
        let wrong = [
            ("f32", "[1, 0]", "[1, 2]"),
            ("f64", "[1, 1]", "[1, 2]"),
            ("f64", "[0]", "[1, 2]"),
            ("f64", "[1, 0]", "[1, 1]"),
            ("f64", "[1, 0]", "[1]"),
            ("f64", "[1, 0]", "[1, 4]"),
        ];
        for (dtype, perm, strides) in wrong {
            let found = entry(dtype, perm, strides);
            assert!(matches!(found, Err(Error::Pattern { .. })), "{dtype} {perm} {strides}");
        }
    }
}
