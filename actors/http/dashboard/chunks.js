// Chunks: what they are worth, and buttons that pin and delete them.

const CHUNKS_AT_ONCE = 100;
const SURE_MS = 4000; // a second click within it deletes
let chunks = { rows: new Map(), limit: CHUNKS_AT_ONCE, due: true };

function tier({ kv_state: state, kv_bytes: size, kv_disk_bytes: stored, kv_key: found }) {
  if (state === 'pending') return 'pending';
  const places = [size > 0 ? `memory, ${bytes(size)}` : '',
    stored > 0 ? `disk, ${bytes(stored)}` : ''].filter((place) => place !== '');
  if (places.length > 0) return places.join('; ');
  const keepsNone = status.stats.cache !== undefined && status.stats.disk === undefined;
  return found === null || keepsNone ? '–' : 'disk';
}

// Says what a change did beyond what its button says; '' if nothing.
function surprise({ id, gone, deleted, holders = [] }) {
  if (gone) return `${id} is deleted: only the pin had kept it.`;
  if (deleted !== false) return '';
  const held = holders.map(({ kind, label }) => (label === null ? kind : `${kind} ${label}`));
  return `${id} stays, because it is held by ${held.join(', ')}.`;
}

async function change(row, path, options) {
  row.querySelectorAll('button').forEach((button) => {
    button.disabled = true;
  });
  try {
    const answer = await ask(path, options);
    complain(surprise(await answer.json()));
  } catch (error) {
    complain(error.message);
  }
  await readChunks();
}

function chunkRow(id) {
  const row = element('tr');
  row.dataset.id = id;
  const [type, text, tokens, hits, age, expires, kv] =
    ['', 'text', 'n', 'n', 'n', 'n', ''].map((className) => element('td', '', className));
  const buttons = element('td', '', 'buttons');
  const pin = element('button', 'Pin');
  const remove = element('button', 'Delete');
  buttons.append(pin, remove);
  row.append(type, text, tokens, hits, age, expires, kv, buttons);
  const address = `v1/chunks/${encodeURIComponent(id)}`;
  pin.addEventListener('click', () => change(row, address,
    { method: 'PATCH', body: { pinned: pin.getAttribute('aria-pressed') !== 'true' } }));
  let sure = null;
  remove.addEventListener('click', () => {
    if (sure !== null) {
      clearTimeout(sure);
      change(row, address, { method: 'DELETE' });
      return;
    }
    remove.className = 'sure';
    remove.textContent = 'Sure?';
    sure = setTimeout(() => {
      sure = null;
      remove.className = '';
      remove.textContent = 'Delete';
    }, SURE_MS);
  });
  return { row, type, text, tokens, hits, age, expires, kv, pin, remove };
}

function fillChunk(shown, chunk) {
  const own = chunk.tenant === status.tenant;
  if (shown.type.childElementCount === 0) {
    shown.type.append(element('i', '', `type ${chunk.type.toLowerCase()}`),
      chunk.type.toLowerCase().replace('_', ' '), own ? '' : ` of ${chunk.tenant}`);
  }
  const name = chunk.name ?? '';
  if (shown.name !== name || shown.is !== chunk.text) {
    shown.name = name;
    shown.is = chunk.text;
    shown.text.replaceChildren(...(name === '' ? [] : [element('b', name)]), chunk.text);
    shown.text.title = chunk.text;
  }
  setText(shown.tokens, whole(chunk.tokens));
  setText(shown.hits, whole(chunk.hits));
  setText(shown.age, span(sinceUs(chunk.created_us)));
  setText(shown.expires, chunk.expires_us === 0 || chunk.pinned ? '–'
    : span(chunk.expires_us / 1000 - nowMs()));
  setText(shown.kv, tier(chunk));
  setText(shown.pin, chunk.pinned ? 'Unpin' : 'Pin');
  shown.pin.setAttribute('aria-pressed', String(chunk.pinned));
  shown.pin.disabled = !own;
  shown.remove.disabled = !own || chunk.pinned;
  shown.remove.title = chunk.pinned ? 'A pinned chunk is not deleted: unpin it first' : '';
}

// Rows stay as long as their chunks: who is about to click finds the button where it was.
async function readChunks() {
  chunks.due = false;
  const query = new URLSearchParams({ limit: chunks.limit });
  if (at('type').value !== '') query.set('type', at('type').value);
  const { data, has_more: more } = await get(`v1/chunks?${query}`);
  const before = chunks.rows;
  chunks.rows = new Map();
  for (const chunk of data) {
    const shown = before.get(chunk.id) ?? chunkRow(chunk.id);
    fillChunk(shown, chunk);
    chunks.rows.set(chunk.id, shown);
  }
  const rows = [...chunks.rows.values()].map(({ row }) => row);
  if (rows.length === 0) rows.push(emptyRow('None', 8));
  const body = at('chunks');
  const same = rows.length === body.childElementCount &&
    rows.every((row, i) => row === body.children[i]);
  if (!same) body.replaceChildren(...rows);
  setText(at('chunks-sum'), more ? `the newest ${whole(data.length)}` : whole(data.length));
  at('more').hidden = !more || chunks.limit >= 1000; // of one page
}

at('type').addEventListener('change', () => {
  chunks.limit = CHUNKS_AT_ONCE;
  readChunks().catch((error) => complain(error.message));
});
at('more').addEventListener('click', () => {
  chunks.limit = Math.min(1000, chunks.limit + 3 * CHUNKS_AT_ONCE);
  readChunks().catch((error) => complain(error.message));
});
