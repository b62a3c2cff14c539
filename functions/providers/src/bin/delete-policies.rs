//! Writes the generated delete policies into a folder: `delete-policies infra/policies`.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: delete-policies FOLDER");
        return ExitCode::from(2);
    };
    match write(Path::new(&folder)) {
        Ok(written) => {
            println!("{written} policies written to {folder}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path) -> std::io::Result<usize> {
    let policies = ebb_providers::policies();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "json") {
            std::fs::remove_file(path)?;
        }
    }
    for (name, policy) in &policies {
        let mut text = serde_json::to_string_pretty(policy)?;
        text.push('\n');
        std::fs::write(folder.join(format!("{name}.json")), text)?;
    }
    Ok(policies.len())
}
