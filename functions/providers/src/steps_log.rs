//! What the tests' steps and looks came to, for `make types`: type, outcome and test, a line each, appended to the file that
//! `EBB_STEPS_LOG` names. Without the variable nothing is written.

use std::fs::OpenOptions;
use std::io::Write;

use ebb_core::{DeleteError, ErrorClass, Look, Step};

pub(crate) fn step(resource_type: &str, answer: &Result<Step, DeleteError>) {
    write(
        resource_type,
        &match answer {
            Ok(Step::Gone { already: false, .. }) => "deleted".to_owned(),
            Ok(Step::Gone { already: true, .. }) => "already gone".to_owned(),
            Ok(Step::Pending { .. }) => "pending".to_owned(),
            Ok(Step::Skipped { code, .. }) => format!("skipped {}", code.name()),
            Err(error) if error.class == ErrorClass::AlreadyGone => "already gone".to_owned(),
            Err(error) => format!("error {}", error.code),
        },
    );
}

pub(crate) fn look(resource_type: &str, answer: &Result<Look, DeleteError>) {
    write(
        resource_type,
        &match answer {
            Ok(Look::Clear) => "clear".to_owned(),
            Ok(Look::Refuses { code, .. }) => format!("refuses {}", code.name()),
            Err(error) => format!("look error {}", error.code),
        },
    );
}

fn write(resource_type: &str, outcome: &str) {
    let Some(path) = std::env::var_os("EBB_STEPS_LOG") else { return };
    let thread = std::thread::current();
    let line = format!("{resource_type}\t{outcome}\t{}\n", thread.name().unwrap_or("?"));
    // In one write, so that tests beside this one do not get in between.
    OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(line.as_bytes()).unwrap();
}
