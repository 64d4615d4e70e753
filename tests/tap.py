"""What scripts of cases share: "NAME.py --sonde PROGRAM [NAME...]" runs the functions whose names start
with "t_", and prints TAP.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "profiles"))
from writer import Profile  # noqa: E402, F401 - for those who import from here

AT = sys.argv.index("--sonde") + 1 if "--sonde" in sys.argv else 0
SONDE = str(pathlib.Path(sys.argv[AT]).resolve()) if AT else ""
GO = shutil.which("go")
TMP = pathlib.Path(tempfile.mkdtemp(prefix="sonde-test."))
LIMIT = 300  # seconds for any one command; a hang is a failure, not a slow machine


class Skip(Exception):
    """The case needs something this machine does not have."""


def run(*args, **kw):
    return subprocess.run(list(map(str, args)), check=True, capture_output=True, text=True,
                          timeout=LIMIT, **kw).stdout


def until(what, condition, seconds=LIMIT):
    """Waits for something that is bound to happen."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what}: not in {seconds} s")


def place(e):
    """Lines from the case down to where it broke, in these tests."""
    frames = [f for f in traceback.extract_tb(e.__traceback__)
              if pathlib.Path(f.filename).resolve().parent == HERE][1:]
    return " > ".join(f"{pathlib.Path(f.filename).name}:{f.lineno}" for f in frames)


def attempt(case):
    """(what is wrong or None, why it was skipped or None)"""
    try:
        case()
    except Skip as e:
        return None, str(e)
    except subprocess.CalledProcessError as e:
        return f"{place(e)}: {e}\n{e.stderr}", None
    except Exception as e:  # a case that breaks has failed; the others still count
        return f"{place(e)}: {type(e).__name__}: {e}", None
    return None, None


def cases(names, wanted=()):
    """Run those of 'names', a module's globals(), that start with "t_"; all, or those that are wanted."""
    found = [(n, f) for n, f in names.items() if n.startswith("t_") and (not wanted or n[2:] in wanted)]
    if not found:
        print("Bail out! no such case")
        return 1
    failed = 0
    print(f"1..{len(found)}", flush=True)
    for i, (name, case) in enumerate(found, 1):
        wrong, skipped = attempt(case)
        failed += wrong is not None
        note = f" # SKIP {skipped}" if skipped else ""
        print(f"{'not ' if wrong else ''}ok {i} - {name[2:].replace('_', ' ')}{note}", flush=True)
        for text in (wrong or "").splitlines():
            print(f"# {text}", flush=True)
    shutil.rmtree(TMP, ignore_errors=True)
    return failed > 0


def main(names):
    if not SONDE:
        print(f"Bail out! usage: {sys.argv[0]} --sonde PROGRAM [NAME...]")
        return 1
    return cases(names, sys.argv[AT + 1:])
