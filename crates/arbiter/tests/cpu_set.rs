//! CPU sets against a plain set of numbers.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::BTreeSet;

use proptest::prelude::*;
use tenferro_arbiter::{CpuSet, Error};

fn numbers() -> impl Strategy<Value = BTreeSet<usize>> {
    prop::collection::btree_set(prop_oneof![0_usize..40, 60_usize..70, 4000_usize..4010], 0..24)
}

fn set(numbers: &BTreeSet<usize>) -> CpuSet {
    numbers.iter().copied().collect()
}

proptest! {
    #[test]
    fn set_operations_agree_with_plain_sets(a in numbers(), b in numbers(), cpu in 0_usize..80) {
        let (x, y) = (set(&a), set(&b));
        prop_assert_eq!(x.union(&y), set(&a.union(&b).copied().collect()));
        prop_assert_eq!(x.intersection(&y), set(&a.intersection(&b).copied().collect()));
        prop_assert_eq!(x.difference(&y), set(&a.difference(&b).copied().collect()));
        prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
        prop_assert_eq!(x.is_disjoint(&y), a.is_disjoint(&b));
        prop_assert_eq!((x.len(), x.is_empty()), (a.len(), a.is_empty()));
        prop_assert_eq!(x.contains(cpu), a.contains(&cpu));
        prop_assert_eq!(x.iter().collect::<Vec<_>>(), a.iter().copied().collect::<Vec<_>>());
        let mut grown = x.clone();
        grown.insert(cpu);
        prop_assert_eq!(grown, x.union(&CpuSet::from_iter([cpu])));
    }

    #[test]
    fn a_printed_set_reads_back(a in numbers()) {
        let x = set(&a);
        prop_assert_eq!(x.to_string().parse::<CpuSet>().unwrap(), x);
    }
}

#[test]
fn the_kernels_list_format_is_read_and_written() {
    for (text, printed, len) in [
        ("0-3,8", "0-3,8", 5),
        (" 5 , 1-2,2-4\n", "1-5", 5),
        ("7,6", "6-7", 2),
        ("", "", 0),
        ("0-4294967295", "0-4294967295", 1 << 32),
    ] {
        let set: CpuSet = text.parse().unwrap();
        assert_eq!((set.to_string().as_str(), set.len()), (printed, len), "{text:?}");
    }
    assert_eq!(format!("{:?}", CpuSet::first(3)), "CpuSet(0-2)");
    assert_eq!(CpuSet::first(0), CpuSet::new());
}

#[test]
fn a_text_that_is_no_list_is_refused_with_its_part() {
    for text in ["a", "1,,2", "3-1", "-1", "1-", "0x1", "18446744073709551615"] {
        let error = text.parse::<CpuSet>().unwrap_err();
        assert!(matches!(&error, Error::InvalidCpuList { text: t, .. } if t == text), "{error:?}");
    }
    let error = "0-2,five,7".parse::<CpuSet>().unwrap_err();
    insta::assert_snapshot!(error, @r#""0-2,five,7" is not a CPU list, because of "five": write it as in 0-3,8"#);
}
