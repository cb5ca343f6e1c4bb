"""The commands and examples of README.md, as written there, print what it says. The Node example
runs in clients/node/test/programs.test.js, which has the packages."""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

from service import BIN, SOURCE, WAIT_S, is_sanitized, wait_until

README = (SOURCE / "README.md").read_text()
BUILD = BIN.parent
ANSWER = re.search(r"prints `([^`]+)`", README)[1] + "\n"


def blocks(language):
    """The code blocks of one language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


class Readme(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", 8178))
            except OSError:
                raise unittest.SkipTest("somebody else has the README's port, 8178") from None
        # The paths of the README lead into a clone, whatever the build under test is called.
        cls.clone = pathlib.Path(tempfile.mkdtemp(prefix="cascade-readme-"))
        cls.addClassCleanup(shutil.rmtree, cls.clone, ignore_errors=True)
        (cls.clone / "build/release").mkdir(parents=True)
        (cls.clone / "build/release/bin").symlink_to(BIN)
        for name in ("models", "clients"):
            (cls.clone / name).symlink_to(SOURCE / name)
        # The daemon is the user's own, in folders that nothing else uses.
        cls.run_dir = cls.clone / "run"
        cls.environment = {**os.environ, "RUNTIME_DIRECTORY": str(cls.run_dir),
                           "STATE_DIRECTORY": str(cls.clone / "state"),
                           "CASCADE_ENDPOINT": f"ipc://{cls.run_dir}/cascaded.sock",
                           "CASCADED_THREADS": "1",
                           "CASCADED_KV_MEMORY": "64M",
                           "PYTHONPATH": str(SOURCE / "clients/python"),
                           "PYTHONDONTWRITEBYTECODE": "1"}
        start = blocks("sh")[0].removesuffix("&\n")
        cls.daemon = subprocess.Popen(["bash", "-c", f"exec {start}"], cwd=cls.clone,
                                      env=cls.environment, stderr=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.stop)
        wait_until(lambda: "serving at" in cls.daemon.stderr.readline(), "the daemon")

    @classmethod
    def stop(cls):
        cls.daemon.terminate()
        cls.daemon.communicate(timeout=WAIT_S)

    def run_in_clone(self, *command):
        done = subprocess.run(command, cwd=self.clone, env=self.environment, capture_output=True,
                              text=True, timeout=WAIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_it_is_short_enough_to_be_read_to_its_end(self):
        lines = README.splitlines()
        self.assertLessEqual(len(lines), 100)
        self.assertEqual([line for line in lines if len(line) > 100], [])

    def test_quickstart_holds_the_two_turns_that_are_shown(self):
        shown = blocks("console")[0].split("…\n", 1)[1]
        printed = subprocess.run([SOURCE / "quickstart"], stdin=subprocess.DEVNULL, check=True,
                                 capture_output=True, text=True, timeout=WAIT_S,
                                 env={**os.environ, "CASCADE_BIN_DIR": str(BIN)}).stdout
        printed = re.sub(r"output_[0-9a-f]{32}", "output_…", printed)
        # How much of a prompt is reused depends on what the daemon did meanwhile; the length of
        # the prompt does not.
        for text in (shown, printed):
            self.assertRegex(text, r"[1-9]\d* tokens reused, \d+ prefilled\n")
        self.assertIn(with_sums(shown), with_sums(printed))

    def test_the_chat_answers(self):
        self.assertEqual(self.run_in_clone("bash", "-c", blocks("sh")[1]), ANSWER)

    def test_http_answers(self):
        self.assertIn(f'"content":"{ANSWER.strip()}"',
                      self.run_in_clone("bash", "-c", blocks("sh")[2]))

    def test_python_answers(self):
        self.assertEqual(self.run_in_clone("/usr/bin/python3", "-c", blocks("python")[0]), ANSWER)

    @unittest.skipIf(is_sanitized(), "what is installed is the release")
    def test_a_cpp_program_is_built_against_what_is_installed(self):
        prefix, user = self.clone / "prefix", self.clone / "user"
        user.mkdir()
        (user / "main.cc").write_text(blocks("cpp")[0])
        (user / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(program LANGUAGES CXX)\n"
            f"add_executable(program main.cc)\n{blocks('cmake')[0]}")
        self.run_in_clone("cmake", "--install", BUILD, "--prefix", prefix, "--component", "dev")
        self.run_in_clone("cmake", "-S", user, "-B", user / "build", "-G", "Ninja",
                          f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Debug")
        self.run_in_clone("cmake", "--build", user / "build")
        self.assertEqual(self.run_in_clone(user / "build/program"), ANSWER.strip())


def with_sums(text):
    """The text with the length of each prompt in place of its two parts."""
    return re.sub(r"(\d+) tokens reused, (\d+) prefilled",
                  lambda found: f"{int(found[1]) + int(found[2])} tokens", text)


if __name__ == "__main__":
    unittest.main()
