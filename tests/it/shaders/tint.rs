//! Every source in Tint, the compiler of Chromium: another reader of WGSL than the one that the program uses.

use super::variants::all;
use crate::common::browser::chromium;
use crate::common::prelude::*;
use crate::common::webgpu::found;

/// Compiles all sources, and makes pipelines of the usual variants; sends what is said of either, by name.
const PAGE: &str = "<!DOCTYPE html><script type='application/json'>DATA</script><script>
(async () => {
  const { sources, pipelines } = JSON.parse(document.querySelector('script').textContent);
  const adapter = await navigator.gpu?.requestAdapter();
  const said = [];
  if (adapter) {
    const { maxComputeWorkgroupStorageSize } = adapter.limits;
    const device = await adapter.requestDevice({ requiredLimits: { maxComputeWorkgroupStorageSize } });
    const modules = sources.map(([, code]) => device.createShaderModule({ code }));
    for (const [i, module] of modules.entries()) {
      const { messages } = await module.getCompilationInfo();
      said.push(...messages.map(({ type, message, lineNum }) => [sources[i][0], `${type}: ${lineNum}: ${message}`]));
    }
    for (const [name, source, constants] of pipelines) {
      const compute = { module: modules[source], entryPoint: 'main', constants };
      await device.createComputePipelineAsync({ layout: 'auto', compute })
        .catch((error) => said.push([name, `pipeline: ${error.message}`]));
    }
  }
  fetch('/found', { method: 'POST', body: JSON.stringify({ there: Boolean(adapter), said }) });
})();
</script>";

#[test]
#[ignore = "full"]
fn tint_accepts_every_source_without_a_warning() {
    let Some(chromium) = chromium() else { return };
    let mut sources: Vec<(String, String)> = Vec::new();
    let mut pipelines = Vec::new();
    for variant in all() {
        let known = sources.iter().position(|(_, source)| *source == variant.source);
        let at = known.unwrap_or(sources.len());
        if known.is_none() {
            sources.push((variant.name.clone(), variant.source.clone()));
        }
        if variant.is_usual {
            let declared = |name: &str| variant.source.contains(&format!("override {name}:"));
            let constants: BTreeMap<_, _> =
                variant.constants.iter().copied().filter(|(name, _)| declared(name)).collect();
            pipelines.push((variant.kernel.clone(), at, constants));
        }
    }
    assert!(sources.len() > 100 && pipelines.len() == 16, "{} {}", sources.len(), pipelines.len());
    // It detects errors and warnings.
    let broken = sources[0].1.replacen("array<Real>", "array<Rea>", 1);
    sources.push(("broken".to_string(), broken));
    let data = json!({ "sources": sources, "pipelines": pipelines }).to_string().replace('<', "\\u003c");
    let found = found(&chromium, &[PAGE.replace("DATA", &data)]);
    if found["there"] == false {
        return requirement::lack("webgpu", "Chromium offers no adapter");
    }
    let said: Vec<(&str, &str)> =
        found["said"].list().iter().map(|one| (one[0].str(), one[1].str())).collect();
    assert!(said.iter().any(|(name, what)| *name == "broken" && what.starts_with("error: ")), "{said:?}");
    // Tables of 40 and 48 KiB, which evaluators use where there is room for them.
    let is_large =
        |(name, what): &(&str, &str)| name.ends_with(" staged") && what.contains("workgroup storage");
    let faults: Vec<_> = said.iter().filter(|one| one.0 != "broken" && !is_large(one)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}
