"""The types of the package: the stubs fit what they describe, and programs of the documentation pass a strict check."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

#: Implementations without annotations have no stub: they are compared with themselves, and decorators differ.
SETTINGS = "[mypy]\nignore_missing_imports = True\n\n[mypy-nczarr.*]\nignore_errors = True\n"
WITHOUT_STUBS = r"nczarr\.(_stamp|_stores|netCDF4|xarray)\..*"
TESTS = Path(__file__).parent


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "mypy.ini").write_text(SETTINGS)
    (tmp_path / "without_stubs").write_text(WITHOUT_STUBS)
    return tmp_path


def run(folder, *arguments):
    return subprocess.run([sys.executable, "-m", *arguments], cwd=folder, capture_output=True, text=True, check=False)


def test_the_stubs_fit_the_package(settings):
    options = ["--mypy-config-file", "mypy.ini", "--allowlist", "without_stubs", "--ignore-disjoint-bases", "--concise"]
    done = run(settings, "mypy.stubtest", "nczarr", *options)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", ["python.md", "python-distributed.md"])
def test_programs_of_a_page_pass_a_strict_check(page, settings):
    text = (TESTS.parent / page).read_text()
    program = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S))
    (settings / "program.py").write_text(program)
    done = run(settings, "mypy", "--strict", "--config-file", "mypy.ini", "program.py")
    # Classes of the page are written without annotations, as most users write them.
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    errors = [line for line in errors if "[no-untyped-def]" not in line and "[no-untyped-call]" not in line]
    assert done.returncode in (0, 1) and errors == [], done.stdout + done.stderr


def test_a_wrong_program_does_not_pass(settings):
    (settings / "program.py").write_text(
        'import nczarr\nnczarr.create("x", "zarr-v9")\nnczarr.open("x").dimension("t").reserve("one")\n'
    )
    done = run(settings, "mypy", "--strict", "--config-file", "mypy.ini", "program.py")
    assert done.stdout.count(": error:") == 2, done.stdout
