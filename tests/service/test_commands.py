"""cascadectl config, completion, bench and doctor, and cascaded --check."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from service import BIN, SOURCE, Service


def ctl(*arguments, **environment):
    return subprocess.run([BIN / "cascadectl", *arguments], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", **environment}, timeout=60)


class Config(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="cascade-config-")
        self.addCleanup(scratch.cleanup)
        self.file = pathlib.Path(scratch.name) / "c.toml"
        self.more = pathlib.Path(f"{self.file}.d")
        self.more.mkdir()

    def test_check_finds_what_the_daemon_would_refuse(self):
        self.file.write_text('model = "/m"\nhttp = "0.0.0.0:80"\ntcp = "1"\n')
        seen = ctl("config", "check", "--config", self.file)
        daemon = subprocess.run([BIN / "cascaded", "--check", "--config", self.file],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual((seen.returncode, daemon.returncode), (2, 2))
        problems = [line.split(": ", 1)[1] for line in seen.stderr.splitlines()]
        self.assertEqual(problems, [line.split(": ", 1)[1] for line in daemon.stderr.splitlines()])
        self.assertEqual(len(problems), 3, problems)
        self.assertIn(f"{self.file}:2: http: 0.0.0.0:80 can be reached", problems[0])

    def test_check_names_file_line_key_and_range(self):
        self.file.write_text('model = "m"\n\nmax_running = 0\n')
        (self.more / "a.toml").write_text('kv = "fp4"\n')
        done = ctl("config", "check", "--config", self.file)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{self.file}:3: max_running: must be a whole number from 1 to 256",
                      done.stderr)
        self.assertIn(f"{self.more}/a.toml:1: kv: must be one of f32, bf16", done.stderr)
        as_json = ctl("config", "check", "--json", "--config", self.file).stdout.splitlines()
        self.assertEqual(json.loads(as_json[0])["error"]["field"], f"{self.file}:3: max_running")
        # The daemon must say the same.
        check = subprocess.run([BIN / "cascaded", "--config", self.file, "--check"],
                               capture_output=True, text=True, timeout=60)
        self.assertEqual(check.returncode, 2)
        self.assertIn(f"{self.file}:3: max_running", check.stderr)

    def test_good_files_pass(self):
        self.file.write_text((SOURCE / "config/cascaded.toml").read_text())
        self.assertEqual(ctl("config", "check", "--config", self.file).returncode, 0)
        self.assertEqual(ctl("config", "check", CASCADED_CONFIG=str(self.file)).returncode, 0)
        missing = ctl("config", "check", "--config", self.file.parent / "none.toml")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("none.toml", missing.stderr)
        daemon = subprocess.run([BIN / "cascaded", "--check", "--config",
                                 self.file.parent / "none.toml"], capture_output=True, timeout=60)
        self.assertEqual(daemon.returncode, 2)

    def test_more_memory_than_the_machine_has_is_refused_by_both(self):
        self.file.write_text('model = "/m"\nkv_memory = "4000000G"\n')
        seen = ctl("config", "check", "--config", self.file)
        daemon = subprocess.run([BIN / "cascaded", "--check", "--config", self.file],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual((seen.returncode, daemon.returncode), (2, 2))
        for printed in (seen.stderr, daemon.stderr):
            self.assertRegex(printed, rf"{self.file}:2: kv_memory: must be at most [0-9]+M, the")

    @unittest.skipIf(pathlib.Path("/etc/cascaded/cascaded.toml").exists(), "the service is here")
    def test_show_without_a_file_prints_the_defaults(self):
        done = ctl("config", "show", CASCADED_MAX_TOKENS="7")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("# There is no /etc/cascaded/cascaded.toml: these are the defaults.\n",
                      done.stdout)
        self.assertIn("max_waiting = 64  # default\n", done.stdout)
        self.assertIn("max_tokens = 7  # CASCADED_MAX_TOKENS\n", done.stdout)
        shown = json.loads(ctl("config", "show", "--json").stdout)
        self.assertEqual(shown["max_waiting"], {"value": 64, "origin": "default"})
        # A file that is named on the command line must exist.
        named = ctl("config", "show", "--config", self.file)
        self.assertEqual(named.returncode, 2)
        self.assertIn(str(self.file), named.stderr)

    def test_show_says_what_holds_and_where_it_was_set(self):
        self.file.write_text('model = "m"\nmax_running = 3\n')
        (self.more / "a.toml").write_text("max_running = 4\n")
        done = ctl("config", "show", "--config", self.file, CASCADED_MAX_TOKENS="7")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"max_running = 4  # {self.more}/a.toml:1: max_running\n", done.stdout)
        self.assertIn("max_tokens = 7  # CASCADED_MAX_TOKENS\n", done.stdout)
        self.assertIn("max_waiting = 64  # default\n", done.stdout)
        shown = json.loads(ctl("config", "show", "--json", "--config", self.file).stdout)
        self.assertEqual(shown["max_running"], {"value": 4,
                                                "origin": f"{self.more}/a.toml:1: max_running"})
        self.assertEqual(shown["max_pinned"], {"value": 0.5, "origin": "default"})

    def test_what_is_shown_can_be_read_again(self):
        self.file.write_text('model = "m\\"x"\ntenant = ["a", "b"]\n')
        shown = ctl("config", "show", "--config", self.file).stdout
        again = self.file.parent / "again.toml"
        again.write_text(shown)
        done = ctl("config", "check", "--config", again)
        self.assertEqual(done.returncode, 0, done.stderr)


class Completion(unittest.TestCase):
    def complete(self, shell, program, line):
        """The completions that the shell offers after the line."""
        script = ctl("completion", shell, "--program", program)
        self.assertEqual(script.returncode, 0, script.stderr)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "script"
            path.write_text(script.stdout)
            if shell == "fish":
                command = ["fish", "--no-config", "-c",
                           f"source {path}; complete -C '{line}'"]
            else:
                words = line.split(" ")
                quoted = " ".join(f"'{word}'" for word in words)
                command = ["bash", "-c", f"source {path}; COMP_WORDS=({quoted}); "
                           f"COMP_CWORD={len(words) - 1}; _{program}; "
                           "printf '%s\\n' \"${COMPREPLY[@]}\""]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60,
                                  env={"PATH": "/usr/bin:/bin", "HOME": folder})
        self.assertEqual(done.stderr, "")
        return {line.split("\t")[0] for line in done.stdout.splitlines()}

    def check(self, shell):
        first = self.complete(shell, "cascadectl", "cascadectl ")
        self.assertTrue({"status", "generate", "chunk", "config"} <= first, first)
        self.assertTrue({"list", "put", "stats"} <= self.complete(shell, "cascadectl",
                                                                  "cascadectl chunk "))
        self.assertIn("--temperature", self.complete(shell, "cascadectl",
                                                     "cascadectl generate --temp"))
        self.assertNotIn("--temperature", self.complete(shell, "cascadectl",
                                                        "cascadectl status --"))
        self.assertEqual({"bf16"}, self.complete(shell, "cascaded", "cascaded --weights b"))

    def test_bash(self):
        self.check("bash")

    @unittest.skipUnless(shutil.which("fish"), "fish is not there")
    def test_fish(self):
        self.check("fish")

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not there")
    def test_zsh_reads_the_script(self):
        for program in ("cascadectl", "cascaded"):
            script = ctl("completion", "zsh", "--program", program).stdout
            self.assertTrue(script.startswith(f"#compdef {program}\n"))
            tables = script.split(f"_{program}() {{")[0]
            done = subprocess.run(["zsh", "-f", "-c", tables + f"_{program}_words {program}; "
                                   "print -r -- ${=flags}"], capture_output=True, text=True)
            self.assertEqual(done.stderr, "")
            self.assertIn("--help", done.stdout.split())
            self.assertEqual(subprocess.run(["zsh", "-n", "-c", script]).returncode, 0)

    def test_another_shell_is_refused(self):
        self.assertEqual(ctl("completion", "csh").returncode, 2)


class Manual(unittest.TestCase):
    def test_the_script_of_the_chat_prints_what_the_manual_says(self):
        manual = (SOURCE / "docs/manual.md").read_text(encoding="utf-8")
        command, said = re.search(r"    \$ (printf .*?temperature 0)\n(.*?)\n\n", manual,
                                  re.S).groups()
        expected = [re.sub("output_[0-9a-f]+", "ID", line).split() for line in said.split("\n")]
        # The second output may not have been prefilled in idle time yet.
        late = [line[:-3] + ["0", "B", "ID"] if line[0] == "2" else line for line in expected]
        with Service() as service:
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True,
                                  env={"PATH": f"{BIN}:/usr/bin:/bin",
                                       "CASCADE_ENDPOINT": service.endpoint}, timeout=60)
        shown = [re.sub("output_[0-9a-f]+", "ID", line).split()
                 for line in done.stdout.splitlines()]
        self.assertIn(shown, (expected, late), done.stderr)


class Looks(unittest.TestCase):
    def test_bench_and_doctor_ask_the_daemon(self):
        with Service() as service:
            done = service.ctl("bench", "--json", "--prompt-tokens", "100", "--tokens", "8",
                               "--batch", "2", "--repeat", "1")
            figures = json.loads(done.stdout)
            self.assertGreater(figures["again_reused_tokens"], 64 - 1)
            self.assertTrue(all(value > 0 for value in figures.values()), figures)
            self.assertIn("groups", json.loads(service.ctl("stats", "--json").stdout))
            found = json.loads(service.ctl("doctor", "--json").stdout)["findings"]
            self.assertTrue(any("serves demo" in f["text"] for f in found))
            self.assertTrue(any("answers a prompt" in f["text"] for f in found))
            service.stop()
            done = service.ctl("doctor", check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("no daemon answers", done.stdout)


if __name__ == "__main__":
    unittest.main()
