"""dask repeats the tasks of killed workers, and the dataset is the one of a quiet cluster."""
import pytest

from killed_workers import LAYOUTS, cluster_of, one_round


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("distributed")
    with cluster_of() as cluster:
        yield cluster


@pytest.mark.parametrize("name", list(LAYOUTS))
def test_killed_workers_lose_nothing(cluster, name, tmp_path):
    kills, attempts = 0, 0
    # A quick write may end before the first kill.
    while not kills and attempts < 5:
        kills, lost = one_round(cluster, str(tmp_path / f"{attempts}-{name}"), LAYOUTS[name], attempts, most=1)
        attempts += 1
        assert lost == 0
    assert kills
