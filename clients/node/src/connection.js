// One ZeroMQ DEALER connection: sends and receives frames, and notices when it breaks.
import { setImmediate as nextTurn } from 'node:timers/promises';

import { Dealer } from 'zeromq';

import { curveOptions } from './client_keys.js';
import { invalidArgument, unreachable } from './error.js';
import { MESSAGE_BYTES_MAX } from './limits.js';

// Long enough for a last CancelRequest to leave; nobody waits longer for a daemon that has ended.
const LINGER_MS = 200;

export class Connection {
  #socket;
  #onFrames;
  #onLost;
  #outgoing = [];
  #sending = false;
  #received = 0;
  #closed = false;

  // Connects in the background: only an answer shows that a daemon is there. Then calls
  // onFrames(frames) for each message, and onLost(error) at most once; after that no message comes.
  // Throws CascadeError if ZeroMQ does not accept the endpoint.
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

  // No callback is called any more. If the connection is `lost`, drops the queued messages;
  // otherwise whoever listens there next would get them.
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
      this.#lose(error.code === 'EAGAIN' ? 'the daemon accepts no messages'
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

  // Announces everything that had arrived before the connection broke, and then its end. What had
  // arrived is announced within the next turn of the event loop.
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
