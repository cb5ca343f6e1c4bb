// AbortSignals around promises.

// `promise`, or the signal's reason as soon as it is aborted; then onAbort() is called first.
export async function abortable(promise, signal, onAbort = () => {}) {
  if (signal === undefined) return promise;
  let listener;
  const aborted = new Promise((_, reject) => {
    listener = () => {
      onAbort();
      reject(signal.reason);
    };
    if (signal.aborted) listener();
    else signal.addEventListener('abort', listener, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', listener);
  }
}
