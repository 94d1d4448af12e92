// Receives webhooks and verifies their signatures. Needs: npm install standardwebhooks
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET);

const server = createServer(async (request, response) => {
  // The signature covers the exact bytes, so verify before anything parses them.
  const body = await buffer(request);
  let payload;
  try {
    payload = webhook.verify(body, request.headers);
  } catch {
    response.writeHead(401).end();
    return;
  }
  // The id is the same for every attempt: remember it to drop duplicates.
  console.log(request.headers["webhook-id"], request.headers["x-webhook-event"], payload);
  response.writeHead(204).end();
});

server.listen(Number(process.env.PORT ?? 9001), "127.0.0.1", () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`);
});
