// A streamed generation: an async iterator over its events and its end.
import { Running } from './running.js';

const END = { value: undefined, done: true };

export class GenerationStream {
  #running;
  #result;
  #signal;
  #events = []; // events that were not yet asked for
  #waiting = []; // calls of next() that came before their events
  #ended = false;
  #failure = null; // { error } that the next call of next() throws

  constructor(connected, request, { signal, model } = {}) {
    this.#signal = signal;
    this.#running = Running.generation(connected, request, {
      readsDeltas: true,
      model,
      signal,
      onEvent: (event) => this.#push(event),
    });
    this.#result = this.#running.result.then(
      (final) => {
        this.#push({ type: 'final', ...final });
        this.#end();
        return final;
      },
      (error) => {
        this.#dropIfAborted();
        this.#end({ error });
        throw error;
      },
    );
    this.#result.catch(() => {});
  }

  get id() {
    return this.#running.id;
  }

  result() {
    return this.#result;
  }

  cancel() {
    return this.#running.cancel();
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  async next() {
    this.#dropIfAborted();
    if (this.#events.length > 0) return this.#read(this.#events.shift());
    if (this.#failure !== null) {
      const { error } = this.#failure;
      this.#failure = null;
      throw error;
    }
    if (this.#ended) return END;
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  // Leaving a loop early cancels the generation.
  async return(value) {
    this.#events = [];
    this.#end();
    this.#failure = null;
    // A daemon that has ended does not continue the generation either.
    await this.#running.cancel().catch(() => {});
    return { value, done: true };
  }

  // After an abort, the reader gets nothing but the abort.
  #dropIfAborted() {
    if (this.#signal?.aborted && !this.#ended) this.#events = [];
  }

  #read(event) {
    if (event.type === 'delta') this.#running.deltaRead();
    return { value: event, done: false };
  }

  #push(event) {
    if (this.#ended) return;
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      waiting.resolve(this.#read(event));
      return;
    }
    // The latest progress replaces one that nobody has read.
    if (event.type === 'progress' && this.#events.at(-1)?.type === 'progress') this.#events.pop();
    this.#events.push(event);
  }

  #end(failure = null) {
    if (this.#ended) return;
    this.#ended = true;
    const first = failure === null ? undefined : this.#waiting.shift();
    if (first === undefined) this.#failure = failure;
    else first.reject(failure.error);
    for (const { resolve } of this.#waiting.splice(0)) resolve(END);
  }
}
