//! Sums under the errors that WGSL allows. Drivers may compute exponentials, logarithms, powers and quotients a few
//! units off, flush denormal numbers to 0, and fuse multiplications with additions; lavapipe does little of this.
//! Here the source of the loss kernel is rewritten to do all of it, as far as the specification allows, and runs on
//! real positions.

use crate::common::gpu::context;
use crate::common::prelude::*;
use gputexel::devices::positions;
use gputexel::evaluator::gpu::kernels::{kappa, pack_unit_row};
use gputexel::evaluator::reference::reference;
use gputexel::gpu::buffers::{GrowingBuffer, OUTPUT, Readback, UNIFORM};
use gputexel::gpu::meter::{Gpu, whole};
use gputexel::gpu::{GpuContext, KernelSource};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Errors {
    None,
    /// Of varying size and sign, by the bits of the argument.
    Scattered,
    Upward,
    Downward,
}

/// Functions with the errors of the specification's table (WGSL, accuracy of expressions), on numbers scattered by a
/// hash of the argument.
const FUNCTIONS: &str = "
fn error_of(a: f32, b: f32) -> f32 {
    var h = bitcast<u32>(a) * 0x9e3779b1u ^ bitcast<u32>(b) * 0x85ebca77u;
    h = (h ^ (h >> 15u)) * 0x2c1b3c6du;
    h = h ^ (h >> 13u);
    let scattered = f32(h & 0xffffu) / 32767.5 - 1.0;
    return select(DIRECTION, scattered, DIRECTION == 0.0);
}
fn flushed(value: f32) -> f32 {
    return select(value, 0.0, abs(value) < 1.1754943508222875e-38);
}
// 3 + 2 |x| units in the last place.
fn allowed_exp2(x: f32) -> f32 {
    let y = exp2(x);
    return flushed(y + y * error_of(x, 1.0) * (3.0 + 2.0 * abs(x)) * 1.1920929e-7);
}
// 2^-21 between 0.5 and 2, else 3 units.
fn allowed_log(x: f32) -> f32 {
    let y = log(x);
    let near = x >= 0.5 && x <= 2.0;
    return flushed(y + error_of(x, 2.0) * select(3.0 * 1.1920929e-7 * abs(y), 4.76837158203125e-7, near));
}
// 2.5 units.
fn allowed_quotient(a: f32, b: f32) -> f32 {
    let y = a / b;
    return flushed(y + y * error_of(a, b) * 2.5 * 1.1920929e-7);
}
// exp2(b * log2(a)), whose errors it inherits.
fn allowed_pow(a: f32, b: f32) -> f32 {
    let near = a >= 0.5 && a <= 2.0;
    let l = log2(a);
    let log = l + error_of(a, 3.0) * select(3.0 * 1.1920929e-7 * abs(l), 4.76837158203125e-7, near);
    let y = exp2(b * log);
    return flushed(y + y * error_of(b * log, 4.0) * (3.0 + 2.0 * abs(b * log)) * 1.1920929e-7);
}
";

/// Returns the source with those errors. Each replacement must match, so that none is lost when kernels change.
fn rewritten(source: &str, errors: Errors) -> String {
    let direction = match errors {
        Errors::None => return source.to_string(),
        Errors::Scattered => "0.0",
        Errors::Upward => "1.0",
        Errors::Downward => "-1.0",
    };
    let mut text = source.to_string();
    let mut replace = |pattern: &str, with: &str| {
        let regex = regex::Regex::new(pattern).unwrap();
        assert!(regex.is_match(&text), "{pattern} is nowhere in the kernel");
        text = regex.replace_all(&text, with).into_owned();
    };
    replace(r"\bexp2\(", "allowed_exp2(");
    replace(r"\blog\(", "allowed_log(");
    replace(r"\bpow\(", "allowed_pow(");
    replace(r"Real\(1\.0\) / \(Real\(1\.0\) \+ odds\)", "allowed_quotient(1.0, 1.0 + odds)");
    replace(r"sum \+= (factor_of\([^;]*?\)) \* (table_at\([^;]*\));", "sum = fma($1, $2, sum);");
    replace(
        r"let difference = p \* \(\(Real\(1\.0\) - y\) - odds \* y\);",
        "let difference = flushed(p * fma(-odds, y, 1.0 - y));",
    );
    replace(r"let dp = (p \* \(odds \* p\));", "let dp = flushed($1);");
    replace(r"sum \+= weight \* (outcome\([^;]*\)\.loss);", "sum = fma(weight, $1, sum);");
    format!("const DIRECTION = {direction};\n{FUNCTIONS}{text}")
}

