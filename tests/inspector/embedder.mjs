// A site that embeds a page: `/?frame=<url>`. On `localhost`, which is another site than the gateway's. Run as
// `node tests/inspector/embedder.mjs`, it prints its URL.
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

const page = (frame) => `<!doctype html><title>App</title><iframe src="${frame}" width="1000" height="300" title="Webhooks"></iframe>
  <script>heights = []; onmessage = ({ origin, data }) => heights.push({ origin, ...data });</script>`;

/** Starts one; returns its origin and how to stop it. */
export async function embedder() {
  const server = createServer((request, response) => {
    const frame = new URL(request.url, "http://localhost").searchParams.get("frame");
    response.writeHead(200, { "content-type": "text/html" }).end(page(frame));
  });
  await new Promise((ready) => server.listen(0, "localhost", ready));
  const close = () => { server.close(); server.closeAllConnections(); };
  return { origin: `http://localhost:${server.address().port}`, close };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log((await embedder()).origin);
