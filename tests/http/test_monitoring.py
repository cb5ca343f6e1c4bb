"""The files for Prometheus and Grafana ask for metrics that the daemon has."""
import json
import re
import shutil
import subprocess
import unittest

from daemon import SOURCE, Daemon

RULES = SOURCE / "config/monitoring/cascade.rules.yml"
DASHBOARD = SOURCE / "config/monitoring/grafana.json"
NAME = re.compile(r"\bcascaded_[a-z0-9_]+\b")


def is_of(family, kind, name):
    parts = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
    return name in [family + part for part in parts]


class Monitoring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with Daemon() as daemon:
            daemon.post("/v1/chat/completions", {
                "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4})
            cls.text = daemon.get("/metrics").text
        cls.families = dict(re.findall(r"^# TYPE (\S+) (\S+)$", cls.text, re.M))

    def check(self, text):
        names = set(NAME.findall(text))
        self.assertGreater(len(names), 15)
        for name in names:
            known = any(is_of(family, kind, name) for family, kind in self.families.items())
            self.assertTrue(known, f"{name} is no metric of the daemon")

    def test_the_rules_ask_for_metrics_that_there_are(self):
        self.check(RULES.read_text())

    def test_the_dashboard_asks_for_metrics_that_there_are(self):
        dashboard = json.loads(DASHBOARD.read_text())
        expressions = [target["expr"] for panel in dashboard["panels"]
                       for target in panel["targets"]]
        self.check("\n".join(expressions))
        places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]
        self.assertEqual(len(set(places)), len(places))

    def test_labels_that_are_asked_for_are_there(self):
        for name, label in (("cascaded_model_info", "model"), ("cascaded_kv_bytes", "tier"),
                            ("cascaded_requests_total", "finish_reason"),
                            ("cascaded_http_replies_total", "code")):
            self.assertRegex(self.text, rf'(?m)^{name}{{[^}}]*\b{label}="[^"]+"')

    @unittest.skipIf(shutil.which("promtool") is None, "promtool is not there (package prometheus)")
    def test_promtool_takes_rules_and_metrics(self):
        for command, text in ((("check", "rules", RULES), None), (("check", "metrics"), self.text)):
            done = subprocess.run(["promtool", *command], input=text, capture_output=True,
                                  text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
