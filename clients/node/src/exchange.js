// The requests in flight on one connection: each reply finds its request, and no request waits for
// a daemon that has ended.
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

import { Connection } from './connection.js';
import { probeEndpoint } from './endpoint.js';
import { CascadeError, unreachable } from './error.js';
import { decode, encode, requestKey } from './frames.js';
import { newRequestId } from './request_id.js';

// How often deadlines are checked: several times within the shortest of them.
const LOOKS_PER_DEADLINE = 8;
// Bounds of the pause between two Pings to a daemon that is loading its model.
const LOADING_PAUSE_MS_MIN = 10;
const LOADING_PAUSE_MS_MAX = 1_000;
const EVENTS = new Map([
  ['Accepted', 'accepted'],
  ['Progress', 'progress'],
  ['Delta', 'delta'],
]);

export class Exchange {
  #connection;
  #options;
  #onEnd;
  #inFlight = new Map(); // by request key
  #ended = null; // the error that ended it
  #bootId = '';
  #daemonVersion = '';
  #timer = null;
  #lookMs;
  #lookedAt = 0;
  // The milliseconds for which this process was able to listen. While its event loop is blocked,
  // answers arrive unseen, and that is not the daemon's fault.
  #now = 0;
  #heardAt = 0;
  #ping = null; // { key, deadline } of our own Ping, while it is not answered

  // `onEnd(exchange)` is called when the exchange has ended.
  constructor(options, onEnd) {
    this.#options = options;
    this.#onEnd = onEnd;
    const { timeoutMs, silenceMs, lostMs } = options;
    this.#lookMs = Math.max(1, Math.min(timeoutMs, silenceMs, lostMs) / LOOKS_PER_DEADLINE);
  }

  // Connects and exchanges a Ping. If that fails, the exchange has ended.
  async open(endpoint) {
    try {
      await probeEndpoint(endpoint);
      if (this.#ended) throw this.#ended;
      this.#connection = Connection.open(
        endpoint,
        this.#options,
        (frames) => this.#receive(frames),
        (error) => this.end(error),
      );
      await this.#greet();
    } catch (error) {
      this.end(error);
      throw error;
    }
  }

