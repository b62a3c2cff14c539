//! Prints how each type of the catalogue goes away, one JSON object per line, and writes the page about it: `types docs/supported-types.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: types FILE");
        return ExitCode::from(2);
    };
    match write(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(path: &str) -> std::io::Result<()> {
    let rows = ebb_providers::supported()?;
    for row in &rows {
        println!("{}", serde_json::to_string(row)?);
    }
    std::fs::write(path, ebb_providers::supported_page(&rows))
}
