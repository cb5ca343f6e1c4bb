// Promises that an AbortSignal can end.

// The actions that wait for each signal. They share one listener, since Node warns of many
// listeners.
const waiting = new WeakMap();

function onAbort(signal, action) {
  if (!waiting.has(signal)) {
    const actions = new Set();
    const listener = () => {
      waiting.delete(signal);
      for (const each of actions) each();
    };
    waiting.set(signal, { actions, listener });
    signal.addEventListener('abort', listener, { once: true });
  }
  waiting.get(signal).actions.add(action);
}

function offAbort(signal, action) {
  const entry = waiting.get(signal);
  if (entry === undefined) return; // it was aborted
  entry.actions.delete(action);
  if (entry.actions.size > 0) return;
  waiting.delete(signal);
  signal.removeEventListener('abort', entry.listener);
}

// Resolves or fails as `promise`, or fails with the signal's reason as soon as the signal is
// aborted; in that case it calls aborted() first.
export async function abortable(promise, signal, aborted = () => {}) {
  if (signal === undefined) return promise;
  let action;
  const failing = new Promise((_, reject) => {
    action = () => {
      aborted();
      reject(signal.reason);
    };
    if (signal.aborted) action();
    else onAbort(signal, action);
  });
  try {
    return await Promise.race([promise, failing]);
  } finally {
    offAbort(signal, action);
  }
}
