// Events in the daemon, as they happen. A SUB socket says that there is something new; what it is,
// is read from the daemon's log, in which nothing is missing. A SUB socket does not show whether
// the daemon is there, so the log is also asked now and then.
import { Subscriber } from 'zeromq';

import { abortable } from './abort.js';
import { MESSAGE_BYTES_MAX } from './limits.js';

// The daemon publishes the events of an endpoint at the endpoint with this suffix.
const SUFFIX = '.events';
// After this much silence the daemon is asked whether it is still there.
const SILENCE_MS = 1000;
// The largest number of events of one EventsRequest.
const EVENTS_AT_ONCE = 1000;
const INT64_MAX = 2n ** 63n - 1n;
const END = { value: undefined, done: true };

export class EventStream {
  #endpoint;
  #ask;
  #signal;
  #onEnd;
  #socket = null;
  #ended = false;
  #ready = []; // events that were read, but not yet asked for
  #begun; // a promise, fulfilled when the place is known after which events come
  #fetched; // the number of the last event that was read
  #fetchedBootId;
  #due = true; // there may be more in the log
  #wake = () => {};
  #turn = Promise.resolve(); // the last call of next()
  #last;
  #bootId = '';

  // `ask(request)` asks the daemon for an EventsReply. `onEnd()` is called when the stream has
  // ended.
  constructor(endpoint, ask, { since, bootId = '', signal }, onEnd) {
    signal?.throwIfAborted();
    this.#endpoint = endpoint;
    this.#ask = ask;
    this.#signal = signal;
    this.#onEnd = onEnd;
    this.#fetched = since;
    this.#fetchedBootId = bootId;
    this.#begin();
  }

  get last() {
    return this.#last;
  }

  get bootId() {
    return this.#bootId;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  // Calls are answered one after another.
  next() {
    const answered = this.#turn.then(() =>
      abortable(this.#next(), this.#signal, () => this.#end()));
    this.#turn = answered.catch(() => {});
    return answered;
  }

  async return() {
    this.#end();
    return END;
  }

  // Asks at once where events begin. If that fails, next() asks again.
  #begin() {
    this.#begun = this.#fetched === undefined ? this.#askForNow() : Promise.resolve();
    this.#begun.catch(() => {});
  }

  async #askForNow() {
    try {
      const now = await this.#ask({ after: INT64_MAX, limit: 1 });
      this.#fetched = now.last;
      this.#fetchedBootId = now.bootId;
    } catch (error) {
      this.#begun = null;
      throw error;
    }
  }

  async #next() {
    if (this.#begun === null) this.#begin();
    await this.#begun;
    while (this.#ready.length === 0 && !this.#ended) {
      this.#subscribe();
      if (!this.#due) await this.#woken();
      if (!this.#ended) await this.#fetch();
    }
    if (this.#ended) return END;
    const event = this.#ready.shift();
    this.#last = event.kind === 'gap' ? event.after : event.sequence;
    this.#bootId = event.bootId;
    return { value: event, done: false };
  }

  async #fetch() {
    // Events that are published from now on may not be in the answer.
    this.#due = false;
    let reply;
    try {
      reply = await this.#ask({
        after: this.#fetched, bootId: this.#fetchedBootId, limit: EVENTS_AT_ONCE,
      });
    } catch (error) {
      this.#due = true;
      if (this.#ended) return;
      throw error;
    }
    const { bootId, events, last, gap } = reply;
    if (gap) {
      const after = events.length > 0 ? Number(events[0].sequence) - 1 : last;
      this.#ready.push({ kind: 'gap', bootId, after });
    }
    this.#ready.push(...events);
    this.#fetched = events.at(-1)?.sequence ?? last;
    this.#fetchedBootId = bootId;
    if (this.#fetched < last) this.#due = true;
  }

  // Waits until something was published, but only for a moment.
  async #woken() {
    let timer;
    await new Promise((resolve) => {
      this.#wake = resolve;
      timer = setTimeout(resolve, SILENCE_MS);
    });
    clearTimeout(timer);
    this.#wake = () => {};
  }

  #subscribe() {
    if (this.#socket !== null || this.#ended) return;
    this.#socket = new Subscriber({ linger: 0, maxMessageSize: MESSAGE_BYTES_MAX });
    this.#socket.subscribe();
    // Nothing is published over tcp: there, events are found only by the look after each silence.
    if (!this.#endpoint.startsWith('tcp://')) this.#socket.connect(`${this.#endpoint}${SUFFIX}`);
    this.#listen(this.#socket);
  }

  async #listen(socket) {
    try {
      for await (const _ of socket) {
        this.#due = true;
        this.#wake();
      }
    } catch {
      // Even without the socket, the log is asked now and then.
      if (!socket.closed) socket.close();
    }
  }

  #end() {
    if (this.#ended) return;
    this.#ended = true;
    this.#socket?.close();
    this.#wake();
    this.#onEnd();
  }
}