/// Returns the mean loss of a θ by the loss kernel, one member at a time, on rows of ±1.
fn loss(context: &GpuContext, layout: &Layout, theta: &[f64], k: f64, loss: u32, errors: Errors) -> f64 {
    let features = layout.features();
    let (mut places, mut rows, mut segments) = (Vec::new(), Vec::new(), Vec::new());
    let mut tables: Vec<f32> = Vec::new();
    for (taper, bucket) in layout.buckets().iter().enumerate() {
        let units = [bucket.mg_units, bucket.eg_units].map(f64::from);
        let value = |f: usize| (units[0] * theta[f] + units[1] * theta[features + f]) as f32;
        tables.extend((0..features).map(value));
        // Segments of many positions, as in large datasets.
        for first in bucket.positions.clone().step_by(2048) {
            let end = (first + 2048).min(bucket.positions.end);
            let (first, end) = (first as u32, end as u32);
            segments.push(Segment { first, end, block: 0, taper: taper as u32, part: 0 });
        }
    }
    for shape in layout.shapes_in(0..layout.positions()) {
        let length = shape.row_length();
        for (i, n) in shape.positions.clone().enumerate() {
            let counts = shape.plus as u32 | (shape.minus as u32) << 16;
            places.extend([rows.len() as u32 / 2, counts, layout.targets()[n].to_bits(), 1f32.to_bits()]);
            let ids = &layout.ids()[shape.first_entry + i * length..][..length];
            pack_unit_row(ids, shape.plus, &mut rows);
        }
    }
    let member_rows = tables.len() as u32;
    tables.extend([kappa(k, layout.phase_max()), 0.0, 0.0, 0.0]);
    let uniforms = Uniforms {
        features: features as u32,
        stride: 1,
        columns: 1,
        chunk: 1,
        member_rows,
        segments: segments.len() as u32,
        total_segments: segments.len() as u32,
        power: 2.5,
        ..Uniforms::default()
    };
    let variant = Variant::new(Kernel::Loss, 1, loss, Shape { unit: true, ..Shape::default() });
    let source = rewritten(&Kernel::Loss.source(variant.shape), errors);
    let gpu = Gpu::new(&context.clone().with_shader_checks(true), None);
    let kernel = KernelSource { name: "loss", source: &source, constants: &variant.constants() };
    // SAFETY: everything is checked.
    let pipeline = unsafe { gpu.trusted_pipeline(&kernel) }.unwrap();
    let mut sizes = GrowingBuffer::new("uniforms", UNIFORM);
    let sizes = sizes.fill(&gpu, bytemuck::bytes_of(&uniforms)).unwrap();
    let upload = |bytes: &[u8]| gpu.upload("data", bytes).unwrap();
    let inputs = [
        upload(bytemuck::cast_slice(&segments)),
        upload(bytemuck::cast_slice(&places)),
        upload(bytemuck::cast_slice(&rows)),
        upload(bytemuck::cast_slice(&tables)),
    ];
    let mut losses = GrowingBuffer::new("losses", OUTPUT);
    let bytes = 4 * segments.len() as u64;
    let losses = losses.reserve(&gpu, bytes).unwrap();
    let mut bindings = vec![whole(&sizes)];
    bindings.extend(inputs.iter().map(|buffer| whole(buffer.raw())));
    bindings.push(whole(&losses));
    let mut encoder = gpu.encoder();
    gpu.dispatch(&mut encoder, &pipeline, &bindings, [segments.len() as u32, 1]).unwrap();
    let mut readback = Readback::default();
    readback.begin(&gpu, bytes).unwrap();
    readback.push(&mut encoder, &losses, 0, bytes);
    let submission = gpu.submit(Some(encoder)).unwrap();
    let sum = readback
        .finish(&gpu, submission, |sums: &[f32]| sums.iter().map(|&sum| f64::from(sum)).sum::<f64>())
        .unwrap();
    sum / layout.positions() as f64
}

#[test]
fn losses_tolerate_errors_allowed_by_wgsl() {
    let Some(context) = context() else { return };
    let sample = positions::piece_squares().unwrap();
    let layout = Layout::whole(&sample.data).unwrap();
    // Fractions, and small shares of large values.
    let theta: Vec<f64> = sample
        .theta
        .iter()
        .enumerate()
        .map(|(i, v)| f64::from((v + (i % 29) as f64 * 0.37 - 5.0) as f32))
        .collect();
    let kinds = [LossKind::Squared, LossKind::CrossEntropy, LossKind::Power(2.5)];
    for (number, kind) in (0..).zip(kinds) {
        for k in [0.3, 0.8] {
            let population = Population::single(&theta, k);
            let request = Request { parts: 0..1, loss: kind, gradients: false, curvature: false };
            let wanted = reference(&sample.data, &layout, &population, &request).losses[0];
            let error = |errors| {
                let got = loss(context, &layout, &theta, k, number, errors);
                (got - wanted).abs() / wanted
            };
            let plain = error(Errors::None);
            assert!(plain < 2e-7, "{kind}, K {k}: {plain:e} as it is");
            let scattered = error(Errors::Scattered);
            assert!(scattered < 1e-6, "{kind}, K {k}: {scattered:e} with scattered errors");
            // The bound of `devices --check`.
            let worst = error(Errors::Upward).max(error(Errors::Downward));
            assert!(worst < 1e-5, "{kind}, K {k}: {worst:e} with all errors one way");
            assert!(worst > plain, "{kind}, K {k}: errors make no difference");
            eprintln!("{kind}, K {k}: {plain:.1e}, scattered {scattered:.1e}, one way {worst:.1e}");
        }
    }
}
