// The present state, and the clock that refreshes it.

const POLL_MS = 1000; // how often the daemon is asked

function tile(id, label, text) {
  let shown = at(id);
  if (shown === null) {
    shown = element('div', '', 'tile');
    shown.id = id;
    shown.append(element('b'), element('span', label));
    at('tiles').append(shown);
  }
  setText(shown.firstChild, text);
  setText(shown.lastChild, label);
}

function showTiles({ status: now, stats }) {
  const { cache } = stats;
  const sum = (name) => stats.groups.reduce((total, group) => total + group[name], 0);
  if (cache !== undefined) {
    const found = now.tokens_reused + now.tokens_prefilled;
    const latest = samples.at(-1);
    tile('t-running', 'requests running', whole(now.requests_running));
    tile('t-waiting', 'requests waiting', whole(now.requests_waiting));
    tile('t-decode', 'tokens/s generated', rate(latest?.decode ?? 0));
    tile('t-prefill', 'prompt tokens/s', rate(latest?.prefill ?? 0));
    tile('t-reused', 'of prompts reused', percent(found > 0 ? now.tokens_reused / found : 0));
    tile('t-saved', `tokens saved: about ${span((cache.saved_us ?? 0) / 1000)}, ` +
      bytes(cache.saved_bytes ?? 0), whole(cache.saved_tokens ?? 0));
    tile('t-memory', `of ${bytes(now.kv_bytes_max)} for KV`,
      percent(now.kv_bytes_max > 0 ? now.kv_bytes_used / now.kv_bytes_max : 0));
  }
  tile('t-chunks', 'chunks', whole(sum('chunks')));
  tile('t-hits', 'uses of chunks', whole(sum('hits')));
}

function showStatus() {
  const { status: now, stats, tenant } = status;
  const uptime = now.uptime_us === undefined ? '' : ` · up ${span(now.uptime_us / 1000)}`;
  setText(at('model'), `${now.model} · ${now.weight_type} · version ${now.version}${uptime}` +
    (tenant === 'local' ? '' : ` · tenant ${tenant}`));
  showState(now.state, now.state === 'serving' ? 'good' : 'bad');
  for (const panel of document.querySelectorAll('[data-whole]')) {
    panel.hidden = stats.cache === undefined;
  }
  complain((now.warnings ?? []).join(' '));
  showTiles(status);
  showMap(stats);
}

// The clock.

function askForKey(text) {
  at('main').hidden = true;
  at('key-form').hidden = false;
  showState('locked', 'bad');
  complain(key === '' ? '' : text);
  at('key').focus();
}

async function refresh() {
  status = await get('v1/status');
  at('main').hidden = false;
  takeSample(status);
  await readEvents();
  showStatus();
  showCharts();
  showRequests();
  // Ages grow by themselves.
  if (chunks.due || samples.length % 5 === 0) await readChunks();
}

async function run() {
  try {
    await refresh();
  } catch (error) {
    if (error instanceof Refused && error.code === 401) {
      askForKey(error.message);
      return; // goes on with a key
    }
    showState(error instanceof Refused ? 'not ready' : 'no answer', 'bad');
    complain(error instanceof Refused ? error.message : 'The daemon does not answer.');
  }
  setTimeout(run, POLL_MS);
}

at('key-form').addEventListener('submit', (submitted) => {
  submitted.preventDefault();
  key = at('key').value.trim();
  at('key').value = '';
  at('key-form').hidden = true;
  run();
});
run();
