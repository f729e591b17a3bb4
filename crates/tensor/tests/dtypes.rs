//! The dtype table and the numbers that adopt a dtype.

#![allow(clippy::unwrap_used, reason = "a test unwraps what it expects to be there")]

use tenferro_tensor::{Complex64, DType, Factor, Scalar, bf16, dispatch, f16};

#[test]
fn the_table_lists_every_dtype_with_its_size_and_class() {
    let rows: Vec<String> = DType::ALL
        .iter()
        .map(|dtype| {
            format!(
                "{dtype:<4} {:>2} {:<8} |x| {}",
                dtype.size(),
                format!("{:?}", dtype.class()),
                dtype.real()
            )
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @r"
    f64   8 Float    |x| f64
    f32   4 Float    |x| f32
    f16   2 Float    |x| f16
    bf16  2 Float    |x| bf16
    c32   8 Complex  |x| f32
    c64  16 Complex  |x| f64
    i8    1 Signed   |x| i8
    i16   2 Signed   |x| i16
    i32   4 Signed   |x| i32
    i64   8 Signed   |x| i64
    u8    1 Unsigned |x| u8
    u16   2 Unsigned |x| u16
    u32   4 Unsigned |x| u32
    u64   8 Unsigned |x| u64
    bool  1 Boolean  |x| bool
    ");
}

#[test]
fn dispatch_runs_for_the_dtypes_of_its_class_only() {
    let names = |picked: fn(DType) -> bool| -> String {
        let names: Vec<_> = DType::ALL.iter().filter(|d| picked(**d)).map(|d| d.name()).collect();
        names.join(" ")
    };
    insta::assert_snapshot!(names(|d| dispatch!(d, any T => T::DTYPE == d)), @"f64 f32 f16 bf16 c32 c64 i8 i16 i32 i64 u8 u16 u32 u64 bool");
    insta::assert_snapshot!(names(|d| dispatch!(d, number T => T::DTYPE == d, else false)), @"f64 f32 f16 bf16 c32 c64 i8 i16 i32 i64 u8 u16 u32 u64");
    insta::assert_snapshot!(names(|d| dispatch!(d, real T => T::DTYPE == d, else false)), @"f64 f32 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64");
    insta::assert_snapshot!(names(|d| dispatch!(d, inexact T => T::DTYPE == d, else false)), @"f64 f32 f16 bf16 c32 c64");
    insta::assert_snapshot!(names(|d| dispatch!(d, float T => T::DTYPE == d, else false)), @"f64 f32 f16 bf16");
    insta::assert_snapshot!(names(|d| dispatch!(d, complex T => T::DTYPE == d, else false)), @"c32 c64");
    insta::assert_snapshot!(names(|d| dispatch!(d, integer T => T::DTYPE == d, else false)), @"i8 i16 i32 i64 u8 u16 u32 u64");
}

#[test]
fn a_dtype_and_its_rust_type_agree() {
    for &dtype in DType::ALL {
        dispatch!(dtype, any T => {
            assert_eq!((T::DTYPE, size_of::<T>()), (dtype, dtype.size()));
            assert_eq!(<T as Scalar>::Real::DTYPE, dtype.real());
            assert_eq!(T::from_factor(Factor::ONE), Some(T::ONE));
            assert_eq!(T::from_factor(Factor::ZERO), Some(T::default()));
        });
    }
}

#[test]
fn a_factor_is_exact_or_refused() {
    assert_eq!(i8::from_factor(Factor::from(127)), Some(127));
    assert_eq!(i8::from_factor(Factor::from(128)), None);
    assert_eq!(u8::from_factor(Factor::from(-1)), None);
    assert_eq!(i32::from_factor(Factor::from(0.5)), None);
    assert_eq!(i32::from_factor(Factor::from(-3.0)), Some(-3));
    assert_eq!(i64::from_factor(Factor::from(9.2e18)), Some(9_200_000_000_000_000_000));
    assert_eq!(i64::from_factor(Factor::from(2.0_f64.powi(63))), None);
    assert_eq!(i64::from_factor(Factor::from(-2.0_f64.powi(63))), Some(i64::MIN));
    assert_eq!(u64::from_factor(Factor::from(2.0_f64.powi(63))), Some(1 << 63));
    assert_eq!(u64::from_factor(Factor::from(2.0_f64.powi(64))), None);
    assert_eq!(i64::from_factor(Factor::from(f64::INFINITY)), None);
    assert_eq!(i64::from_factor(Factor::from(f64::NAN)), None);
    assert_eq!(bool::from_factor(Factor::from(2)), None);
    assert_eq!(f64::from_factor(Factor::from(Complex64::new(1.0, 1.0))), None);
    assert_eq!(f64::from_factor(Factor::from(Complex64::new(1.5, 0.0))), Some(1.5));
    assert_eq!(f16::from_factor(Factor::from(1.0 / 3.0)), Some(f16::from_f64(1.0 / 3.0)));
    assert_eq!(bf16::from_factor(Factor::from(3)), Some(bf16::from_f32(3.0)));
    assert!(f64::from_factor(Factor::from(f64::NAN)).unwrap().is_nan());
}
