// A request that runs for a while, reports its progress, and can be cancelled.
import { abortable } from './abort.js';
import { CascadeError } from './error.js';
import { encode } from './frames.js';
import { newRequestId } from './request_id.js';

// The largest number of Deltas that may be on their way to a slow reader; the daemon joins the text
// after them. A Delta is a burst of decode steps, so a connection of 100 ms does not wait for the
// grants.
const DELTAS_UNDER_WAY = 64;
const DELTAS_PER_GRANT = DELTAS_UNDER_WAY / 2;

function isObject(message) {
  return typeof message === 'object' && message !== null && !Array.isArray(message);
}

// Progress tells a slow request from a lost one.
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
  #grants = false; // grants credit for more Deltas when some have been read
  #deltasRead = 0; // since the last grant
  #model;
  #trace = new Error();
  #ended = false;

  // The 16 bytes that CancelRequest uses as the name of this request.
  id = newRequestId();
  // A promise of the request's last reply.
  result;

  // `connected()` makes or finds the connection. `onEvent(event)` gets the fields of each event and
  // its type: 'accepted', 'progress' or 'delta'. An error that it throws cancels the request and
  // becomes the request's error. `onLate(exchange, reply)` gets the last reply if the request was
  // aborted too late. `model` is the model for which the request is meant; undefined: the default
  // model.
  constructor(connected, name, message, { expect, model, signal, onEvent, onLate }) {
    this.#model = model;
    this.result = this.#run(connected, name, message, { expect, signal, onEvent, onLate });
    // A failure reaches those who wait for the result, but nobody has to wait.
    this.result.catch(() => {});
  }

  // Starts a generation. `readsDeltas`: deltaRead() will be called for each Delta.
  static generation(connected, request, { readsDeltas, ...options }) {
    const message = withCredit(request, readsDeltas);
    const running = new Running(connected, 'GenerateRequest', message,
      { expect: 'Final', ...options });
    running.#grants = readsDeltas && message !== request;
    return running;
  }

  // Counts a Delta that was read, and grants credit for more when enough were.
  deltaRead() {
    this.#deltasRead += 1;
    if (!this.#grants || this.#ended || this.#deltasRead < DELTAS_PER_GRANT) return;
    this.#deltasRead = 0;
    const id = newRequestId();
    const frames = encode('DeltaCredit', { target: this.id, deltas: DELTAS_PER_GRANT }, id,
      this.#model);
    // The generation may have ended meanwhile.
    this.#exchange.request(id, frames, { expect: 'Ack' }).catch(() => {});
  }

  // Resolves when the daemon has confirmed; the request then ends with what it has so far. It is
  // not an error if the request has ended, or ends meanwhile.
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
      // The daemon continues a request whose messages cannot be read here, so cancel it.
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

  // It does not matter whether the daemon still knew the request.
  #giveUp() {
    this.#sendCancel().catch(() => {});
  }
}
