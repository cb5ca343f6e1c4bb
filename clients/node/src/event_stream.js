// What happens in the daemon, as it happens. A SUB socket tells that there is something new, and
// the daemon's log what: nothing is missing there. Whether the daemon is there, a SUB socket does
// not say: the log is asked now and then.
import { Subscriber } from 'zeromq';

import { abortable } from './abort.js';
import { MESSAGE_BYTES_MAX } from './limits.js';

// The daemon publishes the events of an endpoint there.
const SUFFIX = '.events';
// The daemon is asked whether it is there after so long without a sign of it.
const SILENCE_MS = 1000;
// The events of one EventsRequest.
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
  #ready = []; // events that were read and nobody has asked for yet
  #begun; // a promise of the place that events come behind
  #fetched; // the number of the last event that was read
  #fetchedBootId;
  #due = true; // there may be more in the log
  #wake = () => {};
  #turn = Promise.resolve(); // of the last call of next()
  #last;
  #bootId = '';

  // `ask(request)` asks the daemon for an EventsReply; `onEnd()` is called when this has ended.
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

  // Calls are answered one after the other.
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

  // Where events begin is asked at once, and again by next() if that failed.
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
    // What is published from now on may be behind the answer.
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

  // Until something was published; a moment at most.
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
    // Over tcp nothing is published: what a look after a silence finds is all.
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
      // Without it the log is asked now and then all the same.
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
