//! The JSON columns. Floats are written and read back bit for bit; NaN and infinity, which JSON
//! does not have, are handled explicitly.

use groma_model::RoundResult;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Error, from_str, to_string};

/// The JSON of a value, checked to read back: a non-finite number in a place that needs a finite
/// one is refused now, not when the run is shown.
pub(crate) fn write_checked<T: Serialize + DeserializeOwned>(value: &T) -> Result<String, Error> {
    let text = to_string(value)?;
    from_str::<T>(&text)?;
    Ok(text)
}

/// Reads a round's result. Its numbers come from a worker and may have been NaN or infinite (for
/// example faults per touch without any touch). Such a number was written as null and is read back
/// as NaN.
pub fn read_result(text: &str) -> Result<RoundResult, Error> {
    from_str(text)
}
