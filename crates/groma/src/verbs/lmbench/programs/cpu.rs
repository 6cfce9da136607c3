//! lat_ops, par_ops, mhz: what a core does.

use super::super::call::{Call, Outcome, Program};
use super::super::lines::nano;
use super::super::measure::{Want, point, points};
use super::{LOAD, load};

pub(in super::super) static PROGRAMS: &[Program] = &[
    Program {
        name: "lat_ops",
        usage: load!(""),
        letters: LOAD,
        prints: "integer bit: 0.28 nanoseconds, and add, mul, div, mod; int64, float, double, bogomflops",
        differs: "instructions in assembly, where there the compiler removes additions; bogomflops \
                  is an independent division, which bounds (1+x)(1.5-x)/x from below; -P makes a \
                  worker group for every line",
        native: "groma run cpu.operation (bogomflops: `cpu.operation.throughput` of f32.div and f64.div)",
        run: lat_ops,
    },
    Program {
        name: "par_ops",
        usage: "[-W microseconds] [-N repetitions]",
        letters: "W:N:",
        prints: "integer bit parallelism: 3.98, and so on, without bogomflops",
        differs: "the rate of independent instructions over that of dependent ones, instead of the \
                  best of 16 ratios",
        native: "groma run cpu.operation: `cpu.operation.parallelism`",
        run: par_ops,
    },
    Program {
        name: "mhz",
        usage: "[-c] [-d]",
        letters: "cd",
        prints: "on standard output 3697 MHz, 0.2705 nanosec clock, or with -c 0.2705",
        differs: "the median of all rounds; -d prints the rate of each round in MHz, as C, instead \
                  of nine loops' times",
        native: "groma run cpu.frequency --param class=integer",
        run: mhz,
    },
];

/// Labels and operations, in the order of the lines.
const OPERATIONS: [(&str, &str); 16] = [
    ("integer bit", "i32.xor"),
    ("integer add", "i32.add"),
    ("integer mul", "i32.mul"),
    ("integer div", "i32.div"),
    ("integer mod", "i32.mod"),
    ("int64 bit", "i64.xor"),
    ("int64 add", "i64.add"),
    ("int64 mul", "i64.mul"),
    ("int64 div", "i64.div"),
    ("int64 mod", "i64.mod"),
    ("float add", "f32.add"),
    ("float mul", "f32.mul"),
    ("float div", "f32.div"),
    ("double add", "f64.add"),
    ("double mul", "f64.mul"),
    ("double div", "f64.div"),
];

fn operations() -> Vec<Want> {
    OPERATIONS.iter().map(|(_, op)| Want::of("cpu.operation").with("op", op)).collect()
}

fn lat_ops(call: &mut Call<'_>) -> Outcome {
    call.at_most(0)?;
    for ((label, op), found) in OPERATIONS.iter().zip(points(call, &operations())?.found) {
        if let Some(seconds) = found.value(call, "") {
            call.line(nano(label, seconds));
        }
        // (1 + x) (1.5 - x) / x over a vector: its elements wait for no other, and its division
        // takes longer than the rest together, which other units do meanwhile.
        let vector = match *op {
            "f32.div" => "float bogomflops",
            "f64.div" => "double bogomflops",
            _ => continue,
        };
        if let Some(seconds) = found.value(call, "throughput") {
            call.line(nano(vector, seconds));
        }
    }
    Ok(())
}

fn par_ops(call: &mut Call<'_>) -> Outcome {
    call.at_most(0)?;
    for ((label, _), found) in OPERATIONS.iter().zip(points(call, &operations())?.found) {
        if let Some(ratio) = found.value(call, "parallelism") {
            call.line(Some(format!("{label} parallelism: {ratio:.2}")));
        }
    }
    Ok(())
}

fn mhz(call: &mut Call<'_>) -> Outcome {
    call.at_most(0)?;
    let found = point(call, Want::of("cpu.frequency").with("class", "integer"))?;
    let Some(hz) = found.value(call, "") else { return Ok(()) };
    let ns = 1e9 / hz;
    call.out(Some(if call.has('c') {
        format!("{ns:.4}")
    } else {
        format!("{:.0} MHz, {ns:.4} nanosec clock", hz / 1e6)
    }));
    if let Some(record) = found.record("").filter(|_| call.has('d')) {
        let rates: Vec<String> = record.round_values.iter().map(|hz| format!("{:.1}", hz / 1e6)).collect();
        call.out(Some(format!("double mhz[] = {{ {} }};", rates.join(", "))));
    }
    Ok(())
}
