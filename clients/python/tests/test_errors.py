"""CascadeError: what it says, and what it says of another try."""

from __future__ import annotations

import pickle
import unittest

from cascade_llm import CascadeError, ErrorCode


class ErrorTest(unittest.TestCase):
    def test_it_says_code_field_and_message(self) -> None:
        error = CascadeError("not_found", "id", "no such chunk")
        self.assertEqual(str(error), "not_found: id: no such chunk")
        self.assertEqual(str(CascadeError("io", "", "disk")), "io: disk")
        self.assertEqual(error.code, ErrorCode.NOT_FOUND)
        self.assertEqual(error.code, "not_found")

    def test_codes_of_later_daemons_are_kept(self) -> None:
        self.assertEqual(CascadeError("too_hot", "cpu", "x").code, "too_hot")

    def test_retryable_is_what_the_protocol_says(self) -> None:
        for code in ("unavailable", "cancelled", "io", "internal", "data_corrupt"):
            self.assertTrue(CascadeError(code, "", "").retryable, code)
        for code in ("invalid_argument", "not_found", "conflict", "unsupported"):
            self.assertFalse(CascadeError(code, "", "").retryable, code)
        self.assertFalse(CascadeError("resource_exhausted", "", "").retryable)
        self.assertTrue(CascadeError("resource_exhausted", "", "", 50).retryable)

    def test_unreachable_is_a_daemon_that_is_not_there(self) -> None:
        self.assertTrue(CascadeError("unavailable", "endpoint", "x").unreachable)
        self.assertFalse(CascadeError("unavailable", "state", "is stopping").unreachable)
        self.assertFalse(CascadeError("invalid_argument", "endpoint", "x").unreachable)

    def test_it_can_be_pickled_and_raised_again(self) -> None:
        error = CascadeError("resource_exhausted", "queue", "is full", 50)
        for other in (pickle.loads(pickle.dumps(error)), error.again()):
            self.assertIsNot(other, error)
            self.assertEqual(str(other), str(error))
            self.assertEqual(other.retry_after_ms, 50)


if __name__ == "__main__":
    unittest.main()
