// A request that runs for a while, tells how far it is, and can be cancelled.
import { abortable } from './abort.js';
import { CascadeError } from './error.js';
import { encode } from './frames.js';
import { newRequestId } from './request_id.js';

// Deltas that may be under way to who reads slowly; the daemon joins what follows. One is a burst
// of decode steps, so that a connection of 100 ms does not wait for the grants.
const DELTAS_UNDER_WAY = 64;
const DELTAS_PER_GRANT = DELTAS_UNDER_WAY / 2;

function isObject(message) {
  return typeof message === 'object' && message !== null && !Array.isArray(message);
}

// Its Progress tells a slow request from one that is lost.
function streamed(message) {
  return isObject(message) ? { ...message, stream: true } : message;
}

// Sets how many Deltas of a generation may be sent ahead: none if they are not read, since the text
// then comes once, at the end. A request that sets this itself is left as it is.
function withCredit(message, readsDeltas) {
  if (!isObject(message) || (message.deltaCredit ?? null) !== null) return message;
  return { ...message, deltaCredit: readsDeltas ? DELTAS_UNDER_WAY : 0 };
}

export class Running {
  #exchange = null;
  #grants = false; // credit for more Deltas, when some have been read
  #deltasRead = 0; // since the last grant
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

  // A generation. `readsDeltas`: deltaRead() will be called for each.
  static generation(connected, request, { readsDeltas, ...options }) {
    const message = withCredit(request, readsDeltas);
    const running = new Running(connected, 'GenerateRequest', message,
      { expect: 'Final', ...options });
    running.#grants = readsDeltas && message !== request;
    return running;
  }

  // Makes room for others.
  deltaRead() {
    this.#deltasRead += 1;
    if (!this.#grants || this.#ended || this.#deltasRead < DELTAS_PER_GRANT) return;
    this.#deltasRead = 0;
    const id = newRequestId();
    const frames = encode('DeltaCredit', { target: this.id, deltas: DELTAS_PER_GRANT }, id,
      this.#model);
    // It may have ended meanwhile.
    this.#exchange.request(id, frames, { expect: 'Ack' }).catch(() => {});
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
