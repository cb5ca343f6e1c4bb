// Requests, from the daemon's events.

const REQUESTS_MAX = 50; // that are listed
let events = { bootId: '', last: 0, requests: new Map() };

function learnEvent(event) {
  skewMs = Math.max(skewMs, event.time_us / 1000 - Date.now());
  if (event.kind.startsWith('chunk_') || event.kind === 'request_finished') chunks.due = true;
  if (!event.kind.startsWith('request_')) return;
  const { requests } = events;
  if (event.kind === 'request_started') {
    requests.delete(event.id); // an id may come again
    requests.set(event.id, { startedUs: event.time_us, prompt: event.tokens });
  } else {
    const request = requests.get(event.id) ?? { prompt: null };
    requests.set(event.id, { ...request, endedUs: event.time_us, output: event.tokens,
      reason: event.reason });
  }
  for (const id of requests.keys()) {
    if (requests.size <= REQUESTS_MAX) break;
    requests.delete(id);
  }
}

async function readEvents() {
  for (let more = true; more;) {
    const query = new URLSearchParams({ after: events.last, boot_id: events.bootId });
    const { data, last, gap, boot_id: bootId } = await get(`v1/events?${query}`);
    if (gap) {
      events.requests.clear();
      chunks.due = true;
    }
    data.forEach(learnEvent);
    events.last = data.at(-1)?.sequence ?? last;
    events.bootId = bootId;
    more = events.last < last;
  }
}

function showRequests() {
  const body = at('requests');
  const rows = [...events.requests].reverse().map(([id, request]) => {
    const row = element('tr');
    const running = request.endedUs === undefined;
    const good = running || ['stop', 'length'].includes(request.reason);
    const endMs = running ? nowMs() : request.endedUs / 1000;
    row.append(
      element('td', id.slice(0, 8), 'id'),
      element('td', running ? 'running' : request.reason, good ? 'good' : 'bad'),
      element('td', request.prompt === null ? '–' : whole(request.prompt), 'n'),
      element('td', running ? '…' : whole(request.output), 'n'),
      element('td', request.startedUs === undefined ? '–'
        : span(endMs - request.startedUs / 1000), 'n'));
    return row;
  });
  if (rows.length === 0) rows.push(emptyRow('None yet', 5));
  body.replaceChildren(...rows);
  const { requests_waiting: waiting } = status.status;
  setText(at('requests-sum'), waiting > 0 ? `${whole(waiting)} more waiting` : '');
}

function emptyRow(text, columns) {
  const row = element('tr');
  const cell = element('td', text, 'empty');
  cell.colSpan = columns;
  row.append(cell);
  return row;
}
