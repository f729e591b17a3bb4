//! One plot a suite: everyone's time over the limit's, a line of dots a case.
//!
//! The axis is logarithmic; the line at 1 is the limit.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

use super::case::Measured;

const LEFT: i32 = 300;
const WIDTH: i32 = 960;
const LINE: i32 = 18;
const TOP: i32 = 44;
const MARGIN: i32 = 30;

/// The colour of ours, and those of the peers in the order of their names' first appearance.
const OURS: RGBColor = RGBColor(200, 30, 30);
const COLOURS: [RGBColor; 8] = [
    RGBColor(31, 119, 180),
    RGBColor(44, 160, 44),
    RGBColor(255, 127, 14),
    RGBColor(148, 103, 189),
    RGBColor(140, 86, 75),
    RGBColor(227, 119, 194),
    RGBColor(127, 127, 127),
    RGBColor(23, 190, 207),
];

/// Draws the cases of a suite.
pub(super) fn draw(
    path: &Path,
    cases: &[&Measured<'_>],
    peers: &[&str],
) -> Result<(), Box<dyn Error>> {
    let lines = i32::try_from(cases.len())?;
    let height = TOP + lines * LINE + MARGIN;
    let size = (u32::try_from(WIDTH)?, u32::try_from(height)?);
    let area = SVGBackend::new(path, size).into_drawing_area();
    area.fill(&WHITE)?;
    let range = Range::of(cases);

    let text = |size: i32| ("sans-serif", size).into_font();
    let bottom = TOP + lines * LINE;
    for tick in range.ticks() {
        let x = range.place(tick);
        let colour = if tick == 1.0 { BLACK.mix(0.8) } else { BLACK.mix(0.15) };
        area.draw(&PathElement::new(vec![(x, TOP - 4), (x, bottom)], colour))?;
        area.draw(&Text::new(format!("{tick}"), (x - 6, bottom + 6), text(11)))?;
    }
    let end = format!("times the limit; dots at the edge lie beyond {}", Range::HIGHEST);
    area.draw(&Text::new(end, (LEFT, bottom + 18), text(10)))?;
    let mut x = 8;
    let names = std::iter::once(("ours", OURS)).chain(peers.iter().copied().zip(colours()));
    for (name, colour) in names {
        area.draw(&Circle::new((x + 4, 14), 4, colour.filled()))?;
        area.draw(&Text::new(name.to_owned(), (x + 12, 8), text(12)))?;
        x += 28 + 7 * i32::try_from(name.len())?;
    }
    for (case, line) in cases.iter().zip(0..) {
        let y = TOP + line * LINE + LINE / 2;
        let row = case.first();
        let name = format!("{} T{}", row.case, row.threads);
        area.draw(&Text::new(name, (8, y - 6), text(11)))?;
        for row in case.peers() {
            let at = peers.iter().position(|name| *name == row.peer).unwrap_or(0);
            let colour = colours().nth(at).unwrap_or(BLACK);
            let x = range.place(row.peer_ns / row.limit_ns);
            area.draw(&Circle::new((x, y), 4, colour.mix(0.8).filled()))?;
        }
        area.draw(&Circle::new((range.place(row.limit_ratio), y), 5, OURS.filled()))?;
    }
    area.present()?;
    Ok(())
}

fn colours() -> impl Iterator<Item = RGBColor> {
    COLOURS.into_iter().cycle()
}

/// The ends of the logarithmic axis.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    /// Dots beyond are drawn at the edge, so that one slow peer does not squeeze all others.
    const HIGHEST: f64 = 100.0;

    fn of(cases: &[&Measured<'_>]) -> Self {
        let mut range = Self { low: 0.5, high: 2.0 };
        for row in cases.iter().flat_map(|case| &case.rows) {
            for ratio in [row.limit_ratio, row.peer_ns / row.limit_ns] {
                range.low = range.low.min(ratio);
                range.high = range.high.max(ratio);
            }
        }
        Self { low: range.low.max(1.0 / Self::HIGHEST), high: range.high.min(Self::HIGHEST) }
    }

    fn place(&self, ratio: f64) -> i32 {
        let span = f64::from(WIDTH - LEFT - MARGIN);
        let part = (ratio.clamp(self.low, self.high) / self.low).ln() / (self.high / self.low).ln();
        LEFT + (part * span).round() as i32
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let steps = [0.01, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
        let Self { low, high } = *self;
        steps.into_iter().filter(move |tick| (low..=high).contains(tick))
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::row;
    use super::*;

    #[test]
    fn the_axis_holds_every_dot_up_to_its_end() {
        let rows = [row("a", 1, "x", [3.0, 1.0, 30.0]), row("b", 1, "x", [0.2, 1.0, 5000.0])];
        let cases = Measured::gather(&rows);
        let range = Range::of(&cases.iter().collect::<Vec<_>>());
        assert_eq!(range, Range { low: 0.2, high: 100.0 });
        assert_eq!(range.place(0.2), LEFT);
        assert_eq!(range.place(5000.0), WIDTH - MARGIN);
        assert!(range.place(1.0) > LEFT && range.place(1.0) < range.place(3.0));
    }
}
