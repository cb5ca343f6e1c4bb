"""Shared by the tests of several models: a folder of models, and services that use it."""
import json
import os
import pathlib
import tempfile
import unittest

from service import SOURCE, Service

DEMO = SOURCE / "models/demo"
FIXTURES = SOURCE / "tests/model/fixtures"
PROMPT = "The capital of France is"


class ModelsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cascade-models-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.models = self.folder / "models"
        self.models.mkdir()

    def add_demo(self, name):
        """Adds the demo model under another name; the files are shared."""
        (self.models / name).mkdir()
        for file in DEMO.iterdir():
            os.symlink(file, self.models / name / file.name)

    def add_slow(self, name):
        """Adds the demo model with a tokenizer that takes a while to read."""
        self.add_demo(name)
        tokenizer = self.models / name / "tokenizer.json"
        tokenizer.unlink()
        tokenizer.write_bytes((DEMO / "tokenizer.json").read_bytes() + b" " * (56 << 20))

    def service(self, *options, **more):
        # All services of a test share the folder of packed weights.
        return Service("--models-dir", self.models, "--cache-dir", self.folder / "cache", *options,
                       **more)

    def models_of(self, service):
        reply = json.loads(service.ctl("model", "list", "--json").stdout)
        return {model["name"]: model for model in reply["models"]}

    def state(self, service, name):
        return self.models_of(service)[name]["state"]

    def loaded(self, service):
        return {name for name, model in self.models_of(service).items()
                if model["state"] == "loaded"}

    def generate(self, service, name=None, *more):
        named = ("--model-name", name) if name else ()
        done = service.ctl(*named, "generate", "--json", "--raw", "--max-tokens", "12",
                           "--temperature", "0", *more, PROMPT)
        return json.loads(done.stdout)

    def budget_for(self, count):
        """Memory for the default model and `count` more models of its size."""
        with self.service() as service:
            one = self.models_of(service)["demo"]["total_bytes"]
        return str(one * (count + 1) + one // 2)
