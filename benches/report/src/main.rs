//! Makes `docs/performance.md` and its plots from the rows that the suites recorded.
//!
//! `report page DOCS` reads the rows in `DOCS/performance` and writes `DOCS/performance.md`;
//! `report machine DOCS` notes the machine that the rows were measured on. Nothing on the page is
//! written by hand but `DOCS/performance/build-time.md`, which is included if it is there.

#![forbid(unsafe_code)]

mod case;
mod count;
mod machine;
mod page;
mod plot;
mod target;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done: Result<(), Box<dyn Error>> = match words[..] {
        ["page", docs] => page::write(Path::new(docs)),
        ["machine", docs] => machine::write(Path::new(docs)),
        _ => Err("usage: report page|machine DOCS".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("report: {error}");
            ExitCode::from(2)
        }
    }
}
