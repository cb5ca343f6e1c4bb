"""How much memory models take, and which of them make room for others."""
import json
import pathlib
import unittest

from model_service import PROMPT, ModelsTest
from service import LONG, WAIT_S, is_sanitized


def resident_bytes(service):
    status = pathlib.Path(f"/proc/{service.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


class Memory(ModelsTest):
    def reply(self, service):
        return json.loads(service.ctl("model", "list", "--json").stdout)

    def test_what_is_loaded_counts_as_it_was_estimated(self):
        self.add_demo("second")
        with self.service("--weights", "f32") as service:
            before = self.reply(service)["total_bytes"]
            second = self.models_of(service)["second"]
            self.assertEqual(before, second["total_bytes"], "the default model is the same")
            for _ in range(2):
                service.ctl("--model-name", "second", "generate", "--max-tokens", "12",
                            "--context", "word " * 100, PROMPT)
                loaded = self.models_of(service)["second"]
                for part in ("weights_bytes", "kv_bytes", "other_bytes", "total_bytes"):
                    self.assertEqual(loaded[part], second[part], part)
                self.assertEqual(self.reply(service)["total_bytes"],
                                 before + second["total_bytes"])
                status = json.loads(
                    service.ctl("--model-name", "second", "status", "--json").stdout)
                self.assertEqual(status["weight_bytes"], second["weights_bytes"])
                self.assertGreater(status["kv_bytes_used"], 0)
                self.assertLessEqual(status["kv_bytes_used"], second["kv_bytes"])
                service.ctl("model", "unload", "second")
                self.assertEqual(self.reply(service)["total_bytes"], before)

    @unittest.skipUnless(LONG, "what the machine gives is measured if CASCADE_LONG_TESTS=1")
    @unittest.skipIf(is_sanitized(), "a sanitizer keeps what was given back")
    def test_what_is_estimated_is_taken_and_given_back(self):
        self.add_demo("second")
        with self.service("--weights", "f32") as service:
            self.generate(service)
            # After this, the packed weights are in the cache. A thread takes any free arena of
            # malloc, and each arena keeps some freed memory: several loads let all of them grow.
            for _ in range(4):
                self.generate(service, "second")
                service.ctl("model", "unload", "second")
            before = resident_bytes(service)
            service.ctl("--model-name", "second", "generate", "--max-tokens", "12", "--context",
                        "word " * 400, PROMPT)
            status = json.loads(service.ctl("--model-name", "second", "status", "--json").stdout)
            grown = resident_bytes(service) - before
            model = self.models_of(service)["second"]
            # Only the used part of the budget for K and V takes memory.
            expected = (model["weights_bytes"] + model["other_bytes"] + status["kv_bytes_used"])
            self.assertLess(abs(grown - expected), 0.15 * expected, (grown, expected, model))
            service.ctl("model", "unload", "second")
            for _ in range(3):
                self.generate(service, "second")
                service.ctl("model", "unload", "second")
            # malloc keeps some memory for the next threads, and more on machines with more cores,
            # where it has more arenas. An eighth of the model left after each of the four loads
            # would be more than this.
            left = resident_bytes(service) - before
            self.assertLess(left, grown / 2, (before, grown, left))

    def test_the_model_not_used_for_longest_makes_room(self):
        for name in ("a", "b", "c"):
            self.add_demo(name)
        with self.service("--max-model-memory", self.budget_for(2)) as service:
            for name in ("a", "b", "a", "c"):
                self.generate(service, name)
            self.assertEqual(self.loaded(service), {"demo", "a", "c"})
            self.generate(service, "b")
            self.assertEqual(self.loaded(service), {"demo", "c", "b"})
            reply = self.reply(service)
            self.assertLessEqual(reply["total_bytes"], reply["total_bytes_max"])

    def test_a_model_that_never_fits_is_refused_with_both_numbers(self):
        self.add_demo("second")
        with self.service() as service:
            one = self.models_of(service)["demo"]["total_bytes"]
        with self.service("--max-model-memory", str(one + one // 2)) as service:
            for command in (("model", "load", "second"),
                            ("--model-name", "second", "generate", "hi")):
                done = service.ctl(*command, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn(f"takes {one} bytes", done.stderr)
                self.assertIn(f"max_model_memory is {one + one // 2}", done.stderr)
            self.assertTrue(self.generate(service)["text"])

    def test_a_busy_model_makes_room_when_its_requests_have_ended(self):
        self.add_demo("a")
        self.add_demo("b")
        with self.service("--max-model-memory", self.budget_for(1)) as service:
            service.ctl("model", "load", "a")
            running = service.start_ctl("--model-name", "a", "generate", "--stream",
                                        "--ignore-eos", "--max-tokens", "300", "Count")
            running.stdout.read(1)
            answer = self.generate(service, "b")
            self.assertTrue(answer["text"])
            # The other request was not cut, and nothing of its answer was lost.
            running.communicate(timeout=WAIT_S)
            self.assertEqual(running.returncode, 4, "by --max-tokens, and by nothing else")
            self.assertEqual(self.loaded(service), {"demo", "b"})
            self.assertTrue(self.generate(service, "a")["text"])
            self.assertEqual(self.loaded(service), {"demo", "a"})


if __name__ == "__main__":
    unittest.main(verbosity=2)  # says what is skipped, and why
