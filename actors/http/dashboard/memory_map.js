// The memory map: cells in proportion to pages, of each group of chunks, of others, and free ones.

const CELLS = 480;
const TYPES = ['SYSTEM_PROMPT', 'CONTEXT', 'OUTPUT', 'QUERY'];
const TENANTS_SHOWN = 5; // that have borders of their own

function shares({ groups, cache, pages_of_tenant: own }) {
  const pageBytes = cache?.page_bytes ?? 0;
  const parts = groups.filter((group) => group.kv_bytes > 0).map((group) => ({
    type: group.type, tenant: group.tenant, size: group.kv_bytes,
    title: `${group.tenant} · ${group.type}: ${whole(group.chunks)} chunks, ` +
      `${whole(group.pinned)} pinned, ${bytes(group.kv_bytes)}, ` +
      `${bytes(group.kv_disk_bytes ?? 0)} on disk`,
  }));
  if (pageBytes === 0) {
    return { parts, total: parts.reduce((all, { size }) => all + size, 0), own };
  }
  // A page counts once in each group of chunks: together they have no more than there are.
  const used = cache.pages_used * pageBytes;
  const ofChunks = parts.reduce((all, { size }) => all + size, 0);
  if (ofChunks > used) for (const part of parts) part.size *= used / ofChunks;
  const rest = Math.max(0, used - ofChunks);
  parts.push({ type: 'other', tenant: '', size: rest,
    title: `pages that belong to no chunk: ${bytes(rest)}` });
  return { parts, total: cache.pages_max * pageBytes, own };
}

function tenantClass(tenant, tenants) {
  const place = tenants.indexOf(tenant);
  return place <= 0 ? '' : `tenant-${Math.min(place, TENANTS_SHOWN)}`;
}

function showMap(stats) {
  const { parts, total } = shares(stats);
  const tenants = [...new Set(['local', ...stats.groups.map(({ tenant }) => tenant)])];
  const cells = [];
  for (const part of parts) {
    const share = total > 0 ? part.size / total : 0;
    const count = part.size > 0 ? Math.max(1, Math.round(share * CELLS)) : 0;
    const className = `${part.type.toLowerCase()} ${tenantClass(part.tenant, tenants)}`.trim();
    for (let i = 0; i < count; ++i) cells.push({ className, title: part.title });
  }
  const map = at('map');
  while (map.childElementCount < CELLS) map.append(element('i'));
  [...map.children].forEach((cell, i) => {
    const { className, title } = cells[i] ?? { className: '', title: 'free' };
    if (cell.className !== className) cell.className = className;
    if (cell.title !== title) cell.title = title;
  });
  const { cache } = stats;
  setText(at('memory-sum'), cache === undefined
    ? `${whole(stats.pages_of_tenant)} pages belong to this tenant`
    : `${whole(cache.pages_used)} of ${whole(cache.pages_max)} pages of ` +
      `${bytes(cache.page_bytes)}, ${whole(cache.pages_pinned)} pinned; ` +
      `${whole(cache.evicted)} evicted`);
  showLegend(tenants.length > 1 ? tenants : []);
}

function showLegend(tenants) {
  const names = [...TYPES, 'other', 'free', ...tenants.slice(1).map((name) => `tenant ${name}`)];
  const legend = at('legend');
  if (legend.dataset.names === names.join()) return;
  legend.dataset.names = names.join();
  legend.replaceChildren(...names.map((name, i) => {
    const item = element('li');
    const place = i - TYPES.length - 1;
    const className = place > 0 ? `tenant-${Math.min(place, TENANTS_SHOWN)}` : name.toLowerCase();
    item.append(element('i', '', className), name.toLowerCase().replace('_', ' '));
    return item;
  }));
}
