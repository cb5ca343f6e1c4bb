"""Several models: listed, loaded when they are asked for, unloaded, each with its own chunks."""
import concurrent.futures
import json
import os
import shutil
import unittest
import urllib.parse

from model_service import DEMO, FIXTURES, ModelsTest
from service import Service, ask


class Listing(ModelsTest):
    def test_folders_and_files_are_listed_with_what_they_take(self):
        self.add_demo("second")
        (self.models / "no-model").mkdir()
        (self.models / "notes.txt").write_text("nothing")
        self.add_demo("bad\nname")
        (self.models / "broken").mkdir()
        (self.models / "broken/config.json").write_text("{")
        with self.service("--max-model-memory", "1G") as service:
            models = self.models_of(service)
            self.assertEqual(list(models), ["demo", "broken", "second"])
            self.assertTrue(models["demo"]["default"])
            self.assertEqual(models["demo"]["state"], "loaded")
            second = models["second"]
            self.assertEqual(second["state"], "unloaded")
            self.assertEqual(second["format"], "folder")
            self.assertEqual(second["path"], str(self.models / "second"))
            self.assertEqual(second["last_used_us"], 0)
            self.assertEqual(second["total_bytes"], second["weights_bytes"] + second["kv_bytes"] +
                             second["other_bytes"])
            self.assertEqual(second["weights_bytes"], models["demo"]["weights_bytes"])
            self.assertIn("config.json", models["broken"]["problem"])
            service.wait_for_log("bad.name: as a model's name must")
            text = service.ctl("model", "list").stdout
            self.assertIn("demo (default)", text)
            self.assertIn("of 1.0 GiB", text)
            estimate = json.loads(
                service.ctl("model", "load", "--estimate", "second", "--json").stdout)
            self.assertEqual(estimate["total_bytes"], second["total_bytes"])
            self.assertEqual(self.loaded(service), {"demo"})

    def test_names_are_those_of_files_as_people_write_them(self):
        names = ["Größe 2", "モデル (4-bit)"]
        for name in names:
            self.add_demo(name)
        with self.service("--http", "127.0.0.1:0",
                          "--http-model-alias", "mein gpt=" + names[0]) as service:
            port = int(service.wait_for_log(r"HTTP at http://127\.0\.0\.1:(\d+)")[0])
            self.assertEqual(list(self.models_of(service)), ["demo", *names])
            first = self.generate(service)["token_ids"]
            for name in names:
                self.assertEqual(self.generate(service, name)["token_ids"], first)
                listed = ask(("127.0.0.1", port), "GET",
                             "/v1/models/" + urllib.parse.quote(name))[1]
                self.assertEqual(listed["id"], name)
            for name, model in (("mein gpt", names[0]), (names[1], names[1])):
                status, answer = ask(("127.0.0.1", port), "POST", "/v1/completions",
                                     {"prompt": "Once", "max_tokens": 3, "model": name})
                self.assertEqual((status, answer["model"]), (200, model))
            service.ctl("model", "unload", names[0] + "/")
            self.assertEqual(self.loaded(service), {"demo", names[1]})
            service.ctl("model", "load", str(self.models / names[0]) + "/")
            self.assertEqual(self.loaded(service), {"demo", *names})

    def test_a_split_file_counts_once(self):
        for part in (1, 2):
            (self.models / f"big-0000{part}-of-00002.gguf").write_bytes(b"GGUF")
        with self.service() as service:
            models = self.models_of(service)
            self.assertEqual(set(models), {"demo", "big"})
            self.assertEqual(models["big"]["format"], "gguf")
            self.assertEqual(models["big"]["disk_bytes"], 8)

    def test_a_model_that_comes_while_the_service_runs_is_found(self):
        with self.service() as service:
            self.assertEqual(list(self.models_of(service)), ["demo"])
            self.add_demo("late")
            self.assertTrue(self.generate(service, "late")["text"])

    def test_without_a_models_directory_there_is_one_model(self):
        with Service() as service:
            self.assertEqual(list(self.models_of(service)), ["demo"])
            answers = [self.generate(service, name)["token_ids"]
                       for name in (None, "demo", "default")]
            self.assertEqual(answers[1:], answers[:1] * 2)

    def test_wrong_folders_are_said(self):
        with Service("--models-dir", self.folder / "none") as service:
            service.wait_for_log(f"{self.folder}/none: No such file")
            self.assertEqual(list(self.models_of(service)), ["demo"])


