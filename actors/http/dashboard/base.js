// What all of the dashboard's script uses: elements, numbers for people, and the daemon's answers.
// Whatever the daemon says goes into the page as text, never as HTML.
'use strict';

const at = (id) => document.getElementById(id);
let key = ''; // in memory only
let status = null; // the answer of /v1/status
let skewMs = 0; // how far the daemon's clock is ahead of ours, as far as it is known

function element(name, text = '', className = '') {
  const made = document.createElement(name);
  if (text !== '') made.textContent = text;
  if (className !== '') made.className = className;
  return made;
}

function shape(name, attributes) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Numbers for people.

const whole = (number) => Math.round(number).toLocaleString('en');
const percent = (share) => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

function bytes(number) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; number >= 1024 && unit < units.length - 1; ++unit) number /= 1024;
  return `${number >= 100 || unit === 0 ? Math.round(number) : number.toFixed(1)} ${units[unit]}`;
}

function rate(number) {
  return number >= 100 ? whole(number) : number.toFixed(1);
}

function span(ms) {
  const s = Math.max(0, ms / 1000);
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 120) return `${Math.floor(s)} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  if (s < 172_800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

const nowMs = () => Date.now() + skewMs;
const sinceUs = (us) => nowMs() - us / 1000;

// Asking the daemon.

class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

async function ask(path, { method = 'GET', body, signal } = {}) {
  const headers = {};
  if (key !== '') headers.Authorization = `Bearer ${key}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const answer = await fetch(path, { method, headers, body: sent, signal, credentials: 'omit' });
  if (answer.ok) return answer;
  const { error } = await answer.json();
  throw new Refused(answer.status, error.message);
}

const get = async (path) => (await ask(path)).json();

function complain(text) {
  at('problem').hidden = text === '';
  setText(at('problem'), text);
}

function showState(text, className) {
  setText(at('state'), text);
  at('state').className = `pill ${className}`;
}