  // Waits for a daemon that is loading its model, within timeoutMs.
  async #greet() {
    const deadline = performance.now() + this.#options.timeoutMs;
    for (;;) {
      const id = newRequestId();
      try {
        await this.request(id, encode('Ping', {}, id), { expect: 'Pong' });
        return;
      } catch (error) {
        const left = deadline - performance.now();
        if (error.loading === undefined || left <= 0) throw error;
        const asked = Math.max(error.retryAfterMs, LOADING_PAUSE_MS_MIN);
        await delay(Math.min(asked, LOADING_PAUSE_MS_MAX, left));
      }
    }
  }

  get bootId() {
    return this.#bootId;
  }

  get daemonVersion() {
    return this.#daemonVersion;
  }

  // Sends `frames` and waits for the message `expect`. `patience`:
  //   call     answered within timeoutMs
  //   slow     takes any time, as long as the daemon answers a Ping
  //   running  the same, but if nothing comes for lostMs, the daemon has lost the request
  // `onEvent(type, fields)` gets the messages before the last reply. `trace` is an Error that was
  // made where the request was made.
  request(id, frames, { expect, patience = 'call', onEvent, trace = new Error() }) {
    return new Promise((resolve, reject) => {
      const fail = (error) => reject(error.raisedAt(trace));
      if (this.#ended) {
        fail(this.#ended);
        return;
      }
      if (this.#inFlight.size === 0) this.#startLooking();
      const heardAt = this.#now;
      this.#inFlight.set(requestKey(frames), { expect, patience, onEvent, heardAt, resolve, fail });
      this.#connection.send(frames);
    });
  }

  // For when nobody waits for the answer any more: if it comes, it is ignored.
  forget(id) {
    this.#settle(Buffer.from(id).toString('hex'), () => {});
  }

  // Lets all requests in flight, and all later ones, fail with `error`.
  end(error, { lost = true } = {}) {
    if (this.#ended) return;
    this.#ended = error;
    this.#connection?.close({ lost });
    const requests = [...this.#inFlight.values()];
    this.#inFlight.clear();
    this.#stopLooking();
    for (const { fail } of requests) fail(error);
    this.#onEnd(this);
  }

  #settle(key, action) {
    const request = this.#inFlight.get(key);
    if (request === undefined) return;
    this.#inFlight.delete(key);
    if (this.#inFlight.size === 0) this.#stopLooking();
    action(request);
  }

  #receive(frames) {
    this.#heardAt = this.#now;
    const key = requestKey(frames);
    let reply;
    try {
      reply = decode(frames);
    } catch (error) {
      this.#receiveGarbage(key, error);
      return;
    }
    if (reply.name === 'Pong' && !this.#learn(reply.message)) return;
    if (this.#ping?.key === key) this.#ping = null;
    else this.#dispatch(key, reply);
  }

  // Handles a message that cannot be read. An unknown type or a wrong field is an error of its
  // request only. Anything that is not a message at all, or has an unknown request id, does not
  // come from a daemon, and ends the exchange.
  #receiveGarbage(key, { code, field, message }) {
    const problem = `${field}: ${message}`;
    if (field !== 'type' && (field === 'version' || !this.#inFlight.has(key))) {
      const what = 'the daemon sent a message that does not follow the protocol';
      this.end(unreachable(`${what}: ${problem}`));
      return;
    }
    const error = new CascadeError(code === 'unsupported' ? code : 'internal', 'reply',
      `the daemon sent a reply that cannot be read: ${problem}`);
    this.#settle(key, ({ fail }) => fail(error));
  }

  #dispatch(key, { name, message }) {
    const request = this.#inFlight.get(key);
    if (request === undefined) return; // its answer came too late, or the request was given up
    request.heardAt = this.#now;
    if (name === request.expect) {
      this.#settle(key, ({ resolve }) => resolve(message));
    } else if (name === 'ErrorReply') {
      const { error: { code, field, message: text }, retryAfterMs, loading } = message;
      const error = new CascadeError(code, field, text, retryAfterMs, loading);
      this.#settle(key, ({ fail }) => fail(error));
    } else if (EVENTS.has(name)) {
      request.onEvent?.(EVENTS.get(name), message);
    } else {
      const error = new CascadeError('internal', 'reply', `the daemon answered with ${name}`);
      this.#settle(key, ({ fail }) => fail(error));
    }
  }

  // Returns whether the daemon is still the one to which the requests in flight were sent.
  #learn({ bootId, version }) {
    const restarted = this.#bootId !== '' && bootId !== this.#bootId;
    this.#bootId = bootId;
    this.#daemonVersion = version;
    if (restarted) this.end(unreachable('the daemon was restarted; the request is lost'));
    return !restarted;
  }

  #startLooking() {
    this.#heardAt = this.#now;
    this.#lookedAt = performance.now();
    this.#timer = setInterval(() => this.#look(), this.#lookMs);
  }

  #stopLooking() {
    clearInterval(this.#timer);
    this.#ping = null;
  }

  // Sends a Ping if the daemon is silent. Lets requests fail that missed their deadlines.
  #look() {
    const at = performance.now();
    this.#now += Math.min(at - this.#lookedAt, 2 * this.#lookMs);
    this.#lookedAt = at;
    const { timeoutMs, silenceMs } = this.#options;
    if (this.#ping !== null && this.#now > this.#ping.deadline) {
      this.end(unreachable('the daemon fell silent'));
      return;
    }
    for (const [key, request] of this.#inFlight) this.#lookAt(key, request);
    if (this.#inFlight.size === 0 || this.#ping !== null) return;
    if (this.#now - this.#heardAt <= silenceMs) return;
    const id = newRequestId();
    const frames = encode('Ping', {}, id);
    this.#ping = { key: requestKey(frames), deadline: this.#now + timeoutMs };
    this.#connection.send(frames);
  }

  #lookAt(key, { patience, heardAt, fail }) {
    const { timeoutMs, lostMs } = this.#options;
    const silentFor = this.#now - heardAt;
    let problem = null;
    if (patience === 'call' && silentFor > timeoutMs) {
      problem = `the daemon did not answer within ${timeoutMs} ms`;
    } else if (patience === 'running' && silentFor > lostMs) {
      problem = `nothing was heard of the request for ${lostMs} ms; the daemon has lost it`;
    }
    if (problem !== null) this.#settle(key, () => fail(unreachable(problem)));
  }
}
