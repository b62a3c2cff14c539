//! Tables for people, flat JSON for machines.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

/// Prints the numbers of a measurement, one a line, and writes them to `bench/{name}.json` under the target directory.
pub fn report(name: &str, measured: &impl Serialize) -> Result<(), Box<dyn std::error::Error>> {
    let measured = serde_json::to_value(measured)?;
    println!("\n{name}");
    for (key, value) in measured.as_object().into_iter().flatten() {
        match value {
            Value::Array(rows) => rows.iter().for_each(|row| println!("  {}", line(row))),
            Value::Number(n) if n.is_f64() => println!("  {key:<32} {:>12.4}", n.as_f64().unwrap_or_default()),
            value => println!("  {key:<32} {value:>12}"),
        }
    }
    let folder = target()?.join("bench");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(format!("{name}.json")), serde_json::to_vec_pretty(&measured)?)?;
    Ok(())
}

fn line(row: &Value) -> String {
    let cell = |(key, value): (&String, &Value)| match value.as_f64() {
        Some(n) if value.is_f64() => format!("{key} {n:.3}"),
        _ => format!("{key} {}", value.to_string().trim_matches('"')),
    };
    row.as_object().into_iter().flatten().map(cell).collect::<Vec<_>>().join("  ")
}

/// The target directory in use: where this very program lies, in the folder of its profile.
fn target() -> std::io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    Ok(program.ancestors().nth(2).map_or_else(|| PathBuf::from("target"), PathBuf::from))
}
