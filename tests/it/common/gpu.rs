//! The device of the GPU tests, and the definition of population results in f64.

use crate::common::prelude::*;

/// One device for all tests, with the limits guaranteed by WebGPU, if there is an adapter.
pub fn context() -> Option<&'static GpuContext> {
    static CONTEXT: OnceLock<Result<GpuContext, String>> = OnceLock::new();
    let context = CONTEXT.get_or_init(|| {
        let context = GpuContext::with_default_limits(true);
        context.map_err(|error| error.to_string())
    });
    context.as_ref().inspect_err(|error| requirement::lack("gpu", error)).ok()
}
