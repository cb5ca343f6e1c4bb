"""Several models: the clients' options and calls, with a fake daemon and a real one."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

import msgpack

from cascade_llm import (
    CascadeError,
    Client,
    ClientOptions,
    GenerateRequest,
    PrivateDaemon,
    Sampling,
)
from cascade_llm.frames import encode
from cascade_llm.requests import ModelLoad, StatusRequest
from support import DEMO_MODEL

ID = bytes(16)


class NamedModelTest(unittest.TestCase):
    def test_a_request_has_the_name_of_its_model_in_its_body(self) -> None:
        self.assertEqual(msgpack.unpackb(encode(ID, StatusRequest(), "m")[2]), {"model": "m"})
        self.assertEqual(msgpack.unpackb(encode(ID, StatusRequest())[2]), {})

    def test_requests_about_models_are_meant_for_none(self) -> None:
        body = msgpack.unpackb(encode(ID, ModelLoad("other"), "m")[2])
        self.assertNotIn("model", body)


class ModelsTest(unittest.TestCase):
    daemon: PrivateDaemon

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="cascade-models-")
        cls.addClassCleanup(folder.cleanup)
        second = Path(folder.name) / "second"
        second.mkdir()
        for file in DEMO_MODEL.iterdir():
            os.symlink(file, second / file.name)
        arguments = ["--models-dir", folder.name, "--kv-memory", "64M", "--threads", "1"]
        cls.daemon = PrivateDaemon(DEMO_MODEL, arguments=arguments)
        cls.addClassCleanup(cls.daemon.stop)

    def test_a_client_of_a_model_is_answered_by_it(self) -> None:
        request = GenerateRequest(
            prompt="One, two,", max_tokens=8, sampling=Sampling(temperature=0)
        )
        with Client(self.daemon.endpoint) as client:
            default = client.generate(request)
        with Client(self.daemon.endpoint, options=ClientOptions(model="second")) as client:
            answer = client.generate(request)
            self.assertEqual(answer.token_ids, default.token_ids)
            self.assertEqual(client.status().model, "second")

    def test_models_are_listed_loaded_and_unloaded(self) -> None:
        with Client(self.daemon.endpoint) as client:
            self.assertEqual([m.name for m in client.list_models().models], ["demo", "second"])
            self.assertGreater(client.estimate_model("second").total_bytes, 64 << 20)
            self.assertEqual(client.load_model("second").state, "loaded")
            self.assertEqual(client.unload_model("second").state, "unloaded")
            with self.assertRaises(CascadeError) as refused:
                client.unload_model("demo")
            self.assertEqual(refused.exception.code, "conflict")

    def test_an_unknown_model_is_an_error(self) -> None:
        with Client(self.daemon.endpoint, options=ClientOptions(model="third")) as client:
            with self.assertRaises(CascadeError) as refused:
                client.generate(GenerateRequest(prompt="hi"))
            self.assertEqual((refused.exception.code, refused.exception.field),
                             ("not_found", "model"))


if __name__ == "__main__":
    unittest.main()
