// A host for the kernels of gputexel in place of the program's: checks this device against f64, and measures it.
// Formats and bindings are those that the sources of the kernels describe; the order of calls is that of `eval::gpu`.
'use strict';
const $ = (id) => document.getElementById(id);
const data = JSON.parse($('data').textContent);
const [F, BUCKETS] = [data.features, data.buckets.length];
const PER_CP = data.k * Math.LN10 / 400; // x per centipawn
const BOUND = 1e-6; // relative
const CHUNK = 64; // segments that one thread of `reduce` adds
const GROUPS = 1024; // workgroups that fill a device
const REPEATS = 64; // of the positions, on devices that are fast enough
const NEEDED = {
  maxStorageBuffersPerShaderStage: 8, maxComputeInvocationsPerWorkgroup: 256, maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupStorageSize: 16384, maxStorageBufferBindingSize: 1 << 27, maxBufferSize: 1 << 27,
};
const LARGEST = 1 << 28; // bytes of a buffer, even if more is allowed
const up = (a, b) => Math.ceil(a / b);
const bits = (value) => new Uint32Array(new Float32Array([value]).buffer)[0];

// Parameter i of member m: around the prior, in eighths of a centipawn, which are exact in f32.
const moved = (m, i) => (Math.imul(i + 1, 0x9e3779b1) + Math.imul(m, 0x85ebca77) >>> 24) / 8 - 16;
const parameter = (m, i) => data.theta[i] + moved(m, i);

// The loss and its gradient under a theta, in f64 and from the rows as they are.
function reference(theta) {
  const gradient = new Float64Array(2 * F);
  let [loss, total, n, first] = [0, 0, 0, 0];
  for (const { mg_units, eg_units, shapes } of data.buckets) {
    const [mg, eg] = [mg_units / data.phase_max, eg_units / data.phase_max];
    for (const [count, plus, minus] of shapes) {
      for (let i = 0; i < count; i++, n++, first += plus + minus) {
        const ids = data.ids.slice(first, first + plus + minus);
        const sign = (at) => (at < plus ? 1 : -1);
        const score = ids.reduce((sum, id, at) => sum + sign(at) * (mg * theta[id] + eg * theta[F + id]), 0);
        const p = 1 / (1 + Math.exp(-PER_CP * score));
        const [weight, difference] = [data.weights[n], p - data.targets[n]];
        const slope = 2 * weight * difference * p * (1 - p) * PER_CP;
        total += weight;
        loss += weight * difference * difference;
        ids.forEach((id, at) => {
          gradient[id] += sign(at) * mg * slope;
          gradient[F + id] += sign(at) * eg * slope;
        });
      }
    }
  }
  return { loss: loss / total, gradient: gradient.map((value) => value / total) };
}

const references = new Map();
function wanted(member) {
  if (!references.has(member)) references.set(member, reference(data.theta.map((_, i) => parameter(member, i))));
  return references.get(member);
}

// A row: twos of both signs, then what is left with the upper half of 1 or -1.
function packRow(plus, minus, rows) {
  const shared = Math.min(plus.length, minus.length) & ~1;
  for (let i = 0; i < shared; i += 2) rows.push(plus[i] | plus[i + 1] << 16, minus[i] | minus[i + 1] << 16);
  rows.push(...plus.slice(shared).map((id) => id | 0x3f80 << 16), ...minus.slice(shared).map((id) => id | 0xbf80 << 16));
  if (rows.length % 2 === 1) rows.push(0);
}

// Positions and rows, see common.wgsl; all positions of a shape several times.
function pack(repeats) {
  const [places, rows, spans, starts] = [[], [], [], []];
  let [first, n, weight] = [0, 0, 0];
  data.buckets.forEach(({ shapes }, taper) => {
    const start = places.length / 4;
    for (const [count, plus, minus] of shapes) {
      const length = plus + minus;
      for (let i = 0; i < count * repeats; i++) {
        const own = n + i % count, from = first + i % count * length;
        places.push(rows.length / 2, plus | minus << 16, bits(data.targets[own]), bits(data.weights[own]));
        packRow(data.ids.slice(from, from + plus), data.ids.slice(from + plus, from + length), rows);
        starts.push(from);
        weight += data.weights[own];
      }
      [n, first] = [n + count, first + count * length];
    }
    spans.push({ taper, start, end: places.length / 4 });
  });
  const [count, arrays] = [places.length / 4, { places: Uint32Array.from(places), rows: Uint32Array.from(rows) }];
  return { ...arrays, starts, spans, weight, count };
}

