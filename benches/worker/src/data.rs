//! The inputs of the suites: the same numbers for everyone, in whatever language.

/// `n` numbers spread evenly over `low..high` without order: multiples of the golden section.
///
/// Element `i` is `low + (high - low) * fract(i * 0.6180339887498949)`, in double precision.
pub fn scattered(n: usize, low: f64, high: f64) -> Vec<f64> {
    const SECTION: f64 = 0.618_033_988_749_894_9;
    (0..n).map(|at| low + (high - low) * (at as f64 * SECTION).fract()).collect()
}

/// A size in a case's name, such as `64` or `1e7`; `None` if it is none.
pub fn size(word: &str) -> Option<usize> {
    let number: f64 = word.parse().ok()?;
    let whole = number >= 0.0 && number.fract() == 0.0 && number <= 1e15;
    whole.then_some(number as usize)
}

/// The extents in a case's name, such as `1000x1000x10`; `None` if they are none.
pub fn extents(word: &str) -> Option<Vec<usize>> {
    word.split('x').map(size).collect()
}

/// The range on which the suite `elementwise` calls a function: where it does its whole work.
pub fn range(function: &str) -> (f64, f64) {
    match function {
        "exp" | "sin" => (-8.0, 8.0),
        "tanh" => (-4.0, 4.0),
        "erf" => (-3.0, 3.0),
        "log" => (0.001, 1000.0),
        _ => (-1000.0, 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_extents_read_back() {
        assert_eq!((size("64"), size("1e7"), size("0")), (Some(64), Some(10_000_000), Some(0)));
        assert_eq!(extents("10x1000x3"), Some(vec![10, 1000, 3]));
        for word in ["", "-1", "1.5", "inf", "nan", "f64", "1e99"] {
            assert_eq!(size(word), None, "{word}");
        }
        assert_eq!((extents("10x"), extents("axis")), (None, None));
    }

    #[test]
    fn scattered_numbers_fill_the_range_and_leave_it_nowhere() {
        let numbers = scattered(1000, -4.0, 4.0);
        assert!(numbers.iter().all(|x| (-4.0..4.0).contains(x)));
        for part in 0..8 {
            let low = -4.0 + f64::from(part);
            let inside = numbers.iter().filter(|x| (low..low + 1.0).contains(x)).count();
            assert!((115..=135).contains(&inside), "{inside} from {low}");
        }
    }
}
