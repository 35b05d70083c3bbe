// Serves S3 by s3rver until it is killed, with its objects below the folder named; prints the endpoint.
const S3rver = require("s3rver");

const server = new S3rver({
  address: "127.0.0.1",
  port: 0,
  silent: true,
  directory: process.argv[2],
  configureBuckets: [{ name: "bucket" }],
});
server.run().then(({ port }) => console.log(`http://S3RVER:S3RVER@127.0.0.1:${port}`));
