//! The JSON columns: written and read back without losing a bit of a float, and without NaN or infinity, which JSON
//! does not have.

use groma_model::RoundResult;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Error, from_str, to_string};

/// The text of a value that is known to read back: a number that is not finite, where one is needed, is refused now
/// and not when somebody wants to see the run.
pub(crate) fn write_checked<T: Serialize + DeserializeOwned>(value: &T) -> Result<String, Error> {
    let text = to_string(value)?;
    from_str::<T>(&text)?;
    Ok(text)
}

/// Reads a round's result. Its numbers come from a worker and may have been NaN or infinite (faults per touch of no
/// touch at all); such a number was written as null, and comes back as NaN.
pub fn read_result(text: &str) -> Result<RoundResult, Error> {
    from_str(text)
}
