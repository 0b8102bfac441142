"""The slice that the usual run takes of a sweep: the same for the same seed, from every stretch of the sweep, and whole in the long form."""

import os
import subprocess
import sys
import unittest

import portion

SHOW = "import sys; sys.path.insert(0, %r); import portion; print(portion.portion(range(1000), 40, portion.seed()))" % (
    os.path.dirname(portion.__file__))


def drawn(**env):
    """What a process of its own says: the seed, and the slice."""
    clean = {k: v for k, v in os.environ.items() if k not in ("TEST_SEED", "LONG")}
    return subprocess.run([sys.executable, "-B", "-c", SHOW], env=dict(clean, **env), capture_output=True, text=True, check=True).stdout


class Portion(unittest.TestCase):
    def test_two_slices_of_the_same_seed_are_equal_and_another_seed_draws_another(self):
        first = drawn(TEST_SEED="7")
        self.assertEqual(first, drawn(TEST_SEED="7"))
        self.assertIn("TEST_SEED=7 repeats it\n", first)
        self.assertNotEqual(first.splitlines()[1], drawn(TEST_SEED="8").splitlines()[1])

    def test_without_a_seed_the_commit_is_one(self):
        said = drawn()
        self.assertEqual(said, drawn())
        number = portion.commit()
        self.assertIn("TEST_SEED=%d " % (portion.FIXED if number is None else number), said)

    def test_every_stretch_of_the_sweep_gives_one(self):
        for size, most in ((1000, 40), (41, 40), (97, 10)):
            taken = portion.portion(range(size), most, 7) if not portion.LONG else []
            for number, item in enumerate(taken):
                self.assertTrue(number * size // most <= item < (number + 1) * size // most, taken)

    def test_a_small_sweep_and_the_long_form_are_whole(self):
        self.assertEqual(portion.portion("abc", 3, 7), ["a", "b", "c"])
        self.assertEqual(drawn(LONG="1", TEST_SEED="7").splitlines()[1], str(list(range(1000))))


if __name__ == "__main__":
    unittest.main()
