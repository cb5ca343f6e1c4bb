"""An event loop on a thread of its own, for callers that have none."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

from .errors import unreachable

_T = TypeVar("_T")

# The time that tasks have to end when they are told to. After it, they are cancelled.
_END_S = 1.0


class _Job(Generic[_T]):
    """A coroutine that another thread waits for. begin() and cancel() are called on the loop, in
    this order if both are called."""

    def __init__(self, work: Coroutine[Any, Any, _T]) -> None:
        self.outcome: concurrent.futures.Future[_T] = concurrent.futures.Future()
        self._work = work
        self._task: asyncio.Task[_T] | None = None

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work)
        self._task.add_done_callback(self._finish)

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
        else:
            self._work.close()

    def _finish(self, task: asyncio.Task[_T]) -> None:
        if task.cancelled():
            # It was cancelled by cancel(), when nobody waits any more, or by the end of the loop.
            self.outcome.set_exception(unreachable("the client was closed"))
            return
        error = task.exception()
        if error is not None:
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())


class LoopThread:
    """Any number of threads may call run() at once. A fork does not have the thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._stopped = False
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="cascade_llm", daemon=True
        )
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Returns or raises what `work` does. An exception that interrupts the wait
        (KeyboardInterrupt) cancels `work`."""
        if os.getpid() != self._pid:
            work.close()
            raise unreachable("a client cannot be used in a forked process")
        job = _Job(work)
        try:
            with self._lock:
                if self._stopped:
                    work.close()
                    raise unreachable("the client was closed")
                self._loop.call_soon_threadsafe(job.begin)
            return job.outcome.result()
        except BaseException:
            # KeyboardInterrupt may come at any moment, even when the wait has hardly begun.
            with self._lock:
                if not self._stopped:
                    self._loop.call_soon_threadsafe(job.cancel)
            raise

    def stop(self, last: Coroutine[Any, Any, None]) -> None:
        """Runs `last`, and ends the thread. Any thread may call it. Only the first call does
        anything; in a fork, no call does."""
        if os.getpid() != self._pid:
            return last.close()
        with self._lock:
            if self._stopped:
                return last.close()
            self._stopped = True
            self._loop.call_soon_threadsafe(_Job(self._end(last)).begin)
        # The garbage collector may call this on the thread itself.
        if threading.current_thread() is not self._thread:
            self._thread.join()
            self._loop.close()
        return None

    async def _end(self, last: Coroutine[Any, Any, None]) -> None:
        try:
            await last
            others = asyncio.all_tasks() - {asyncio.current_task()}
            if others:
                _, stuck = await asyncio.wait(others, timeout=_END_S)
                for task in stuck:
                    task.cancel()
        finally:
            self._loop.call_soon(self._loop.stop)
