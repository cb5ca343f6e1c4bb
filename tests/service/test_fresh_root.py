"""The packages on a Debian 12 that has nothing else: apt finds what they need, the service runs, a
user of its group chats, a purge leaves nothing behind. Takes minutes and Debian's mirror."""
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

from test_package import ALONE, AS_SERVICE, BUILD, is_for_packages, run

MIRROR = os.environ.get("CASCADE_DEBIAN_MIRROR", "http://deb.debian.org/debian")

# Outside, in a mount namespace of its own: the root, the packages, the steps.
ENTER = """set -e
mount -t proc proc "$0/proc"
mount --rbind /dev "$0/dev"
exec chroot "$0" bash -e /packages/inside"""

INSIDE = r"""
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive
say() { echo "==> $*"; }
apt_get() { apt-get -q -y --no-install-recommends "$@" >>/packages/log 2>&1 ||
  { tail -30 /packages/log; exit 1; }; }
# All that the package may leave; not what apt and dpkg note of packages.
listing() {
  find / -xdev \( -path /proc -o -path /dev -o -path /packages -o -path /tmp -o -path /var/log \
    -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache \) -prune -o -print | sort
  find /var/cache -path '*cascade*'
}
apt_get update
useradd --create-home visitor
useradd --create-home stranger
say install
apt_get install /packages/*.deb
cascaded --version; cascadectl --version
say purge
apt_get purge cascaded libcascade-client-dev python3-cascade-llm
listing >/packages/before  # with the libraries that it needed, and the user
say install again and start
apt_get install /packages/*.deb
usermod --append --groups cascaded visitor
# systemd would make these folders for the unit, but it does not run here.
for folder in /var/lib/cascaded /var/cache/cascaded /run/cascaded; do
  install -d -o cascaded -g cascaded -m 750 $folder
done
python3 /packages/as_service.py
say purge again
apt_get purge cascaded libcascade-client-dev python3-cascade-llm
listing >/packages/after
diff /packages/before /packages/after
say "all is well"
"""

# While the service runs: who is in its group can chat, who is not cannot.
VISIT = r"""
chat = "printf 'What is the capital of France?\n' | cascadectl chat --temperature 0"
visit = subprocess.run(["su", "visitor", "-c", chat], capture_output=True)
assert visit.returncode == 0 and b"Paris" in visit.stdout, visit
stranger = subprocess.run(["su", "stranger", "-c", chat], capture_output=True)
assert stranger.returncode != 0 and b"Paris" not in stranger.stdout, stranger
assert b"cascaded" in stranger.stderr, stranger
"""


class FreshRoot(unittest.TestCase):
    def test_apt_installs_it_a_user_of_its_group_chats_and_a_purge_leaves_nothing(self):
        with tempfile.TemporaryDirectory(prefix="cascade-root-") as name:
            root = pathlib.Path(name) / "root"
            run("debootstrap", "--variant=minbase", "bookworm", root, MIRROR)
            packages = root / "packages"
            packages.mkdir()
            run("cpack", "-G", "DEB", "-B", packages, cwd=BUILD)
            shutil.rmtree(packages / "_CPack_Packages")
            (packages / "inside").write_text(INSIDE)
            before, stop = AS_SERVICE.split("daemon.send_signal", 1)
            (packages / "as_service.py").write_text(
                before + VISIT + "daemon.send_signal" + stop)
            shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
            out = run(*ALONE, "bash", "-c", ENTER, root)
            self.assertIn("==> all is well", out)


if __name__ == "__main__":
    if os.environ.get("CASCADE_LONG_TESTS") != "1":
        print("skipped: takes minutes and Debian's mirror; CASCADE_LONG_TESTS=1 runs it")
        sys.exit(77)
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("skipped: only root makes a root, with debootstrap")
        sys.exit(77)
    if not is_for_packages():
        sys.exit(77)
    unittest.main()
