//! Kinesis Data Streams.

use crate::registry::TypeDef;

pub(crate) const TYPES: &[TypeDef] = &[];
