"""The project's S3 server as a process. ``NCZ_S3_SERVER`` is the path of its program, ``s3-folder``."""
import contextlib
import json
import os
import subprocess


class Server:
    """A running server with the bucket ``bench``. Requests need no signature."""

    def __init__(self, process):
        self._process = process
        self.options = {"endpoint_url": process.stdout.readline().strip(), "anon": True, "region": "us-east-1"}

    def counts(self):
        """Returns the numbers of requests since the last call, by kind."""
        self._process.stdin.write("counts\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@contextlib.contextmanager
def server():
    """Runs a server."""
    program = [os.environ["NCZ_S3_SERVER"], "0"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Server(process)
        finally:
            process.stdin.close()