// Runs and entries of blocks of positions, see gradient.wgsl.
function transpose({ places, starts, spans }, block) {
  const [heads, runs, words] = [[], [], []];
  for (const { start, end } of spans) {
    for (let first = start; first < end; first += block) {
      const lists = new Map();
      for (let n = first; n < Math.min(first + block, end); n++) {
        const plus = places[4 * n + 1] & 0xffff, count = plus + (places[4 * n + 1] >>> 16);
        for (let i = 0; i < count; i++) {
          const id = data.ids[starts[n] + i];
          if (!lists.has(id)) lists.set(id, []);
          lists.get(id).push(n - first | (i < plus ? 0x4000 : 0xc000));
        }
      }
      const begin = runs.length;
      for (const [id, list] of [...lists].sort((a, b) => b[1].length - a[1].length)) {
        runs.push([words.length, id | list.length << 16]);
        for (let i = 0; i < list.length; i += 2) words.push(list[i] | (list[i + 1] ?? 0) << 16);
      }
      heads.push([begin, runs.length]);
    }
  }
  const shifted = heads.map((range) => range.map((run) => run + heads.length));
  return [Uint32Array.from([...shifted, ...runs].flat()), Uint32Array.from(words)];
}

// Segments, see structs.wgsl: as many as fill the device, none of two buckets.
function segments({ spans, count }, tile, tiles, block, gradients) {
  const step = gradients ? block : 256 / up(tile, 4);
  const length = up(up(count, Math.max(1, Math.floor(GROUPS / tiles))), step) * step;
  const [all, state] = [[], { block: 0 }];
  for (const { taper, start, end } of spans) {
    for (let at = start; at < end; at += length) {
      all.push(at, Math.min(at + length, end), state.block + Math.floor((at - start) / block), taper, 0);
    }
    state.block += up(end - start, block);
  }
  return Uint32Array.from(all);
}

// Buffers and dispatches for the loss of all members, and the gradient if wanted.
class Evaluation {
  constructor(device, kind, set, members, gradients) {
    const kib = [48, 32, 16].find((kib) => kib << 10 <= device.limits.maxComputeWorkgroupStorageSize);
    const [tile, staged] = data.tiles[kind][kib][data.members.indexOf(members)][Number(gradients)];
    const block = data.variants[`gradient ${tile}`][1].BLOCK;
    Object.assign(this, { device, set, members, gradients, tile, block, buffers: [], pipelines: new Map() });
    this.segments = segments(set, tile, up(members, tile), block, gradients);
    this.count = this.segments.length / 5;
    // Every workgroup copies the table; a position takes about ten rows of it.
    this.staged = staged && 2 * set.count >= F * this.count;
    // What all members need in one buffer at most, in f32 for each.
    const sums = gradients ? F * Math.max(this.count, 2 * (1 + up(this.count, CHUNK))) : 0;
    const most = 4 * Math.max(BUCKETS * F + 4, 2 * F + 4, this.count, sums);
    const largest = Math.min(LARGEST, device.limits.maxStorageBufferBindingSize, device.limits.maxBufferSize);
    this.chunk = Math.min(up(members, tile), Math.floor(largest / most / tile)) * tile;
    if (this.chunk === 0) throw new Error(`maxStorageBufferBindingSize of ${largest} is too little for ${F} features`);
  }

  buffer(content, usage = 0) {
    const size = typeof content === 'number' ? content : content.byteLength;
    const own = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST | usage;
    const made = this.device.createBuffer({ size, usage: own, mappedAtCreation: size !== content });
    if (size !== content) {
      new Uint8Array(made.getMappedRange()).set(new Uint8Array(content.buffer));
      made.unmap();
    }
    this.buffers.push(made);
    return made;
  }

  async pipeline(kernel) {
    const walks = kernel === 'loss' || kernel === 'gradient';
    const [source, constants] = data.variants[`${kernel} ${this.tile}${walks && this.staged ? ' staged' : ''}`];
    const module = this.device.createShaderModule({ code: data.sources[source] });
    const compute = { module, entryPoint: 'main', constants };
    return this.device.createComputePipelineAsync({ layout: 'auto', compute });
  }

  async prepare() {
    const kernels = ['transpose', 'blend', ...(this.gradients ? ['gradient', 'reduce', 'total'] : ['loss'])];
    const made = await Promise.all(kernels.map((kernel) => this.pipeline(kernel)));
    kernels.forEach((kernel, i) => this.pipelines.set(kernel, made[i]));
    const shared = [this.segments, this.set.places, this.set.rows].map((array) => this.buffer(array));
    if (this.gradients) {
      shared.push(...transpose(this.set, this.block).map((array) => this.buffer(array)));
    }
    const tapers = data.buckets.flatMap(({ mg_units, eg_units }) => [mg_units, eg_units]);
    shared.push(this.buffer(Float32Array.from(tapers)));
    this.chunks = [];
    for (let first = 0; first < this.members; first += this.chunk) this.chunks.push(this.ofChunk(first, shared));
  }

