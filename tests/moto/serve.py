"""Serves S3 by moto until it is killed; prints the endpoint once there is a bucket."""

import os
import signal

for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
    os.environ[name] = "any"

import boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
endpoint = f"http://{host}:{port}"
boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(Bucket="bucket")
print(endpoint, flush=True)
signal.pause()
