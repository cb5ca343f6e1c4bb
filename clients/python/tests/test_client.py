"""Client: streams, cancellation, threads, and the names of its methods."""

from __future__ import annotations

import gc
import inspect
import re
import threading
import unittest
from typing import Any

import cascade_llm
from cascade_llm import AsyncClient, Client, ClientOptions, GenerateRequest, PrefixCache
from cascade_llm.errors import CascadeError
from cascade_llm.frames import Envelope
from cascade_llm.replies import Accepted, Delta, ErrorInfo, ErrorReply, Final, Progress
from cascade_llm.requests import CancelRequest
from fake_client import ClientTest, be, echo, silent, until_cancelled
from support import PATIENCE_S, PATIENT, ROOT, FakeDaemon, Reply, final_of, prompt


class StreamTest(ClientTest):
    def test_events_come_in_order_and_end_with_the_final(self) -> None:
        events = [
            Accepted(2),
            Progress(10, 5),
            Delta("hmm", True),
            Delta("Par", False),
            Delta("is", False),
            final_of("Paris", reasoning="hmm", token_ids=[1, 2, 3]),
        ]

        def handle(envelope: Envelope, reply: Reply) -> None:
            for event in events:
                reply(event)

        daemon, client = self.start(handle)
        stream = client.stream(prompt("x"))
        self.assertEqual(list(stream), events)
        self.assertEqual(stream.final, events[-1])
        self.assertEqual(stream.result(), events[-1])
        self.assertEqual(list(stream), [])
        request = daemon.received[0]
        assert isinstance(request, GenerateRequest)
        self.assertTrue(request.stream)

    def test_the_caller_s_request_stays_as_it_was(self) -> None:
        _, client = self.start(echo)
        request = prompt("x")
        client.generate(request)
        self.assertEqual(request, prompt("x"))

    def test_an_error_ends_it_wherever_it_comes(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            reply(Accepted(0))
            reply(Delta("a", False))
            reply(ErrorReply(ErrorInfo("resource_exhausted", "memory", "is full"), 70))

        _, client = self.start(handle)
        stream = client.stream(prompt("x"))
        self.assertIsInstance(next(stream), Accepted)
        for _ in range(2):  # and again
            error = self.assert_fails(stream.result, "resource_exhausted", "memory", "is full")
            self.assertEqual(error.retry_after_ms, 70)
        client.ping()

    def test_many_are_in_flight_and_end_in_any_order(self) -> None:
        waiting: list[tuple[str, Reply]] = []

        def handle(envelope: Envelope, reply: Reply) -> None:
            assert isinstance(envelope.message, GenerateRequest)
            waiting.append((envelope.message.prompt or "", reply))
            if len(waiting) == 40:
                for text, answer in reversed(waiting):
                    answer(Delta(text, False))
                for text, answer in waiting[::2] + waiting[1::2]:
                    answer(final_of(text))

        _, client = self.start(handle)
        streams = [client.stream(prompt(str(i))) for i in range(40)]
        self.assertEqual([stream.result().text for stream in streams], list(map(str, range(40))))

    def test_threads_share_a_client(self) -> None:
        _, client = self.start(echo)
        wrong: list[object] = []

        def work(number: int) -> None:
            for i in range(20):
                text = f"{number}.{i}"
                if client.generate(prompt(text)).text != text:
                    wrong.append(text)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        self.assertEqual(wrong, [])
        self.assertFalse(any(thread.is_alive() for thread in threads))

    def test_whoever_waits_for_a_stream_learns_of_its_end(self) -> None:
        running: list[Reply] = []
        _, client = self.start(lambda envelope, reply: running.append(reply))
        stream = client.stream(prompt("x"))
        texts: list[str] = []
        waiting = [
            threading.Thread(target=lambda: texts.append(stream.result().text)) for _ in range(4)
        ]
        for thread in waiting:
            thread.start()
        client.ping()  # behind the request
        running[0](final_of("end"))
        for thread in waiting:
            thread.join(PATIENCE_S)
        self.assertEqual(texts, ["end"] * 4)

    def test_a_batch_has_a_result_or_an_error_for_each(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            assert isinstance(envelope.message, GenerateRequest)
            if envelope.message.prompt == "bad":
                return reply(ErrorReply(ErrorInfo("invalid_argument", "prompt", "is bad"), 0))
            return echo(envelope, reply)

        _, client = self.start(handle)
        too_long: Any = 5
        requests = [prompt("a"), prompt("bad"), prompt("c"), prompt(too_long)]
        first, second, third, fourth = client.generate_batch(requests)
        assert isinstance(first, Final) and isinstance(third, Final)
        self.assertEqual((first.text, third.text), ("a", "c"))
        self.assertEqual(str(second), "invalid_argument: prompt: is bad")
        self.assertEqual(str(fourth), "invalid_argument: prompt: must be a string")
        self.assertEqual(client.generate_batch([]), [])
        many = [prompt("x")] * 257
        self.assert_fails(
            lambda: client.generate_batch(many), "invalid_argument", "requests", "256"
        )

    def test_what_is_no_request_is_refused(self) -> None:
        daemon, client = self.start(echo)
        wrong: list[Any] = ["hello", None, PrefixCache(prompt="x")]
        for request in wrong:
            self.assert_fails(lambda: client.stream(request), "invalid_argument", "request")
        no_prefix: Any = prompt("x")
        self.assert_fails(lambda: client.cache_prefix(no_prefix), "invalid_argument", "request")
        self.assertEqual(daemon.received, [])

    def test_a_timeout_leaves_the_generation_running(self) -> None:
        go_on = threading.Event()

        def handle(envelope: Envelope, reply: Reply) -> None:
            go_on.wait(PATIENCE_S)
            echo(envelope, reply)

        _, client = self.start(handle)
        stream = client.stream(prompt("late"))
        with self.assertRaises(TimeoutError):
            stream.result(timeout_s=0.01)
        go_on.set()
        self.assertEqual(stream.result().text, "late")


class CancelTest(ClientTest):
    def test_a_stream_ends_with_the_text_so_far(self) -> None:
        _, client = self.start(until_cancelled())
        stream = client.stream(prompt("x"))
        for event in stream:
            if isinstance(event, Delta):
                stream.cancel()
        assert stream.final is not None
        self.assertEqual((stream.final.text, stream.final.finish_reason), ("first", "cancelled"))
        stream.cancel()  # does nothing

    def test_another_thread_may_cancel(self) -> None:
        _, client = self.start(until_cancelled())
        stream = client.stream(prompt("x"))
        next(stream)
        threading.Thread(target=stream.cancel).start()
        self.assertEqual(stream.result().finish_reason, "cancelled")

    def test_a_request_id_is_enough(self) -> None:
        _, client = self.start(until_cancelled())
        stream = client.stream(prompt("x"))
        client.cancel(stream.request_id)
        self.assertEqual(stream.result().finish_reason, "cancelled")
        self.assert_fails(lambda: client.cancel(stream.request_id), "not_found", "target")
        self.assert_fails(lambda: client.cancel(b"short"), "invalid_argument", "target")

    def test_leaving_or_dropping_a_stream_cancels_it(self) -> None:
        cancelled = threading.Semaphore(0)
        handle = until_cancelled()

        def note(envelope: Envelope, reply: Reply) -> None:
            handle(envelope, reply)
            if isinstance(envelope.message, CancelRequest):
                cancelled.release()

        _, client = self.start(note)
        with client.stream(prompt("x")):
            pass
        self.assertTrue(cancelled.acquire(timeout=PATIENCE_S))
        dropped = client.stream(prompt("x"))
        next(dropped)
        del dropped
        gc.collect()
        self.assertTrue(cancelled.acquire(timeout=PATIENCE_S))

    def test_a_daemon_that_confirms_no_cancellation_is_lost(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            reply(Accepted(0))

        _, client = self.start(handle, PATIENT)
        be(client, timeout_ms=100)
        stream = client.stream(prompt("x"))
        stream.cancel()
        self.assert_fails(stream.result, "unavailable", "endpoint", "confirm a cancellation")


class ConnectTest(unittest.TestCase):
    def test_a_socket_that_never_answers_is_no_daemon(self) -> None:
        with FakeDaemon(silent) as daemon:
            daemon.answers_pings = False
            with self.assertRaises(CascadeError) as failed:
                Client(daemon.endpoint, options=ClientOptions(timeout_ms=300))
            self.assertIn("did not answer within 300 ms", failed.exception.message)

    def test_an_endpoint_that_is_none_is_refused(self) -> None:
        threads = threading.active_count()
        with self.assertRaises(CascadeError) as failed:
            Client("/run/cascaded/cascaded.sock")
        self.assertEqual(failed.exception.code, "invalid_argument")
        self.assertEqual(threading.active_count(), threads)

    def test_a_client_that_nobody_refers_to_ends_its_thread(self) -> None:
        with FakeDaemon(echo) as daemon:
            threads = threading.active_count()
            Client(daemon.endpoint).ping()
            gc.collect()
            self.assertEqual(threading.active_count(), threads)

    def test_a_stream_keeps_its_client(self) -> None:
        with FakeDaemon(echo) as daemon:
            self.assertEqual(Client(daemon.endpoint).stream(prompt("x")).result().text, "x")


class NamesTest(unittest.TestCase):
    def test_both_clients_have_the_same_methods(self) -> None:
        def methods(of: type[object]) -> dict[str, list[str]]:
            return {
                name: list(inspect.signature(member).parameters)
                for name, member in inspect.getmembers(of, callable)
                if not name.startswith("_")
            }

        self.assertEqual(methods(Client), methods(AsyncClient))
        for name in methods(Client):
            self.assertEqual(
                str(inspect.signature(getattr(Client, name))).split(" -> ")[0],
                str(inspect.signature(getattr(AsyncClient, name))).split(" -> ")[0],
            )

    def test_they_have_the_names_of_the_cpp_client(self) -> None:
        header = (ROOT / "clients" / "cpp" / "client.h").read_text()
        public = header[header.index("class Client {") : header.index("\n private:")]
        names = set(re.findall(r"^  [\w:]\S.*? ([a-z_]+)\(", public, re.MULTILINE))
        names.discard("retry_after_ms")  # of the error, not of the client
        self.assertGreater(len(names), 30, names)
        for name in sorted(names):
            self.assertTrue(hasattr(Client, name), name)

    def test_the_version_is_that_of_the_project(self) -> None:
        cmake = (ROOT / "CMakeLists.txt").read_text()
        pyproject = (ROOT / "clients" / "python" / "pyproject.toml").read_text()
        version = cascade_llm.__version__
        self.assertIn(f" VERSION {version}", cmake)
        self.assertIn(f'version = "{version}"', pyproject)


if __name__ == "__main__":
    unittest.main()
