"""Client and AsyncClient with a real daemon and the demo model: every message of the protocol."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from cascade_llm import (
    Accepted,
    AsyncClient,
    CascadeError,
    ChatMessage,
    ChunkRef,
    ChunkType,
    Client,
    Delta,
    Final,
    GenerateRequest,
    KvState,
    LogitBias,
    PrefixCache,
    PrivateDaemon,
    Sampling,
    SessionOutput,
    ThinkPolicy,
    chunk_reference,
    endpoint_of,
)
from support import DEMO_MODEL, PATIENCE_S, DaemonTest, prompt

SYSTEM = "You are a helpful assistant."
GREEDY = Sampling(temperature=0)


def ask(question: str, **more: object) -> GenerateRequest:
    fields: dict[str, object] = {"messages": [ChatMessage("user", question)], "sampling": GREEDY}
    return GenerateRequest(**{**fields, **more})  # type: ignore[arg-type]


def endless(text: str = "The") -> GenerateRequest:
    """Goes on until it is cancelled."""
    return GenerateRequest(prompt=text, ignore_eos=True, max_tokens=1 << 20)


class ClientTest(DaemonTest):
    client: Client

    def setUp(self) -> None:
        self.client = Client(self.daemon.endpoint)
        self.addCleanup(self.client.close)

    def assert_refused(self, code: str, field: str, work: object) -> CascadeError:
        assert callable(work)
        with self.assertRaises(CascadeError) as refused:
            work()
        error = refused.exception
        self.assertEqual((error.code, error.field), (code, field), error)
        return error


class GenerationTest(ClientTest):
    def test_an_answer_streams_and_its_pieces_are_its_text(self) -> None:
        events = list(self.client.stream(ask("What is the capital of France?")))
        self.assertIsInstance(events[0], Accepted)
        final = events[-1]
        assert isinstance(final, Final)
        self.assertEqual(final.text, "The capital of France is Paris.")
        pieces = [event.text for event in events if isinstance(event, Delta)]
        self.assertEqual("".join(pieces), final.text)
        self.assertEqual(final.usage.completion_tokens, len(final.token_ids))

    def test_thoughts_come_apart_from_the_answer(self) -> None:
        # The demo model thinks or does not, as it is drawn.
        for seed in range(1, 40):
            request = ask("What is 2+2?", sampling=Sampling(temperature=0.8, seed=seed))
            events = list(self.client.stream(request))
            last = events[-1]
            assert isinstance(last, Final)
            final = last
            if final.reasoning and final.text:
                break
        deltas = [event for event in events if isinstance(event, Delta)]
        self.assertEqual("".join(d.text for d in deltas if d.reasoning), final.reasoning)
        self.assertEqual("".join(d.text for d in deltas if not d.reasoning), final.text)
        self.assertGreater(final.usage.reasoning_tokens, 0)

    def test_logprobs_come_for_each_token(self) -> None:
        final = self.client.generate(ask("What is 2+2?", logprobs=True, top_logprobs=3))
        self.assertEqual(len(final.logprobs), len(final.token_ids))
        self.assertEqual(len(final.top_token_ids), 3 * len(final.token_ids))
        self.assertEqual(final.top_token_ids[::3], final.token_ids)  # greedy: the most likely
        self.assertTrue(all(logprob <= 0 for logprob in final.logprobs))

    def test_seeds_biases_and_stops_do_what_they_say(self) -> None:
        sampling = Sampling(temperature=1.5, seed=7)
        seeded = ask("What does happy mean?", sampling=sampling, max_tokens=30)
        first, second = self.client.generate_batch([seeded, seeded])
        assert isinstance(first, Final) and isinstance(second, Final)
        self.assertEqual((first.token_ids, first.seed), (second.token_ids, 7))
        greedy = self.client.generate(ask("x", max_tokens=1))
        banned = [LogitBias(greedy.token_ids[0], -100.0)]
        other = self.client.generate(
            ask("x", sampling=Sampling(temperature=0, logit_bias=banned), max_tokens=1)
        )
        self.assertNotEqual(other.token_ids, greedy.token_ids)
        stopped = self.client.generate(ask("What is the capital of France?", stop=[" is"]))
        self.assertEqual(stopped.text, "The capital of France")
        short = self.client.generate(ask("What is the capital of France?", max_tokens=2))
        self.assertEqual((short.finish_reason, len(short.token_ids)), ("length", 2))

    def test_it_is_cancelled_by_stream_by_id_and_by_its_deadline(self) -> None:
        stream = self.client.stream(endless())
        self.assertTrue(any(isinstance(event, Delta) for event in stream))
        stream.cancel()
        final = stream.result()
        self.assertEqual(final.finish_reason, "cancelled")
        stream = self.client.stream(endless())
        self.client.cancel(stream.request_id)
        self.assertEqual(stream.result().finish_reason, "cancelled")
        self.assert_refused(
            "not_found", "target", lambda: self.client.cancel(stream.request_id)
        )
        late = endless()
        late.timeout_ms = 1
        self.assert_refused(
            "deadline_exceeded", "timeout_ms", lambda: self.client.generate(late)
        )

    def test_a_stream_that_is_left_ends_in_the_daemon(self) -> None:
        with self.client.stream(endless()) as stream:
            self.assertTrue(any(isinstance(event, Delta) for event in stream))
            self.assertGreater(self.client.status().requests_running, 0)
        while self.client.status().requests_running > 0:
            pass  # the test's own time limit says when this has failed

    def test_text_of_any_language_arrives_as_it_was(self) -> None:
        text = "Grüße, 世界! 🙂 \u202e \u0000 a\u0301\n" * 20
        chunk = self.client.put_chunk(ChunkType.CONTEXT, text)
        self.assertEqual(self.client.get_chunk(chunk.id).text, text)
        final = self.client.generate(ask(text, max_tokens=3))
        self.assertEqual(final.usage.completion_tokens, 3)

    def test_bad_arguments_name_their_field(self) -> None:
        bad: list[tuple[str, GenerateRequest]] = [
            ("prompt", GenerateRequest()),
            ("prompt", prompt("")),
            ("prompt", ask("x", prompt="y")),
            ("messages[0].role", GenerateRequest(messages=[ChatMessage("robot", "x")])),
            ("messages[0].role", GenerateRequest(messages=[ChatMessage("assistant", "x")])),
            ("max_tokens", ask("x", max_tokens=-1)),
            ("sampling.temperature", ask("x", sampling=Sampling(temperature=-1))),
            ("sampling.temperature", ask("x", sampling=Sampling(temperature=float("nan")))),
            ("sampling.top_p", ask("x", sampling=Sampling(top_p=2))),
            ("sampling.logit_bias[3]", ask("x", sampling=Sampling(logit_bias=[LogitBias(3, 101)]))),
            ("stop[0]", ask("x", stop=[""])),
            ("top_logprobs", ask("x", top_logprobs=5)),
            ("output_name", ask("x", output_name="n")),
            ("session", ask("x", session="s")),
            ("chunks[0].type", GenerateRequest(chunks=[ChunkRef(ChunkType.QUERY, text="x")] * 2)),
        ]
        for field, request in bad:
            with self.subTest(field):
                self.assert_refused(
                    "invalid_argument", field, lambda: self.client.generate(request)
                )
        unknown = GenerateRequest(chunks=[chunk_reference("output_" + "0" * 32)])
        self.assert_refused("not_found", "chunks[0].id", lambda: self.client.generate(unknown))

    def test_inputs_that_are_too_large_are_refused(self) -> None:
        tokens = self.client.status().context_tokens_max
        long = prompt("x" * (128 * tokens + 1))
        error = self.assert_refused(
            "invalid_argument", "prompt", lambda: self.client.generate(long)
        )
        self.assertIn("limit", error.message)
        with self.assertRaises(CascadeError) as refused:
            self.client.generate(prompt("a b" * tokens))
        self.assertIn(refused.exception.code, ("resource_exhausted", "invalid_argument"))
        self.assert_refused(
            "invalid_argument", "text",
            lambda: self.client.put_chunk(ChunkType.CONTEXT, "x" * ((16 << 20) + 1)),
        )
        self.client.ping()

    def test_threads_and_batches_are_in_flight_at_once(self) -> None:
        texts: list[str] = []

        def work() -> None:
            for _ in range(3):
                texts.append(self.client.generate(ask("What is the capital of France?")).text)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        batch = self.client.generate_batch([ask("What is the capital of Italy?")] * 20)
        for thread in threads:
            thread.join(PATIENCE_S)
        self.assertEqual(texts, ["The capital of France is Paris."] * 12)
        for final in batch:
            assert isinstance(final, Final)
            self.assertEqual(final.text, "The capital of Italy is Rome.")


class ChunkTest(ClientTest):
    def test_a_chunk_is_made_changed_found_and_deleted(self) -> None:
        client = self.client
        chunk = client.put_chunk(ChunkType.CONTEXT, "The zebra is striped.", name="zoo", ttl_ms=0)
        again = client.put_chunk(ChunkType.CONTEXT, "The zebra is striped.")
        self.assertEqual((again.id, again.registrations), (chunk.id, 2))
        self.assertEqual(client.get_chunk(chunk.id[:20]).token_ids, chunk.token_ids)
        self.assertEqual(client.rename_chunk(chunk.id, "ark").name, "ark")
        # The time is the retention's; the names hold it for good.
        self.assertEqual(client.set_chunk_ttl(chunk.id, 3_600_000).expires_us, 0)
        held = {(h.kind, h.label) for h in client.get_chunk(chunk.id).holders}
        self.assertEqual(held, {("name", "zoo"), ("name", "ark"), ("retention", "")})
        self.assertEqual(client.set_chunk_priority(chunk.id, 80).priority, 80)
        self.assertGreater(client.set_chunk_priority(chunk.id, 80, 60_000).priority_until_us, 0)
        touched = client.touch_chunk(chunk.id)
        self.assertEqual((touched.hits, touched), (1, client.get_chunk(chunk.id)))
        self.assertTrue(client.pin_chunk(chunk.id).pinned)
        self.assert_refused("conflict", "id", lambda: client.delete_chunk(chunk.id, all=True))
        unpinned = client.unpin_chunk(chunk.id)
        self.assertEqual([h.kind for h in unpinned.ended], ["pin"])
        self.assertEqual((unpinned.pinned, unpinned.gone), (False, False))
        self.assertTrue(client.update_chunk(chunk.id, published=True, name="").published)
        hits = client.search_chunks("zebra striped")
        self.assertEqual([hit.id for hit in hits], [chunk.id])
        self.assertIn("zebra", hits[0].snippet)
        held = client.delete_chunk(chunk.id)
        self.assertEqual([(h.kind, h.count) for h in held.ended], [("retention", 1)])
        self.assertFalse(held.gone)
        self.assertNotEqual(held.holders, [])
        gone = client.delete_chunk(chunk.id, all=True)
        self.assertEqual((gone.id, gone.holders, gone.gone), (chunk.id, [], True))
        self.assertEqual(gone.ended, held.holders)
        self.assert_refused("not_found", "id", lambda: client.get_chunk(chunk.id))
        self.assert_refused("invalid_argument", "id", lambda: client.update_chunk(chunk.id * 4))
        self.assertTrue(client.all_durable)

    def test_token_ids_make_the_chunk_of_their_text(self) -> None:
        text = self.client.put_chunk(ChunkType.QUERY, "What is the capital of France?")
        ids = self.client.put_chunk(ChunkType.QUERY, token_ids=text.token_ids)
        self.assertEqual(ids.id, text.id)
        self.assert_refused(
            "invalid_argument", "token_ids[0]",
            lambda: self.client.put_chunk(ChunkType.QUERY, token_ids=[1 << 30]),
        )

    def test_lists_come_in_pages(self) -> None:
        made = [self.client.put_chunk(ChunkType.CONTEXT, f"note {i}").id for i in range(7)]
        pages = self.client.list_chunks(ChunkType.CONTEXT, limit=3)
        self.assertEqual((len(pages.chunks), pages.more), (3, True))
        after = self.client.list_chunks(ChunkType.CONTEXT, limit=3, after=pages.chunks[-1].id)
        self.assertNotIn(after.chunks[0].id, [chunk.id for chunk in pages.chunks])
        listed = {info.chunk.id: info for info in self.client.list_all_chunks(ChunkType.CONTEXT)}
        self.assertTrue(set(made) <= set(listed))
        self.assertGreater(listed[made[0]].tokens, 0)
        self.assertEqual(len(self.client.list_all_chunks(count_max=5)), 5)

    def test_policies_give_new_chunks_their_time(self) -> None:
        set_to = self.client.set_expiry_policy(ChunkType.QUERY, 3_600_000)
        self.assertEqual([(one.type, one.ttl_ms) for one in set_to], [("QUERY", 3_600_000)])
        self.assertEqual(self.client.expiry_policies(), set_to)
        self.assertGreater(self.client.put_chunk(ChunkType.QUERY, "expires").expires_us, 0)
        self.assertEqual(self.client.set_expiry_policy(ChunkType.QUERY, 0), [])

    def test_outputs_are_reused_as_contexts(self) -> None:
        client = self.client
        first = client.generate_and_retain_output(
            SYSTEM, "What is the capital of France?", GenerateRequest(sampling=GREEDY)
        )
        second = client.generate_from_chunks(
            system_chunk_id=client.register_chunk(SYSTEM, ChunkType.SYSTEM_PROMPT),
            context_chunk_ids=[first.output_chunk_id],
            query_chunk_id=client.register_chunk("What city did we just discuss?", ChunkType.QUERY),
            params=GenerateRequest(sampling=GREEDY),
        )
        self.assertEqual(second.text, "We just discussed Paris.")
        self.assertGreaterEqual(second.usage.reused_tokens, first.usage.prompt_tokens)
        retained = {info.chunk.id for info in client.get_retained_sequences()}
        self.assertIn(first.output_chunk_id, retained)
        client.release_retained_sequence(first.output_chunk_id)
        self.assert_refused(
            "not_found", "id", lambda: client.release_retained_sequence(first.output_chunk_id)
        )
        query = client.register_chunk("no output", ChunkType.QUERY)
        self.assert_refused(
            "invalid_argument", "id", lambda: client.release_retained_sequence(query)
        )
        self.assertEqual(client.get_chunk(query).text, "no output")

    def test_an_output_has_the_settings_that_its_request_gave(self) -> None:
        request = ask("What is 2+2?", retain_output=True, output_name="sum", output_priority=90)
        request.think_policy = ThinkPolicy.KEEP
        output = self.client.get_chunk(self.client.generate(request).output_chunk_id)
        self.assertEqual((output.name, output.priority), ("sum", 90))
        self.assertEqual((output.think_policy, output.query_text), ("keep", "What is 2+2?"))
        self.assertIn(output.kv_state, list(KvState))

    def test_an_answer_says_which_attention_mode_was_used(self) -> None:
        modes = {None: "dense", "dense": "dense", "window:512": "window:512:64"}
        for mode, used in (*modes.items(), ("select:100", "select:128:0")):
            final = self.client.generate(ask("What is 2+2?", attention=mode, max_tokens=4))
            self.assertEqual((final.attention, final.usage.selected_tokens), (used, 0))
        for wrong in ("sparse", "window:63", "w" * 65):
            self.assert_refused(
                "invalid_argument",
                "attention",
                lambda: self.client.generate(ask("x", attention=wrong)),
            )

    def test_a_request_may_keep_data_rank_its_prompt_and_refuse_reuse(self) -> None:
        penalized = Sampling(temperature=0, presence_penalty=1.5, frequency_penalty=-0.5)
        request = ask("What is 2+3?", sampling=penalized, retain_output=True, client_data="ß\0")
        request.prompt_priority, request.prompt_priority_ms = 90, 60_000
        output = self.client.get_chunk(self.client.generate(request).output_chunk_id)
        self.assertEqual(output.client_data, "ß\0")
        how = output.generation
        self.assertEqual((how.presence_penalty, how.frequency_penalty), (1.5, -0.5))
        cold = self.client.generate(ask("What is 2+3?", reuse=False))
        self.assertEqual((cold.usage.reused_tokens, cold.usage.miss.reason), (0, "reuse_off"))


class RestTest(ClientTest):
    def test_sessions_go_on_and_are_deleted(self) -> None:
        def turn(question: str) -> Final:
            chunks = [ChunkRef(ChunkType.QUERY, text=question)]
            return self.client.generate(
                GenerateRequest(chunks=chunks, session="trip", sampling=GREEDY)
            )

        turn("What is the capital of France?")
        self.assertEqual(turn("What city did we just discuss?").text, "We just discussed Paris.")
        session = self.client.get_session("trip")
        self.assertEqual([turn.number for turn in session.turns], [0, 1])
        self.assertIn("trip", [one.id for one in self.client.list_sessions(limit=10)])
        outputs = [turn.output_id for turn in session.turns]
        self.assert_refused("conflict", "id", lambda: self.client.delete_chunk(outputs[0]))
        self.client.rename_chunk(outputs[1], "kept")
        deleted = self.client.delete_session("trip", outputs=True)
        self.assertEqual(deleted.session.turns, 2)
        self.assertEqual(
            deleted.outputs,
            [SessionOutput(outputs[0], True), SessionOutput(outputs[1], False, 'the name "kept"')],
        )
        self.assert_refused("not_found", "id", lambda: self.client.get_session("trip"))

    def test_prefixes_belong_to_the_connection(self) -> None:
        chunks = [ChunkRef(ChunkType.SYSTEM_PROMPT, text="You know all rivers. " * 40)]
        prefix = self.client.cache_prefix(PrefixCache(chunks=chunks))
        self.assertGreater(prefix.tokens, 64)
        with Client(self.daemon.endpoint) as other:
            self.assertEqual(other.attach_prefix(prefix.id).references, 2)
        while self.client.attach_prefix(prefix.id).references > 2:
            self.client.release_prefix(prefix.id)  # until the other connection is gone
        self.assertEqual(self.client.release_prefix(prefix.id).references, 1)
        self.assertEqual(self.client.release_prefix(prefix.id).references, 0)
        self.assert_refused("not_found", "id", lambda: self.client.attach_prefix(prefix.id))

    def test_the_daemon_tells_of_itself(self) -> None:
        self.assertEqual(self.client.ping().boot_id, self.client.boot_id)
        status = self.client.status()
        self.assertEqual((status.model, status.state), ("demo", "serving"))
        self.assertEqual(status.version, self.client.daemon_version)
        self.client.put_chunk(ChunkType.CONTEXT, "counted")
        stats = self.client.get_chunk_stats()
        assert stats.cache is not None and stats.disk is not None
        self.assertGreater(stats.cache.pages_max, 0)
        self.assertIn(("local", "CONTEXT"), [(one.tenant, one.type) for one in stats.groups])

    def test_another_tenant_sees_its_own_chunks_only(self) -> None:
        chunk = self.client.put_chunk(ChunkType.CONTEXT, "not for guests")
        run_dir = Path(self.daemon.endpoint[len("ipc://") :]).parent
        with Client(endpoint_of(run_dir, "guest")) as guest:
            self.assertEqual(guest.list_all_chunks(), [])
            with self.assertRaises(CascadeError) as refused:
                guest.get_chunk(chunk.id)
            self.assertEqual(refused.exception.code, "not_found")
            self.assertIsNone(guest.get_chunk_stats().cache)
            self.assert_refused("conflict", "tenant", guest.fsck)

    def test_what_is_on_disk_is_verified_and_copied(self) -> None:
        verified = self.client.fsck(repair=True)
        self.assertEqual((verified.findings, verified.left), ([], 0))
        with tempfile.TemporaryDirectory() as folder:
            copied = self.client.backup(str(Path(folder, "copy")))
            self.assertEqual(copied.pages_bad, 0)
            self.assertTrue(any(Path(folder, "copy").iterdir()))
            copy = str(Path(folder, "copy"))
            self.assert_refused("conflict", "directory", lambda: self.client.backup(copy))
        self.assert_refused("invalid_argument", "directory", lambda: self.client.backup("copy"))
        self.assert_refused(
            "conflict", "state_dir", lambda: self.client.fsck(state_dir="/somewhere/else")
        )


# Is interrupted in generate(); says how many generations the daemon then still runs.
INTERRUPTED = """
import sys
from cascade_llm import Client, GenerateRequest
client = Client(sys.argv[1])
try:
    print("begins", flush=True)
    client.generate(GenerateRequest(prompt="The", ignore_eos=True, max_tokens=1 << 20))
