// A request that runs for a while, tells how far it is, and can be cancelled.
import { abortable } from './abort.js';
import { CascadeError } from './error.js';
import { encode } from './frames.js';
import { newRequestId } from './request_id.js';

// Its Progress tells a slow request from one that is lost.
function streamed(message) {
  const isObject = typeof message === 'object' && message !== null && !Array.isArray(message);
  return isObject ? { ...message, stream: true } : message;
}

export class Running {
  #exchange = null;
  #model;
  #trace = new Error();
  #ended = false;

  // The 16 bytes by which CancelRequest names it.
  id = newRequestId();
  // Its last reply.
  result;

  // `connected()` makes or finds the connection. `onEvent(event)` gets { type: 'accepted',
  // 'progress' or 'delta', and the fields }; what it throws cancels the request and is its error.
  // `onLate(exchange, reply)` gets the last reply if the request was aborted too late.
  // `model`: that it is meant for; undefined: the default model.
  constructor(connected, name, message, { expect, model, signal, onEvent, onLate }) {
    this.#model = model;
    this.result = this.#run(connected, name, message, { expect, signal, onEvent, onLate });
    // Whoever waits for it hears of its failure; nobody has to.
    this.result.catch(() => {});
  }

  // Resolves when the daemon has confirmed: the request then ends with what it has so far. One
  // that has ended, or ends meanwhile, is no error.
  async cancel() {
    await this.#started;
    if (this.#ended) return;
    try {
      await this.#sendCancel();
    } catch (error) {
      if (!(error instanceof CascadeError) || error.code !== 'not_found') throw error;
    }
  }

  #markStarted;
  #started = new Promise((resolve) => {
    this.#markStarted = resolve;
  });

  async #run(connected, name, message, { expect, signal, onEvent, onLate }) {
    try {
      signal?.throwIfAborted();
      const frames = encode(name, streamed(message), this.id, this.#model);
      this.#exchange = await abortable(connected(), signal);
      signal?.throwIfAborted();
      return await this.#follow(frames, { expect, signal, onEvent, onLate });
    } finally {
      this.#ended = true;
      this.#markStarted();
    }
  }

  async #follow(frames, { expect, signal, onEvent, onLate }) {
    let thrown;
    const answered = this.#exchange.request(this.id, frames, {
      expect,
      patience: 'running',
      trace: this.#trace,
      onEvent: (type, fields) => {
        if (thrown !== undefined || signal?.aborted) return;
        try {
          onEvent?.({ type, ...fields });
        } catch (error) {
          thrown = { error };
          this.#giveUp();
        }
      },
    });
    this.#markStarted();
    try {
      const reply = await abortable(answered, signal, () => {
        this.#giveUp();
        answered.then((late) => onLate?.(this.#exchange, late), () => {});
      });
      if (thrown === undefined) return reply;
    } catch (error) {
      // The daemon goes on with what cannot be read here.
      if (error?.field === 'reply') this.#giveUp();
      if (thrown === undefined) throw error;
    }
    throw thrown.error;
  }

  #sendCancel() {
    const id = newRequestId();
    const frames = encode('CancelRequest', { target: this.id }, id, this.#model);
    return this.#exchange.request(id, frames, { expect: 'Ack' });
  }

  // Whether the daemon still knew it does not matter.
  #giveUp() {
    this.#sendCancel().catch(() => {});
  }
}
