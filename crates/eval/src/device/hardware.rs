//! Checks for a possible GPU without loading a driver.

/// Device files of GPUs on Linux: those of its graphics drivers, NVIDIA's, WSL's, Adreno's and Mali's.
const DEVICES: [&str; 5] = ["/dev/dri", "/dev/nvidiactl", "/dev/dxg", "/dev/kgsl-3d0", "/dev/mali0"];

/// Returns true if this machine may have a GPU. If it has none, looking for adapters would only load software drivers,
/// which take 45 MB of memory and some 50 ms.
///
/// Only checked on Linux; always true if variables of the Vulkan loader name drivers.
pub fn may_have_gpu() -> bool {
    let named = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"];
    !cfg!(target_os = "linux")
        || named.iter().any(|variable| std::env::var_os(variable).is_some_and(|value| !value.is_empty()))
        || DEVICES.iter().any(|path| std::path::Path::new(path).exists())
}
