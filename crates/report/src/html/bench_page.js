// The page around the host: what it finds is shown cell by cell, and told in one line of JSON.
'use strict';
const quick = location.hash === '#quick'; // one evaluation a cell
const CELL = 0.25; // seconds that a cell takes at least, three times
const state = (name) => { document.documentElement.dataset.state = name; };
const tell = (text, verdict = '') => {
  $('status').textContent = text;
  $('verdict').className = `verdict ${verdict}`;
};
const rate = (r) => (r >= 1e9 ? `${(r / 1e9).toPrecision(3)} G` : `${(r / 1e6).toPrecision(3)} M`);
const computed = (gradients) => (gradients ? 'loss and gradient' : 'loss');
class Plain extends Error {} // a failure that its message explains
const lost = ({ reason, message }) =>
  `The device was lost in the middle (${[reason, message].filter(Boolean).join(': ')}): its driver stopped, or ended work `
  + 'that took too long. What was measured before is shown below.';

async function open() {
  if (!navigator.gpu) {
    const why = isSecureContext ? 'it may be switched off, or not there yet on this system' : 'pages need https for it';
    throw new Plain(`This browser has no WebGPU: ${why}. Nothing was measured.`);
  }
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) {
    throw new Plain('This browser has WebGPU, but offers no graphics card to it: graphics acceleration may be off in its settings, '
      + 'or the driver too old; on Linux, Chrome asks for chrome://flags/#enable-unsafe-webgpu. Nothing was measured.');
  }
  const lacks = Object.entries(NEEDED).filter(([name, least]) => !(adapter.limits[name] >= least));
  if (lacks.length > 0) {
    const list = lacks.map(([name, least]) => `${name} is ${adapter.limits[name]}, and the kernels need ${least}`);
    throw new Plain(`This adapter lacks a limit: ${list.join('; ')}. Nothing was measured.`);
  }
  const most = (name) => Math.max(NEEDED[name], Math.min(adapter.limits[name], LARGEST));
  const requiredLimits = { ...NEEDED, maxComputeWorkgroupStorageSize: adapter.limits.maxComputeWorkgroupStorageSize };
  for (const name of ['maxStorageBufferBindingSize', 'maxBufferSize']) requiredLimits[name] = most(name);
  const device = await adapter.requestDevice({ requiredLimits });
  const { vendor = '', architecture = '', device: model = '', description = '' } = adapter.info ?? {};
  const software = adapter.info?.isFallbackAdapter || ['swiftshader', 'llvmpipe'].includes(architecture);
  const kind = software ? 'software' : vendor in data.tiles ? vendor : 'other';
  return { device, kind, adapter: { vendor, architecture, device: model, description, software: Boolean(software) } };
}

async function prepared(opened, set, members, gradients) {
  const evaluation = new Evaluation(opened.device, opened.kind, set, members, gradients);
  await evaluation.prepare();
  return [evaluation, await evaluation.error()];
}

// Checks and measures a number of members.
async function cell(opened, sets, members, gradients) {
  let [evaluation, error] = await prepared(opened, sets(1), members, gradients);
  let seconds = await evaluation.time(1);
  if (!quick && seconds < CELL / REPEATS) {
    evaluation.free();
    const [larger, again] = await prepared(opened, sets(REPEATS), members, gradients);
    [evaluation, error] = [larger, Math.max(error, again)];
    seconds = await evaluation.time(1);
  }
  for (let i = 0; i < (quick ? 0 : 3); i++) {
    const times = Math.min(Math.max(Math.round(CELL / seconds), 1), 2000);
    seconds = Math.min(seconds, await evaluation.time(times));
  }
  evaluation.free();
  const { tile, staged, set } = evaluation;
  const pairs_per_second = Math.round(set.count * members / seconds);
  return { members, gradients, tile, staged, positions: set.count, seconds, pairs_per_second, error };
}

function draw(cells) {
  const fastest = Math.max(...cells.map((cell) => cell.pairs_per_second));
  for (const { members, gradients, pairs_per_second, error } of cells) {
    const at = `${members}-${Number(gradients)}`;
    $(`rate-${at}`).textContent = `${rate(pairs_per_second)}/s`;
    $(`bar-${at}`).style.width = `${Math.max(100 * pairs_per_second / fastest, 0.5)}%`;
    $(`error-${at}`).textContent = `${error.toExponential(1)} ${error <= BOUND ? '✓' : '✗'}`;
    $(`error-${at}`).className = error <= BOUND ? 'done' : 'open';
  }
}

async function everything(opened, cells) {
  const made = new Map();
  const sets = (repeats) => made.get(repeats) ?? made.set(repeats, pack(repeats)).get(repeats);
  const own = reference(data.theta), largest = Math.max(...own.gradient.map(Math.abs));
  if (!(Math.abs(own.loss / data.loss - 1) < 1e-9 && Math.abs(largest / data.gradient - 1) < 1e-9)) {
    throw new Plain(`In f64, the loss is ${own.loss} here, and ${data.loss} in gputexel: this page is damaged.`);
  }
  for (const members of data.members) {
    for (const gradients of [false, true]) {
      tell(`${members.toLocaleString('en')} members, ${computed(gradients)} …`);
      await new Promise((resolve) => { setTimeout(resolve); });
      cells.push(await cell(opened, sets, members, gradients));
      draw(cells);
    }
  }
}

async function run() {
  let opened;
  const cells = [];
  $('start').disabled = true;
  $('sending').hidden = true;
  state('running');
  try {
    opened = await open();
    const { vendor, architecture, description } = opened.adapter;
    const names = [...new Set([vendor, architecture, description])].filter(Boolean);
    $('adapter').textContent = names.join(', ') || 'unnamed';
    const gone = opened.device.lost.then((info) => { throw new Plain(lost(info)); });
    const refused = new Promise((_, reject) => {
      opened.device.onuncapturederror = ({ error }) => reject(new Plain(`The device refuses: ${error.message}`));
    });
    await Promise.race([everything(opened, cells), gone, refused]);
    const sound = cells.every(({ error }) => error <= BOUND);
    if (sound) tell('Sound: every loss and gradient is within 1e-6 of f64.', 'better');
    else tell('Wrong: an error exceeds 1e-6, see below.', 'worse');
    const { version: gputexel, features } = data;
    const [date, browser] = [new Date().toISOString().slice(0, 10), navigator.userAgent];
    const short = (value) => Number(Math.min(value, 1e9).toPrecision(3)); // infinity would become null
    const told = cells.map((cell) => ({ ...cell, seconds: short(cell.seconds), error: short(cell.error) }));
    const line = { gputexel, date, adapter: opened.adapter, browser, features, quick, sound, cells: told };
    $('line').textContent = JSON.stringify(line);
    $('sending').hidden = false;
    state('done');
  } catch (error) {
    // What fails on a lost device may be heard of first.
    const soon = new Promise((resolve) => { setTimeout(resolve, 500); });
    const info = !(error instanceof Plain) && opened && (await Promise.race([opened.device.lost, soon]));
    tell(info ? lost(info) : error instanceof Plain ? error.message : `It failed: ${error.message}`, 'worse');
    state('failed');
  }
  opened?.device.destroy();
  $('start').disabled = false;
}

$('start').onclick = run;
$('copy').onclick = async () => {
  try {
    await navigator.clipboard.writeText($('line').textContent);
    $('copied').textContent = 'copied';
  } catch {
    getSelection().selectAllChildren($('line'));
    $('copied').textContent = 'selected: copy it by the keyboard';
  }
};
state('ready');
if (['#run', '#quick'].includes(location.hash)) run();
