"""Installations: with a prefix; with CASCADE_LONG_TESTS=1, which takes longer, also with Debian
packages in a copy of this machine, and with a program that is built against them."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from service import BIN, LONG, SOURCE, WAIT_S, Manager, is_sanitized

BUILD = BIN.parent
# In a mount namespace of its own, a throwaway layer over this machine's files.
LAYER = """set -e
mount -t tmpfs tmpfs "$0"
mkdir "$0/upper" "$0/work" "$0/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" "$0/root"
mount -t proc proc "$0/root/proc"
mount --rbind /dev "$0/root/dev"
cp -r "$1" "$0/root/packages"
exec chroot "$0/root" bash -e /packages/inside"""

ALONE = ("unshare", "--mount", "--pid", "--fork")

# Runs in that layer, as root: install, start, upgrade, remove, purge.
INSIDE = r"""
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
say() { echo "==> $*"; }
# A daemon on this machine may have left files, which do not belong to the package.
rm -rf /run/systemd/system /run/cascaded /etc/cascaded /var/lib/cascaded /var/cache/cascaded
say install
dpkg -i --force-depends /packages/*.deb >/packages/log
getent passwd cascaded | grep -q /var/lib/cascaded
test "$(stat -c '%U %a' /run/cascaded)" = "cascaded 750"
cascaded --version; cascadectl --version
cascadectl config check
python3 -c 'import sys; sys.path.insert(0, "/usr/lib/python3/dist-packages"); import cascade_llm'
! command -v man >/dev/null ||
  man -w cascaded cascadectl cascaded.toml cascaded-protocol >/dev/null
grep -q -- --kv-memory /usr/share/bash-completion/completions/cascaded
say start
start() {
  mkdir -p /var/lib/cascaded /var/cache/cascaded
  chown cascaded: /var/lib/cascaded /var/cache/cascaded
  python3 /packages/as_service.py
}
start
say upgrade
echo 'max_waiting = 9' >>/etc/cascaded/cascaded.toml
dpkg -i --force-depends --force-confold /packages/cascaded_*.deb >>/packages/log
grep -q '^max_waiting = 9' /etc/cascaded/cascaded.toml
start
say remove
dpkg -r cascaded libcascade-client-dev python3-cascade-llm >>/packages/log
test ! -e /usr/bin/cascaded
test -e /etc/cascaded/cascaded.toml
test -e /var/lib/cascaded/metadata.db
say purge
dpkg -P cascaded >>/packages/log
for left in /etc/cascaded /var/lib/cascaded /var/cache/cascaded /run/cascaded \
    /usr/share/cascaded /usr/lib/python3/dist-packages/cascade_llm \
    /lib/systemd/system/cascaded.service; do
  if [ -e $left ]; then echo "left: $left"; exit 1; fi
done
say "all is well"
"""

# The unit's command as the unit's user, with what systemd would give it.
AS_SERVICE = r"""
import os, re, signal, socket, subprocess
unit = open("/lib/systemd/system/cascaded.service").read()
command = re.search(r"^ExecStart=(.*)$", unit, re.M).group(1).split()
user = re.search(r"^User=(.*)$", unit, re.M).group(1)
os.umask(int(re.search(r"^UMask=(.*)$", unit, re.M).group(1), 8))
path = "/run/cascaded/notify"
if os.path.exists(path): os.unlink(path)
heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
heard.bind(path); os.chmod(path, 0o666); heard.settimeout(60)
env = {"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": path, "WATCHDOG_USEC": "4000000",
       "STATE_DIRECTORY": "/var/lib/cascaded", "CACHE_DIRECTORY": "/var/cache/cascaded",
       "CASCADED_RUN_DIR": "/run/cascaded", "CASCADED_KV_MEMORY": "64M", "CASCADED_THREADS": "1"}
daemon = subprocess.Popen(["setpriv", "--reuid", user, "--regid", user, "--init-groups",
                           "--no-new-privs", "--bounding-set=-all"] + command, env=env)
said = b""
while b"READY=1" not in said or b"WATCHDOG=1" not in said: said += heard.recv(4096)
env["CASCADE_ENDPOINT"] = "ipc:///run/cascaded/cascaded.sock"
out = subprocess.run(["cascadectl", "generate", "--temperature", "0",
                      "What is the capital of France?"], env=env, check=True, capture_output=True)
assert b"Paris" in out.stdout, out
assert os.stat("/var/lib/cascaded/metadata.db").st_uid == os.stat("/var/cache/cascaded").st_uid
assert os.listdir("/var/cache/cascaded"), "packed weights are there"
daemon.send_signal(signal.SIGTERM)
assert daemon.wait(60) == 0
os.unlink(path)
"""


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Prefix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.mkdtemp(prefix="cascade-package-")
        cls.prefix = pathlib.Path(cls.scratch) / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch, ignore_errors=True)

    def test_the_units_command_starts_the_demo_model(self):
        unit = (self.prefix / "lib/systemd/system/cascaded.service").read_text()
        command = re.search(r"^ExecStart=(.*)$", unit, re.M).group(1).split()
        self.assertEqual(command[0], f"{self.prefix}/bin/cascaded")
        folder = pathlib.Path(self.scratch)
        manager = Manager(folder)
        env = dict(os.environ, NOTIFY_SOCKET=str(manager.path), CASCADED_RUN_DIR=f"{folder}/run",
                   STATE_DIRECTORY=f"{folder}/state", CACHE_DIRECTORY=f"{folder}/cache",
                   CASCADED_KV_MEMORY="64M", CASCADED_THREADS="1",
                   CASCADE_ENDPOINT=f"ipc://{folder}/run/cascaded.sock")
        with open(folder / "log", "wb") as log:
            daemon = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        try:
            manager.wait_for("READY", "1")
            self.check_user(folder, env)
        finally:
            daemon.terminate()
            self.assertEqual(daemon.wait(WAIT_S), 0, (folder / "log").read_text())
            manager.socket.close()
        self.assertTrue(list((folder / "cache").rglob("*.packed")))
        self.assertFalse(list((folder / "state").rglob("*.packed")))

    def check_user(self, folder, env):
        """Builds a program that finds the client with find_package() and asks the daemon."""
        run("cmake", "-S", SOURCE / "tests/service/find_package", "-B", folder / "user",
            "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
            "-DCMAKE_BUILD_TYPE=Debug")
        if not LONG:
            print("# SKIP a program that uses the client is built with CASCADE_LONG_TESTS=1 only")
            return
        run("cmake", "--build", folder / "user")
        self.assertEqual(run(folder / "user/user", env=env), "demo\n")

    def test_manual_settings_and_completions_are_there(self):
        for path in ("share/man/man8/cascaded.8", "share/man/man1/cascadectl.1",
                     "share/man/man5/cascaded.toml.5", "share/man/man7/cascaded-protocol.7",
                     "lib/sysusers.d/cascaded.conf", "lib/tmpfiles.d/cascaded.conf",
                     "lib/systemd/user/cascaded.service", "lib/systemd/system/cascaded.socket",
                     "share/zsh/vendor-completions/_cascadectl",
                     "share/fish/vendor_completions.d/cascadectl.fish"):
            self.assertTrue((self.prefix / path).is_file(), path)
        run(self.prefix / "bin/cascadectl", "config", "check", "--config",
            self.prefix / "etc/cascaded/cascaded.toml")


class Scripts(unittest.TestCase):
    def test_what_dpkg_runs_can_be_read_by_the_shell(self):
        names = {"preinst", "postinst", "prerm", "postrm"}
        scripts = [path for path in (SOURCE / "packaging/debian").iterdir() if path.name in names]
        self.assertTrue(scripts)
        for path in scripts:
            run("sh", "-n", path)


@unittest.skipUnless(LONG, "packages are built and installed if CASCADE_LONG_TESTS=1")
@unittest.skipUnless(os.geteuid() == 0, "packages are installed by root only")
class Packages(unittest.TestCase):
    def need_layers(self, layer, packages):
        """Containers may forbid the calls that make a layer."""
        (packages / "inside").write_text("true")
        done = subprocess.run([*ALONE, "bash", "-c", LAYER, layer, packages], capture_output=True,
                              text=True)
        if done.returncode != 0:
            self.skipTest("no layer over this machine's files can be made here: " + done.stderr)

    def test_install_start_upgrade_remove_and_purge(self):
        with tempfile.TemporaryDirectory(prefix="cascade-package-") as name:
            packages, layer = pathlib.Path(name) / "packages", pathlib.Path(name) / "layer"
            layer.mkdir()
            packages.mkdir()
            self.need_layers(layer, packages)
            run("cpack", "-G", "DEB", "-B", packages, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none",
                cwd=BUILD)
            shutil.rmtree(packages / "_CPack_Packages")
            self.assertEqual(len(list(packages.glob("*.deb"))), 3)
            (packages / "inside").write_text(INSIDE)
            (packages / "as_service.py").write_text(AS_SERVICE)
            out = run(*ALONE, "bash", "-c", LAYER, layer, packages)
            self.assertIn("==> all is well", out)


def is_for_packages():
    """Says why not."""
    if is_sanitized():
        print("skipped: nobody installs a build with sanitizers, and its library needs theirs")
        return False
    if shutil.which("dpkg-deb") is None:
        print("skipped: this is no Debian")
        return False
    return True


if __name__ == "__main__":
    if not is_for_packages():
        sys.exit(77)
    unittest.main(verbosity=2)  # says what is skipped, and why
