//! `cargo xtask ci`: every check in stages, the cheapest first.
//!
//! A run stops at the first red stage. The times are printed before the last stage runs its
//! tests, because the test runner's totals must be the last lines of a whole run.

mod stages;
mod timetable;

use super::step::Failure;
use super::{Arguments, Command, Workspace};
use stages::{STAGES, Stage};
use timetable::Timetable;

pub(super) const COMMAND: Command = Command {
    name: "ci",
    arguments: "[--only STAGE | --from STAGE]",
    about: "run all checks, cheapest first, and stop at the first red one",
    details: || {
        let mut text = String::from("The stages, in order:\n\n");
        for stage in STAGES {
            text.push_str(&format!("  {:<10}{}\n", stage.name, stage.about));
        }
        text
    },
    run: |workspace, mut arguments| {
        let chosen = choose(&mut arguments)?;
        arguments.finish_alone()?;
        run(workspace, chosen)
    },
};

/// The stages that the command line asks for.
fn choose(arguments: &mut Arguments) -> Result<&'static [Stage], Failure> {
    let only = arguments.option("--only")?;
    let from = arguments.option("--from")?;
    match (only, from) {
        (None, None) => Ok(STAGES),
        (Some(name), None) => position(&name).map(|at| &STAGES[at..=at]),
        (None, Some(name)) => position(&name).map(|at| &STAGES[at..]),
        (Some(_), Some(_)) => {
            Err(Failure::Usage("`--only` and `--from` exclude each other".to_owned()))
        }
    }
}

fn position(name: &str) -> Result<usize, Failure> {
    STAGES.iter().position(|stage| stage.name == name).ok_or_else(|| {
        let names: Vec<&str> = STAGES.iter().map(|stage| stage.name).collect();
        Failure::Usage(format!("no stage is called `{name}`; there are {}", names.join(", ")))
    })
}

fn run(workspace: &Workspace, chosen: &[Stage]) -> Result<(), Failure> {
    let mut times = Timetable::default();
    for stage in chosen {
        eprintln!("\n== {}: {}", stage.name, stage.about);
        if let Err(failure) = (stage.run)(workspace, &mut times) {
            times.print();
            return Err(Failure::Red(format!("ci: stage `{}` is red: {failure}", stage.name)));
        }
    }
    times.print_once();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(line: &str) -> Result<Vec<&'static str>, Failure> {
        let words = line.split_whitespace().map(str::to_owned).collect();
        let stages = choose(&mut Arguments::new(words))?;
        Ok(stages.iter().map(|stage| stage.name).collect())
    }

    #[test]
    fn one_stage_or_the_rest_from_one_can_be_chosen() {
        assert_eq!(chosen("").unwrap().len(), STAGES.len());
        assert_eq!(chosen("--only tidy").unwrap(), ["tidy"]);
        assert_eq!(chosen("--from model").unwrap(), ["model", "providers", "test"]);
        assert!(chosen("--only nothing").is_err());
        assert!(chosen("--only tidy --from model").is_err());
    }

    #[test]
    fn the_tests_come_last() {
        assert_eq!(STAGES.last().map(|stage| stage.name), Some("test"));
    }
}
