"""Serves S3 by moto until it is killed; prints the endpoint once there is a bucket.

moto checks the condition of a write and stores the object in two steps. Another thread's write may come between
them, and is lost. So this server handles one request at a time.
"""

import os
import signal
import threading

for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
    os.environ[name] = "any"

import boto3
from moto.moto_server import threaded_moto_server
from moto.server import ThreadedMotoServer


class OneRequestAtATime(threaded_moto_server.DomainDispatcherApplication):
    one_request = threading.Lock()

    def __call__(self, environ, start_response):
        with self.one_request:
            return super().__call__(environ, start_response)


threaded_moto_server.DomainDispatcherApplication = OneRequestAtATime
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
endpoint = f"http://{host}:{port}"
boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(Bucket="bucket")
print(endpoint, flush=True)
signal.pause()
