"""The programs of the documentation run, in their order on the page."""
import re
from pathlib import Path

import pytest

_PAGES = ("README.md", "python.md", "python-xarray.md", "python-distributed.md", "python-moving.md")
PAGES = [Path(__file__).parent.parent / name for name in _PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_programs_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    programs = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    assert programs
    names = {}
    for program in programs:
        exec(compile(program, str(page), "exec"), names)
