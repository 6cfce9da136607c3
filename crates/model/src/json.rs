//! Numbers that JSON does not have: NaN and the infinities are written as null, and null is read as
//! NaN.

use serde::{Deserialize, Deserializer};

/// Reads a number, or null as NaN.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// Reads a list of numbers, and each null in it as NaN.
pub(crate) fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let numbers: Vec<Option<f64>> = Deserialize::deserialize(deserializer)?;
    Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}
