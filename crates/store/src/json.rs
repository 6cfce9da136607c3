//! The JSON columns: floats are read back exactly as written, without NaN and infinity, which JSON
//! does not have.

use groma_model::RoundResult;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Error, Value, from_str, from_value, to_string};

/// The text of a value that can be read back: a required number that is not finite is refused now,
/// and not when the run is shown.
pub(crate) fn write_checked<T: Serialize + DeserializeOwned>(value: &T) -> Result<String, Error> {
    let text = to_string(value)?;
    from_str::<T>(&text)?;
    Ok(text)
}

/// Reads a round's result. Its numbers come from a worker and may have been NaN or infinite (faults
/// per touch of no touch at all); such a number was written as null, and comes back as NaN.
pub fn read_result(text: &str) -> Result<RoundResult, Error> {
    from_str(text).or_else(|_| {
        let mut json: Value = from_str(text)?;
        let values = take_nulls(&mut json, "series", |series| {
            series.get_mut("values").and_then(Value::as_array_mut).into_iter().flatten().collect()
        });
        let scales = take_nulls(&mut json, "series", |series| series.get_mut("per_iter").into_iter().collect());
        let seen = take_nulls(&mut json, "proofs", |proof| proof.get_mut("seen").into_iter().collect());

        let mut result: RoundResult = from_value(json)?;
        values.iter().for_each(|&(i, j)| result.output.series[i].values[j] = f64::NAN);
        scales.iter().for_each(|&(i, _)| result.output.series[i].per_iter = f64::NAN);
        seen.iter().for_each(|&(i, _)| result.output.proofs[i].seen = f64::NAN);
        Ok(result)
    })
}

/// Puts 0 in place of each null among the chosen slots of each item of `json[list]`; returns item
/// and slot of each.
fn take_nulls(json: &mut Value, list: &str, slots: impl Fn(&mut Value) -> Vec<&mut Value>) -> Vec<(usize, usize)> {
    let mut taken = Vec::new();
    let items = json.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
    for (i, item) in items.enumerate() {
        for (j, slot) in slots(item).into_iter().enumerate() {
            if slot.is_null() {
                *slot = Value::from(0.0);
                taken.push((i, j));
            }
        }
    }
    taken
}
