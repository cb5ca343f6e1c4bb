// Charts: what was measured in the last five minutes.

const SAMPLES_MAX = 300; // one a second
const SAMPLES_MIN = 60; // that a chart has room for when it begins
const RATE_WINDOW_S = 3; // over which rates are taken
const HITS_WINDOW_S = 15; // over which hits are counted
let samples = [];

function takeSample({ status: now, stats: { cache } }) {
  if (cache === undefined) return;
  const t = performance.now() / 1000;
  const counts = { reused: now.tokens_reused, computed: now.tokens_prefilled,
    generated: now.tokens_generated };
  if (samples.length > 0 && counts.generated < samples.at(-1).counts.generated) samples = [];
  const before = (s) => samples.findLast((sample) => t - sample.t >= s) ?? samples[0];
  const sample = { t, counts, decode: 0, prefill: 0, hits: null, refault: cache.refault_share };
  if (samples.length > 0) {
    const recent = before(RATE_WINDOW_S);
    sample.decode = (counts.generated - recent.counts.generated) / (t - recent.t);
    sample.prefill = (counts.computed - recent.counts.computed) / (t - recent.t);
    const earlier = before(HITS_WINDOW_S).counts;
    const reused = counts.reused - earlier.reused;
    const all = reused + counts.computed - earlier.computed;
    sample.hits = all > 0 ? reused / all : null;
  }
  samples.push(sample);
  if (samples.length > SAMPLES_MAX) samples.shift();
}

// A line through what is known; where nothing is known it has a gap.
function path(values, top) {
  let text = '';
  let pen = 'M';
  values.forEach((value, i) => {
    if (value === null) {
      pen = 'M';
      return;
    }
    const room = Math.max(SAMPLES_MIN, values.length);
    const x = 600 - (values.length - 1 - i) * (600 / (room - 1));
    text += `${pen}${x.toFixed(1)} ${(100 - (value / top) * 100).toFixed(1)}`;
    pen = 'L';
  });
  return text;
}

function drawChart(id, lines, top, format) {
  const chart = at(id);
  if (chart.childElementCount === 0) {
    const svg = shape('svg', { viewBox: '0 0 600 100', preserveAspectRatio: 'none', role: 'img' });
    for (const y of [0, 50, 100]) {
      svg.append(shape('path', { class: 'grid', d: `M0 ${y}H600` }));
    }
    for (const name of Object.keys(lines)) {
      svg.append(shape('path', { class: `line ${lines[name].className}` }));
    }
    const axis = element('div', '', 'axis');
    axis.append(element('span'), element('span'), element('span', 'now'));
    const legend = element('ul', '', 'legend');
    for (const name of Object.keys(lines)) {
      const item = element('li');
      item.append(element('i', '', lines[name].className), element('span'));
      legend.append(item);
    }
    chart.append(svg, axis, legend);
  }
  const [svg, axis, legend] = chart.children;
  const shown = Math.max(SAMPLES_MIN, samples.length) * 1000;
  setText(axis.children[0], `${span(shown)} ago`);
  setText(axis.children[1], `0 to ${format(top)}`);
  Object.entries(lines).forEach(([name, { values }], i) => {
    svg.querySelectorAll('.line')[i].setAttribute('d', path(values, top));
    const latest = values.findLast((value) => value !== null) ?? 0;
    setText(legend.children[i].lastChild, `${name} ${format(latest)}`);
  });
  svg.setAttribute('aria-label', legend.textContent);
}

// The next of 1, 2, 5, 10, 20, … .
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 5, 10].map((n) => n * power).find((top) => top >= value);
}

function showCharts() {
  if (samples.length === 0) return;
  const of = (name) => samples.map((sample) => sample[name]);
  drawChart('rates', { generated: { className: 'a', values: of('decode') },
    'prompt tokens': { className: 'b', values: of('prefill') } },
  ceiling(Math.max(10, ...of('decode'), ...of('prefill'))), rate);
  const { thrashing, thrash_alarms: alarms } = status.stats.cache;
  setText(at('thrash-sum'), thrashing ? 'it thrashes now' : `thrash alarms: ${whole(alarms)}`);
  drawChart('hits', { 'prompt tokens reused': { className: 'a', values: of('hits') },
    'pages computed again': { className: 'b', values: of('refault') } }, 1, percent);
}
