// One ZeroMQ DEALER connection: frames out and in, and the moment when it breaks.
import { setImmediate as nextTurn } from 'node:timers/promises';

import { Dealer } from 'zeromq';

import { curveOptions } from './client_keys.js';
import { invalidArgument, unreachable } from './error.js';
import { MESSAGE_BYTES_MAX } from './limits.js';

// Enough for a last CancelRequest to leave; nobody waits longer for a daemon that is gone.
const LINGER_MS = 200;

export class Connection {
  #socket;
  #onFrames;
  #onLost;
  #outgoing = [];
  #sending = false;
  #received = 0;
  #closed = false;

  // Connects in the background: whether somebody is there shows when an answer comes. Then calls
  // onFrames(frames) for each message, and at most once onLost(error), after which nothing comes.
  // Throws CascadeError if ZeroMQ does not take the endpoint.
  static open(endpoint, options, onFrames, onLost) {
    const keys = curveOptions(endpoint, options);
    const connection = new Connection({ ...options, keys }, onFrames, onLost);
    try {
      connection.#socket.connect(endpoint);
    } catch (error) {
      connection.close({ lost: true });
      if (error.code !== 'EINVAL') throw unreachable(`ZeroMQ: ${error.message}`);
      throw invalidArgument('endpoint', `ZeroMQ does not take ${endpoint}`);
    }
    return connection;
  }

  constructor(options, onFrames, onLost) {
    this.#onFrames = onFrames;
    this.#onLost = onLost;
    this.#socket = new Dealer({
      linger: LINGER_MS,
      maxMessageSize: MESSAGE_BYTES_MAX,
      sendTimeout: options.timeoutMs,
      handshakeInterval: options.timeoutMs,
      heartbeatInterval: options.heartbeatIntervalMs,
      heartbeatTimeout: options.heartbeatTimeoutMs,
      ...options.keys,
    });
    this.#socket.events.on('disconnect', () => this.#loseWhenAllIsRead());
    this.#socket.events.on('handshake:error:auth', () =>
      this.#lose("the daemon does not know this client's key"));
    this.#receive();
  }

  // Messages leave in this order; ZeroMQ takes one at a time.
  send(frames) {
    this.#outgoing.push(frames);
    if (!this.#sending) this.#sendAll();
  }

  // Nothing is called back any more. What is queued for a daemon that is `lost` is dropped instead
  // of being delivered to whoever comes next.
  close({ lost = false } = {}) {
    if (this.#closed) return;
    this.#closed = true;
    this.#outgoing = [];
    if (lost) this.#socket.linger = 0;
    this.#socket.close();
  }

  async #sendAll() {
    this.#sending = true;
    try {
      while (this.#outgoing.length > 0) await this.#socket.send(this.#outgoing.shift());
    } catch (error) {
      this.#lose(error.code === 'EAGAIN' ? 'the daemon takes no messages'
        : `ZeroMQ: ${error.message}`);
    }
    this.#sending = false;
  }

  async #receive() {
    try {
      for await (const frames of this.#socket) {
        if (this.#closed) return;
        ++this.#received;
        this.#onFrames(frames);
      }
    } catch (error) {
      this.#lose(`ZeroMQ: ${error.message}`);
    }
  }

  // What had arrived before the connection broke is announced before its end is: within the turn
  // of the event loop that follows.
  async #loseWhenAllIsRead() {
    for (let before = -1; before !== this.#received;) {
      before = this.#received;
      await nextTurn();
      await nextTurn();
    }
    this.#lose('the connection to the daemon broke');
  }

  #lose(message) {
    if (this.#closed) return;
    this.close({ lost: true });
    this.#onLost(unreachable(message));
  }
}
