"""A model that cannot be loaded takes no other's room: none is unloaded for it, or the one
that was is loaded again."""
import concurrent.futures
import fcntl
import json
import unittest

from model_service import DEMO, ModelsTest


class FailedLoads(ModelsTest):
    def broken_models(self):
        """Adds broken models; returns by name the words that the error of each must have."""
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
        """Adds the demo model with an infinite weight, which only packing notices."""
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
            # Another load that waits for this one is not lost, and gets its turn.
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


if __name__ == "__main__":
    unittest.main()
