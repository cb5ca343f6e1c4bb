"""The folder is one that pip installs."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import PATIENCE_S, ROOT

MISSING = [name for name in ("pip", "setuptools", "wheel") if not importlib.util.find_spec(name)]


class InstallTest(unittest.TestCase):
    @unittest.skipIf(MISSING, f"Python has no {', '.join(MISSING)} here")
    def test_pip_installs_it_with_its_types(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "source"), Path(folder, "target")
            shutil.copytree(ROOT / "clients" / "python", source)
            install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation"]
            install += ["--no-index", "--no-deps", "--disable-pip-version-check"]
            install += ["--root-user-action=ignore", "--target", str(target), str(source)]
            run = subprocess.run(install, capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertTrue((target / "cascade_llm" / "py.typed").exists())
            self.assertTrue((target / "cascade_llm" / "daemon_keeper.py").exists())
            code = f"import sys; sys.path.insert(0, {str(target)!r}); import cascade_llm; "
            code += "print(cascade_llm.__file__, cascade_llm.Client.__name__)"
            out = subprocess.check_output([sys.executable, "-I", "-c", code], text=True)
            self.assertEqual(out.split(), [str(target / "cascade_llm" / "__init__.py"), "Client"])


if __name__ == "__main__":
    unittest.main()