  // The dispatches for members from `first` on: kernel, bindings and workgroups of each.
  ofChunk(first, [segments, places, rows, ...rest]) {
    const members = Math.min(this.chunk, this.members - first), padded = up(members, this.tile) * this.tile;
    const width = Math.min(this.tile, 4), stride = padded / width, tapers = rest.at(-1);
    const sizes = [stride, stride, CHUNK, BUCKETS * F * stride, F, 0, this.count, 0, this.count];
    const uniform = (numbers) => this.buffer(Uint32Array.from(numbers), GPUBufferUsage.UNIFORM);
    const uniforms = uniform([...sizes, bits(2)]);
    const of = (_, i) => parameter(first + Math.floor(i / 2 / F), i % (2 * F));
    const theta = this.buffer(Float32Array.from({ length: 2 * F * members }, of));
    const kappas = Float32Array.from({ length: padded }, (_, m) => (m < members ? -Math.LOG2E * PER_CP / data.phase_max : 0));
    const parameters = this.buffer(4 * (2 * F + 4) * padded), losses = this.buffer(4 * this.count * padded);
    const tables = this.buffer(4 * (BUCKETS * F + 4) * padded);
    this.device.queue.writeBuffer(parameters, 8 * F * padded, kappas);
    const grid = (reals) => Math.min(Math.max(up(reals, 256), 1), 65535);
    const steps = [
      ['transpose', [uniform([members, 2 * F, 2 * F, padded]), theta, parameters], [up(2 * F, 32), up(padded, 32)]],
      ['blend', [uniforms, parameters, tapers, tables], [grid(Math.max(F, 4) * stride), BUCKETS + 1]],
    ];
    const walk = [uniforms, segments, places, rows, tables, losses], groups = [this.count, padded / this.tile];
    if (!this.gradients) return { members, padded, losses, steps: this.bound([...steps, ['loss', walk, groups]]) };
    const slabs = this.buffer(4 * this.count * F * padded), totals = this.buffer(8 * F * padded);
    const partials = this.buffer(8 * F * padded * (1 + up(this.count, CHUNK)));
    const gradients = this.buffer(8 * F * members);
    steps.push(
      ['gradient', [...walk, rest[0], rest[1], slabs], groups],
      ['reduce', [uniforms, segments, slabs, tapers, partials, tables], [grid(F * stride), up(this.count, CHUNK)]],
      ['total', [uniforms, partials, totals], [grid(2 * F * stride), 1]],
      ['transpose', [uniform([2 * F, members, padded, 2 * F]), totals, gradients], [up(members, 32), up(2 * F, 32)]],
    );
    return { members, padded, losses, gradients, steps: this.bound(steps) };
  }

  bound(steps) {
    return steps.map(([kernel, buffers, groups]) => {
      const pipeline = this.pipelines.get(kernel);
      const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
      return [pipeline, this.device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }), groups];
    });
  }

  submit() {
    for (const { steps } of this.chunks) {
      const encoder = this.device.createCommandEncoder(), pass = encoder.beginComputePass();
      for (const [pipeline, bindings, groups] of steps) {
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, bindings);
        pass.dispatchWorkgroups(...groups);
      }
      pass.end();
      this.device.queue.submit([encoder.finish()]);
    }
  }

  // Seconds of an evaluation, the mean of some in a row.
  async time(times) {
    const begun = performance.now();
    for (let i = 0; i < times; i++) this.submit();
    await this.device.queue.onSubmittedWorkDone();
    return Math.max(performance.now() - begun, 1e-3) / 1000 / times;
  }

  async read(buffer) {
    const { MAP_READ, COPY_DST } = GPUBufferUsage;
    const copy = this.device.createBuffer({ size: buffer.size, usage: MAP_READ | COPY_DST });
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, copy, 0, buffer.size);
    this.device.queue.submit([encoder.finish()]);
    await copy.mapAsync(GPUMapMode.READ);
    const floats = new Float32Array(copy.getMappedRange().slice(0));
    copy.destroy();
    return floats;
  }

  // Largest relative error of losses, and of gradients by their largest component, of up to 16 members.
  async error() {
    this.submit();
    const errors = [];
    const chosen = Array.from({ length: Math.min(this.members, 16) }, (_, i) => Math.floor(i * this.members / 16));
    for (const [at, { members, padded, losses, gradients }] of this.chunks.entries()) {
      const sums = await this.read(losses), slopes = gradients && (await this.read(gradients));
      for (const member of new Set(chosen.map((member) => member - at * this.chunk))) {
        if (member < 0 || member >= members) continue;
        const right = wanted(member + at * this.chunk);
        let loss = 0;
        for (let segment = 0; segment < this.count; segment++) loss += sums[segment * padded + member];
        errors.push(Math.abs(loss / this.set.weight / right.loss - 1));
        if (!slopes) continue;
        const scale = PER_CP / data.phase_max / this.set.weight, most = Math.max(...right.gradient.map(Math.abs));
        right.gradient.forEach((g, i) => errors.push(Math.abs(slopes[member * 2 * F + i] * scale - g) / most));
      }
    }
    // Not a number is infinitely wrong.
    return errors.reduce((worst, error) => (error <= worst ? worst : error >= 0 ? error : Infinity), 0);
  }

  free() {
    this.buffers.forEach((buffer) => buffer.destroy());
  }
}
