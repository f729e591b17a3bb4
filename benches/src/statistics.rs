//! Medians, and ratios taken round by round.
//!
//! A ratio is taken within a round and the median over the rounds: a slow minute then slows
//! both sides of a ratio, and a disturbed sample spoils one ratio and not the result.

/// The median; of an even number of values, the mean of the middle two.
///
/// # Panics
/// If there are no values, or one is NaN.
pub(super) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// Half the distance between the quartiles: how far a typical round is from the median.
pub(super) fn spread(values: &[f64]) -> f64 {
    (quantile(values, 0.75) - quantile(values, 0.25)) / 2.0
}

/// The value below which the part `rank` of the values lies, interpolated between neighbours.
fn quantile(values: &[f64], rank: f64) -> f64 {
    assert!(!values.is_empty(), "a quantile of no values");
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("invariant: a time is not NaN"));
    let place = rank * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

/// The quotients of values of the same round.
pub(super) fn ratios(above: &[f64], below: &[f64]) -> Vec<f64> {
    assert_eq!(above.len(), below.len(), "both were sampled in every round");
    above.iter().zip(below).map(|(above, below)| above / below).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_middle_two() {
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
    }

    #[test]
    fn one_wild_round_does_not_move_the_spread() {
        let calm = [1.0, 2.0, 3.0, 4.0, 5.0];
        let wild = [1.0, 2.0, 3.0, 4.0, 5000.0];
        assert_eq!(spread(&calm), 1.0);
        assert_eq!(spread(&wild), 1.0);
    }

    #[test]
    fn ratios_belong_to_their_rounds() {
        // The machine was half as fast in the second round; the ratio is the same.
        let ours = [20.0, 40.0, 22.0];
        let limit = [10.0, 20.0, 10.0];
        assert_eq!(ratios(&ours, &limit), [2.0, 2.0, 2.2]);
        assert_eq!(median(&ratios(&ours, &limit)), 2.0);
    }
}
