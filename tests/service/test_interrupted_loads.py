"""While one of several models is loaded: a stop, a kill, other requests, and waiting requests."""
import asyncio
import json
import os
import signal
import sys
import unittest

from model_service import PROMPT, ModelsTest
from service import SOURCE, WAIT_S, Stopped

try:
    sys.path.insert(0, str(SOURCE / "clients/python"))
    from cascade_llm import AsyncClient, CascadeError, ClientOptions, GenerateRequest
except ImportError as missing:
    print("SKIPPED: the Python client cannot be used here:", missing, file=sys.stderr)
    sys.exit(77)


class Interrupted(ModelsTest):
    """These tests stop the thread that loads."""

    def hold_loader(self, service):
        client = service.start_ctl("--model-name", "slow", "generate", "hi")
        self.addCleanup(client.communicate)
        service.wait_for_log("loading slow")
        held = Stopped(service.thread("loader")).__enter__()
        self.assertEqual(self.state(service, "slow"), "loading")
        return client, held

    def wait_for_end(self, held):
        """The thread ends with its process although it is stopped. Its tracer must see that before
        others learn of the end of the process."""
        os.waitpid(held.thread, 0x40000000)  # __WALL

    def test_a_service_stops(self):
        self.add_slow("slow")
        with self.service() as service:
            client, held = self.hold_loader(service)
            service.process.send_signal(signal.SIGTERM)
            self.wait_for_end(held)
            self.assertEqual(service.stop(), 0)
            self.assertIn("stopping", client.communicate(timeout=WAIT_S)[1])
            self.assertFalse((service.folder / "run/cascaded.sock").exists())

    def test_a_kill_loses_nothing(self):
        self.add_slow("slow")
        folder = self.folder / "service"
        folder.mkdir()
        with self.service(folder=folder) as service:
            kept = json.loads(service.ctl("chunk", "put", "--json", "--type", "context",
                                          "a text").stdout)["id"]
            _, held = self.hold_loader(service)
            service.process.send_signal(signal.SIGKILL)
            self.wait_for_end(held)
            service.stop()
        with self.service(folder=folder) as service:
            self.assertIn(kept, service.ctl("chunk", "list", "--json").stdout)
            self.assertTrue(self.generate(service, "slow")["text"])

    def test_others_are_answered_and_who_waits_can_cancel(self):
        self.add_slow("slow")
        with self.service() as service:
            client, held = self.hold_loader(service)
            self.assertTrue(self.generate(service)["text"])
            client.send_signal(signal.SIGINT)
            client.communicate(timeout=WAIT_S)
            unload = service.start_ctl("model", "unload", "slow")
            held.__exit__()
            self.assertEqual(unload.wait(timeout=WAIT_S), 0)
            unload.communicate()
            self.assertEqual(self.loaded(service), {"demo"})

    def test_so_many_wait_for_it_and_others_come_back_later(self):
        self.add_slow("slow")
        count = 70  # 64 may wait, including the one of hold_loader()
        with self.service() as service:
            client, held = self.hold_loader(service)

            async def ask_all():
                options = ClientOptions(model="slow")
                request = GenerateRequest(prompt=PROMPT, max_tokens=1)
                async with await AsyncClient.connect(service.endpoint, options=options) as many:
                    asked = [asyncio.ensure_future(many.generate(request)) for _ in range(count)]
                    waiting, refused = asked, 0
                    while refused < count - 63:
                        done, waiting = await asyncio.wait(waiting, timeout=WAIT_S,
                                                           return_when=asyncio.FIRST_COMPLETED)
                        self.assertTrue(done, f"{refused} of {count} are refused")
                        refused += len(done)
                    held.__exit__()
                    return await asyncio.gather(*asked, return_exceptions=True)

            answers = asyncio.run(ask_all())
            refused = [answer for answer in answers if isinstance(answer, CascadeError)]
            self.assertEqual(len(refused), count - 63, answers)
            for error in refused:
                self.assertEqual((error.code, error.field), ("resource_exhausted", "model"))
                self.assertGreater(error.retry_after_ms, 0)
            self.assertEqual(sum(answer.finish_reason == "length" for answer in answers
                                 if answer not in refused), 63)
            client.wait(timeout=WAIT_S)


if __name__ == "__main__":
    unittest.main()
