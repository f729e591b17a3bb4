//! How long each part of a run took.

use std::time::{Duration, Instant};

use super::super::step::Failure;

/// The parts that have ended, in order.
#[derive(Debug, Default)]
pub(super) struct Timetable {
    rows: Vec<(String, Duration, Outcome)>,
    printed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Green,
    Red,
}

impl Timetable {
    /// Runs `part` and notes its time and outcome.
    pub(super) fn time(
        &mut self,
        name: &str,
        part: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let start = Instant::now();
        let result = part();
        let outcome = if result.is_ok() { Outcome::Green } else { Outcome::Red };
        let took = start.elapsed();
        eprintln!("-- {name}: {} s", seconds(took));
        self.rows.push((name.to_owned(), took, outcome));
        result
    }

    /// Prints the table.
    pub(super) fn print(&mut self) {
        self.printed = true;
        eprint!("\n{}", self.text());
    }

    /// Prints the table unless that was done.
    pub(super) fn print_once(&mut self) {
        if !self.printed {
            self.print();
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, took, outcome) in &self.rows {
            let mark = if *outcome == Outcome::Red { "  RED" } else { "" };
            text.push_str(&format!("{name:<24}{:>8} s{mark}\n", seconds(*took)));
        }
        let total = self.rows.iter().map(|row| row.1).sum();
        text.push_str(&format!("{:<24}{:>8} s\n", "total", seconds(total)));
        text
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1}", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_red_part_is_marked_and_the_times_add_up() {
        let mut times = Timetable::default();
        times.rows.push(("fmt".to_owned(), Duration::from_millis(1500), Outcome::Green));
        times.rows.push(("clippy".to_owned(), Duration::from_secs(60), Outcome::Red));
        let rows: Vec<String> = times
            .text()
            .lines()
            .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(rows, ["fmt 1.5 s", "clippy 60.0 s RED", "total 61.5 s"]);
    }

    #[test]
    fn a_failure_passes_through_and_is_noted() {
        let mut times = Timetable::default();
        times.time("green", || Ok(())).unwrap();
        assert!(times.time("red", || Err(Failure::Red("no".to_owned()))).is_err());
        let outcomes: Vec<Outcome> = times.rows.iter().map(|row| row.2).collect();
        assert_eq!(outcomes, [Outcome::Green, Outcome::Red]);
    }
}
