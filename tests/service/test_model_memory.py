"""Which models make room for which, and that one that cannot be loaded makes none leave."""
import concurrent.futures
import fcntl
import json
import pathlib
import unittest

from model_service import DEMO, PROMPT, ModelsTest
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
            # Then its packed weights are in the cache. A thread takes any arena of malloc's that is
            # free, and each keeps some of what it gave out: several loads, so that all have grown.
            for _ in range(4):
                self.generate(service, "second")
                service.ctl("model", "unload", "second")
            before = resident_bytes(service)
            service.ctl("--model-name", "second", "generate", "--max-tokens", "12", "--context",
                        "word " * 400, PROMPT)
            status = json.loads(service.ctl("--model-name", "second", "status", "--json").stdout)
            grown = resident_bytes(service) - before
            model = self.models_of(service)["second"]
            # Of the budget of K and V only what is used is there.
            expected = (model["weights_bytes"] + model["other_bytes"] + status["kv_bytes_used"])
            self.assertLess(abs(grown - expected), 0.15 * expected, (grown, expected, model))
            service.ctl("model", "unload", "second")
            for _ in range(3):
                self.generate(service, "second")
                service.ctl("model", "unload", "second")
            # malloc keeps some for the next threads, and more where more cores give it more arenas.
            # An eighth of the model that stays after each of the four loads is more than this.
            left = resident_bytes(service) - before
            self.assertLess(left, grown / 2, (before, grown, left))

    def budget_for(self, count):
        """Room for the default model and so many more of its size."""
        with self.service() as service:
            one = self.models_of(service)["demo"]["total_bytes"]
        return str(one * (count + 1) + one // 2)

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

    def broken_models(self):
        """What is wrong with each, by name: words of its error."""
        def replace(name, file, content):
            path = self.models / name / file
            path.unlink(missing_ok=True)
            if content is not None:
                path.write_text(content)

        def change(file, key, value):
            content = json.loads((DEMO / file).read_text())
            return json.dumps({**content, key: value})

        wrong = {
            "no-tokenizer": ("tokenizer.json", None, "tokenizer.json"),
            "bad-tokenizer": ("tokenizer.json", "{", "tokenizer.json"),
            "bad-template": ("chat_template.jinja", "{% if %}", "line 1"),
            "bad-generation": ("generation_config.json", '{"eos_token_id": -1}', "eos_token_id"),
            "bad-config": ("config.json", change("config.json", "head_dim", 63), "head_dim"),
            "other-shape": ("config.json", change("config.json", "intermediate_size", 64),
                            "has shape"),
            "small-vocabulary": ("config.json", change("config.json", "vocab_size", 7),
                                 "embed_tokens"),
        }
        for name, (file, content, _) in wrong.items():
            self.add_demo(name)
            replace(name, file, content)
        return {name: words for name, (_, _, words) in wrong.items()}

    def test_a_broken_model_takes_nobodys_room(self):
        self.add_demo("good")
        broken = self.broken_models()
        with self.service("--max-model-memory", self.budget_for(1)) as service:
            before = self.generate(service, "good")
            for name, words in broken.items():
                for command in (("model", "load", name),
                                ("--model-name", name, "generate", "hi")):
                    done = service.ctl(*command, check=False)
                    self.assertEqual(done.returncode, 1, (name, done.stderr))
                    self.assertIn(words, done.stderr)
                self.assertIn(words, self.models_of(service)[name]["problem"])
                self.assertFalse((service.folder / "state/models" / name).exists())
            self.assertEqual(self.loaded(service), {"demo", "good"})
            self.assertNotIn("unloading good", service.log())
            again = self.generate(service, "good")
            self.assertEqual(again["token_ids"], before["token_ids"])

    def test_a_model_whose_state_is_in_use_takes_nobodys_room(self):
        self.add_demo("good")
        self.add_demo("used")
        with self.service("--max-model-memory", self.budget_for(1)) as service:
            self.generate(service, "good")
            state = service.folder / "state/models/used"
            state.mkdir(mode=0o700)
            with open(state / "lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                done = service.ctl("model", "load", "used", check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn("uses this state directory", done.stderr)
            self.assertNotIn("unloading good", service.log())
            service.ctl("model", "load", "used")
            self.assertEqual(self.loaded(service), {"demo", "used"})

    def add_infinite(self, name):
        """The demo model with a weight that only packing sees to be infinite."""
        self.add_demo(name)
        shard = self.models / name / "model-00002-of-00003.safetensors"
        content = bytearray(shard.read_bytes())
        begin = 8 + int.from_bytes(content[:8], "little")
        table = json.loads(content[8:begin])
        table.pop("__metadata__", None)
        matrix = next(entry for entry in table.values() if len(entry["shape"]) == 2)
        at = begin + matrix["data_offsets"][0]
        content[at:at + 2] = b"\x80\x7f"
        shard.unlink()
        shard.write_bytes(content)

    def test_who_made_room_for_a_model_that_fails_is_loaded_again(self):
        for name in ("a", "b"):
            self.add_demo(name)
        self.add_infinite("infinite")
        with self.service("--max-model-memory", self.budget_for(1)) as service:
            before = self.generate(service, "a")
            last_used_us = self.models_of(service)["a"]["last_used_us"]
            # Another load that waits behind it is not lost, and gets its turn.
            with concurrent.futures.ThreadPoolExecutor() as pool:
                failed = pool.submit(service.ctl, "model", "load", "infinite", check=False)
                service.wait_for_log("loading infinite")
                other = pool.submit(service.ctl, "model", "load", "no-such", check=False)
                self.assertEqual(other.result().returncode, 1)
                done = failed.result()
            self.assertEqual(done.returncode, 1)
            self.assertIn("infinite", done.stderr)
            service.wait_for_log("unloading a: infinite needs its memory")
            service.wait_for_log("loading a again")
            service.wait_for_log("serving a\n", count=2)
            self.assertEqual(self.loaded(service), {"demo", "a"})
            self.assertEqual(self.models_of(service)["a"]["last_used_us"], last_used_us)
            self.assertEqual(self.generate(service, "a")["token_ids"], before["token_ids"])
            self.assertFalse((service.folder / "state/models/infinite").exists())
            service.ctl("model", "load", "b")
            self.assertEqual(self.loaded(service), {"demo", "b"})

    def test_two_loads_of_which_one_fails_do_not_disturb_each_other(self):
        for name in ("a", "b"):
            self.add_demo(name)
        self.add_infinite("infinite")
        with self.service("--max-model-memory", self.budget_for(1)) as service:
            self.generate(service, "a")
            with concurrent.futures.ThreadPoolExecutor() as pool:
                jobs = [pool.submit(service.ctl, "model", "load", name, check=False)
                        for name in ("infinite", "b", "infinite", "b")]
                codes = [job.result().returncode for job in jobs]
            self.assertEqual(codes[1::2], [0, 0])
            self.assertEqual(codes[0::2], [1, 1])
            self.assertTrue(self.generate(service, "b")["text"])
            self.assertTrue(self.generate(service, "a")["text"])
            self.assertEqual(self.loaded(service), {"demo", "a"})
            self.assertEqual(service.stop(), 0)

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
            # The other one was not cut, and nothing of it was lost.
            running.communicate(timeout=WAIT_S)
            self.assertEqual(running.returncode, 4, "by --max-tokens, and by nothing else")
            self.assertEqual(self.loaded(service), {"demo", "b"})
            self.assertTrue(self.generate(service, "a")["text"])
            self.assertEqual(self.loaded(service), {"demo", "a"})


if __name__ == "__main__":
    unittest.main()