class Loading(ModelsTest):
    def test_requests_load_the_model_that_they_name(self):
        self.add_demo("second")
        with self.service() as service:
            first = self.generate(service)
            second = self.generate(service, "second")
            self.assertEqual(second["token_ids"], first["token_ids"])
            status = json.loads(service.ctl("--model-name", "second", "status", "--json").stdout)
            self.assertEqual(status["model"], "second")
            self.assertEqual(self.loaded(service), {"demo", "second"})
            self.assertGreater(self.models_of(service)["second"]["last_used_us"], 0)

    def test_load_and_unload_may_be_said_twice(self):
        self.add_demo("second")
        with self.service() as service:
            for _ in range(2):
                done = service.ctl("model", "load", "second", "--json")
                self.assertEqual(json.loads(done.stdout)["state"], "loaded")
            for _ in range(2):
                done = service.ctl("model", "unload", "second", "--json")
                self.assertEqual(json.loads(done.stdout)["state"], "unloaded")
            self.assertEqual(self.loaded(service), {"demo"})
            self.assertIn("is loaded", service.ctl("model", "load", "second").stdout)

    def test_who_is_only_looked_at_is_not_loaded(self):
        self.add_demo("second")
        with self.service() as service:
            done = service.ctl("--model-name", "second", "status", check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("second is not loaded", done.stderr)
            self.assertEqual(self.loaded(service), {"demo"})

    def test_unknown_names_are_refused_with_those_that_are_known(self):
        self.add_demo("second")
        with self.service() as service:
            for command in (("--model-name", "third", "generate", "hi"),
                            ("model", "load", "third"), ("model", "unload", "third")):
                done = service.ctl(*command, check=False)
                self.assertEqual(done.returncode, 1, command)
                self.assertIn("there is no model third; there are: demo, second", done.stderr)
            done = service.ctl("--model-name", "../demo", "status", check=False)
            self.assertEqual(done.returncode, 2)
            done = service.ctl("model", "unload", "demo", check=False)
            self.assertIn("always loaded", done.stderr)

    def test_a_damaged_model_leaves_everything_as_it_was(self):
        self.add_demo("second")
        self.add_demo("damaged")
        (self.models / "damaged/tokenizer.json").unlink()
        (self.models / "damaged/tokenizer.json").write_text("{")
        with self.service() as service:
            before = self.generate(service)
            done = service.ctl("model", "load", "damaged", check=False)
            self.assertEqual(done.returncode, 1, "the command is not wrong")
            self.assertIn("tokenizer.json", done.stderr)
            done = service.ctl("--model-name", "damaged", "generate", "hi", check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("cannot be loaded", done.stderr)
            self.assertIn("tokenizer.json", self.models_of(service)["damaged"]["problem"])
            self.assertEqual(self.generate(service)["token_ids"], before["token_ids"])
            self.assertTrue(self.generate(service, "second")["text"])
            # After it is repaired, a request to load it loads it at once.
            (self.models / "damaged/tokenizer.json").unlink()
            os.symlink(DEMO / "tokenizer.json", self.models / "damaged/tokenizer.json")
            service.ctl("model", "load", "damaged")
            self.assertEqual(self.models_of(service)["damaged"]["problem"], "")

    def test_two_clients_that_load_and_unload_all_get_answers(self):
        self.add_demo("second")
        with self.service() as service:
            def repeat(*command):
                return [service.ctl(*command, check=False) for _ in range(6)]

            with concurrent.futures.ThreadPoolExecutor() as pool:
                jobs = [pool.submit(repeat, "model", "load", "second"),
                        pool.submit(repeat, "model", "unload", "second"),
                        pool.submit(repeat, "--model-name", "second", "generate", "--max-tokens",
                                    "4", "hi")]
                loads, unloads, answers = [job.result() for job in jobs]
            for done in loads + unloads:
                self.assertEqual(done.returncode, 0, done.stderr)
            for done in answers:
                # An answer that was running when the model was unloaded may have been cut.
                if done.returncode not in (0, 4):
                    self.assertIn("unavailable", done.stderr)
            self.assertTrue(self.generate(service, "second")["text"])
            self.assertEqual(service.stop(), 0)


class Separation(ModelsTest):
    def test_chunks_belong_to_a_model_and_survive_its_unloading(self):
        self.add_demo("second")
        text = "A context of some length, so that it has pages of its own. " * 12
        with self.service() as service:
            context = self.folder / "context.txt"
            context.write_text(text)

            def answer():
                done = service.ctl("--model-name", "second", "generate", "--json", "--max-tokens",
                                   "8", "--temperature", "0", "--retain", "--context-file",
                                   context, "Why?")
                return json.loads(done.stdout)

            first = answer()
            self.assertTrue(first["durable"])
            ids = {chunk["id"] for chunk in json.loads(
                service.ctl("--model-name", "second", "chunk", "list", "--json").stdout)["chunks"]}
            self.assertIn(first["output_chunk_id"], ids)
            default = json.loads(service.ctl("chunk", "list", "--json").stdout)["chunks"]
            self.assertEqual(default, [])
            service.ctl("model", "unload", "second")
            self.assertTrue((service.folder / "state/models/second/metadata.db").exists())
            again = answer()
            self.assertEqual(again["token_ids"], first["token_ids"])
            self.assertGreater(again["usage"]["reused_tokens"], 0)
            self.assertGreater(again["usage"]["loaded_tokens"], 0)

    def test_answers_have_the_bits_of_a_service_with_that_model_alone(self):
        name = "qwen3-gqa"
        source = FIXTURES / name
        shutil.copytree(source, self.models / name)
        options = ("--logprobs",)
        with Service(model=source) as alone:
            expected = self.generate(alone, None, *options)
        with self.service() as service:
            with concurrent.futures.ThreadPoolExecutor() as pool:
                # Requests at the same time take turns.
                ours = [pool.submit(self.generate, service, name, *options) for _ in range(3)]
                other = [pool.submit(self.generate, service, None, *options) for _ in range(3)]
                answers = [job.result() for job in ours]
                others = [job.result() for job in other]
        for answer in answers:
            self.assertEqual(answer["token_ids"], expected["token_ids"])
            self.assertEqual(answer["logprobs"], expected["logprobs"])
        self.assertNotEqual(others[0]["token_ids"], expected["token_ids"])
        self.assertEqual(others[0]["logprobs"], others[2]["logprobs"])

    def test_other_tenants_use_models_but_do_not_load_them_by_name(self):
        self.add_demo("second")
        with self.service("--tenant", "alice") as service:
            service.endpoint = f"ipc://{service.folder}/run/tenant-alice.sock"
            done = service.ctl("model", "load", "second", check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("only the tenant", done.stderr)
            self.assertEqual(self.models_of(service)["second"]["path"], "")
            (self.models / "broken").mkdir()
            (self.models / "broken/config.json").write_text("{}")
            done = service.ctl("--model-name", "broken", "generate", "hi", check=False)
            self.assertIn("broken cannot be loaded", done.stderr)
            self.assertNotIn(str(self.models), done.stderr)
            self.assertTrue(self.generate(service, "second")["text"])


class Http(ModelsTest):
    def test_bodies_and_queries_name_models(self):
        self.add_demo("second")
        with self.service("--http", "127.0.0.1:0") as service:
            address = service.http_address()
            status, models = ask(address, "GET", "/v1/models")
            self.assertEqual(status, 200)
            self.assertEqual({m["id"]: m["loaded"] for m in models["data"]},
                             {"demo": True, "second": False})
            question = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4,
                        "temperature": 0, "model": "second"}
            status, answer = ask(address, "POST", "/v1/chat/completions", question)
            self.assertEqual(status, 200)
            self.assertEqual(answer["model"], "second")
            default = ask(address, "POST", "/v1/chat/completions",
                          {**question, "model": "demo"})[1]
            self.assertEqual(default["choices"], answer["choices"])
            self.assertNotEqual(default["system_fingerprint"], answer["system_fingerprint"])
            self.assertTrue(ask(address, "GET", "/v1/models/second")[1]["loaded"])
            status, chunk = ask(address, "POST", "/v1/chunks?model=second",
                                {"type": "CONTEXT", "text": "a text"})
            self.assertEqual(status, 200)
            path = f"/v1/chunks/{chunk['id']}"
            self.assertEqual(ask(address, "GET", path + "?model=second")[0], 200)
            self.assertEqual(ask(address, "GET", path)[0], 404)
            self.assertEqual(ask(address, "POST", "/tokenize?model=second",
                                 {"content": "Hi"})[0], 200)
            status, error = ask(address, "POST", "/v1/chat/completions",
                                {**question, "model": "third"})
            self.assertEqual(status, 404)
            self.assertEqual(error["error"]["code"], "model_not_found")
            self.assertIn("demo, second", error["error"]["message"])
            for name in ("..%2Fdemo", "a%20b"):
                path = f"/v1/chunks?model={name}"
                self.assertEqual(ask(address, "GET", path)[0], 404)
            self.assertEqual(self.loaded(service), {"demo", "second"})

    def test_answers_and_the_list_tell_each_models_own_types(self):
        file = self.models / "tiny.gguf"
        file.symlink_to(FIXTURES / "gguf-types/tiny-Q4_K_M.gguf")
        (self.models / "broken").mkdir()
        (self.models / "broken/config.json").write_text("{")
        question = {"prompt": "Once", "max_tokens": 2, "model": "tiny"}

        def fingerprint(service):
            answer = ask(service.http_address(), "POST", "/v1/completions", question)[1]
            return answer["system_fingerprint"]

        def types(service):
            models = ask(service.http_address(), "GET", "/v1/models")[1]["data"]
            return {model["id"]: model["meta"].get("weight_type") for model in models}

        http = ("--http", "127.0.0.1:0")
        with self.service(*http) as service:
            own = fingerprint(service)
            self.assertEqual(types(service),
                             {"demo": "bf16", "broken": None, "tiny": "q4k and q6k"})
        with Service(*http, model=file) as service:
            self.assertEqual(fingerprint(service), own, "as the default model")
        with self.service(*http, "--weights", "q4k") as service:
            self.assertNotEqual(fingerprint(service), own)


if __name__ == "__main__":
    unittest.main()