except KeyboardInterrupt:
    while client.status().requests_running > 0:
        pass
    print("interrupted", flush=True)
"""


class InterruptTest(ClientTest):
    def test_ctrl_c_cancels_the_generation(self) -> None:
        program = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED, self.daemon.endpoint],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert program.stdout is not None
        self.assertEqual(program.stdout.readline(), "begins\n")
        while self.client.status().requests_running == 0:
            pass  # the test's own time limit says when this has failed
        program.send_signal(signal.SIGINT)
        out, _ = program.communicate(timeout=PATIENCE_S)
        self.assertEqual((out, program.returncode), ("interrupted\n", 0))


class AsyncTest(DaemonTest):
    def test_the_same_works_in_an_event_loop(self) -> None:
        async def work() -> None:
            async with AsyncClient(self.daemon.endpoint) as client:
                asked = [ask(f"What is the capital of {of}?") for of in ("France", "Italy")]
                france, italy = await asyncio.gather(*map(client.generate, asked))
                self.assertEqual(france.text, "The capital of France is Paris.")
                self.assertEqual(italy.text, "The capital of Italy is Rome.")
                with self.assertRaises(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await client.generate(endless())
                while (await client.status()).requests_running > 0:
                    pass
                chunk = await client.put_chunk(ChunkType.CONTEXT, "async")
                self.assertEqual((await client.delete_chunk(chunk.id)).text, "async")

        asyncio.run(work())


class KillTest(unittest.TestCase):
    def test_a_daemon_that_is_killed_amid_a_stream_fails_it_and_comes_back(self) -> None:
        with tempfile.TemporaryDirectory() as state:
            daemon = PrivateDaemon(DEMO_MODEL, state_dir=state)
            client = Client(daemon.endpoint)
            kept = client.generate(ask("What is the capital of France?", retain_output=True))
            boot_id = client.boot_id
            stream = client.stream(endless())
            self.assertTrue(any(isinstance(event, Delta) for event in stream))
            os.kill(daemon.pid, signal.SIGKILL)
            with self.assertRaises(CascadeError) as failed:
                stream.result()
            self.assertTrue(failed.exception.unreachable and failed.exception.retryable)
            with self.assertRaises(CascadeError) as failed:
                client.status()
            self.assertTrue(failed.exception.unreachable)
            client.close()
            daemon.stop()
            again = PrivateDaemon(DEMO_MODEL, state_dir=state)
            with Client(again.endpoint) as client:
                self.assertNotEqual(client.boot_id, boot_id)
                self.assertEqual(client.get_chunk(kept.output_chunk_id).text, kept.text)
            again.stop()


if __name__ == "__main__":
    unittest.main()
