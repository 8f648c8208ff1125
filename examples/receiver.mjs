// Receives webhooks. Every event is written to a file before it is acknowledged, and each one once, however
// often it is delivered.
//
//   WEBHOOK_SECRET=whsec_… node examples/receiver.mjs
//
// Settings: WEBHOOK_SECRET (after a rotation two, separated by a comma), PORT (3000), INBOX (events.jsonl).
// Webhooks go to https addresses on port 443: put a TLS proxy in front of it, or, on your own machine, let
// `webhook listen --forward-to http://127.0.0.1:3000/` pass them on.
import { createServer } from 'node:http';
import { Inbox } from './inbox.mjs';
import { verifyWebhook, WebhookVerificationError } from './verify-webhook.mjs';

const secrets = (process.env.WEBHOOK_SECRET ?? '').split(',').filter(Boolean);
if (secrets.length === 0) {
  console.error('Set WEBHOOK_SECRET to the signing secret of your endpoint.');
  process.exit(64);
}
const inbox = new Inbox(process.env.INBOX ?? 'events.jsonl');
const maxBodyBytes = 64 * 1024;

const readBody = async (request) => {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > maxBodyBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const receive = async (request) => {
  if (request.method !== 'POST') return 405;
  const body = await readBody(request);
  if (body === null) return 413;
  const { event } = verifyWebhook({ body, headers: request.headers, secrets });
  // Acknowledge as soon as the event is safe; do what it asks for afterwards, from the inbox.
  if (inbox.add(event)) console.log(`${event.type} ${event.data.card}`);
  return 204;
};

const server = createServer(async (request, response) => {
  let status = 500;
  try {
    status = await receive(request);
  } catch (error) {
    if (error instanceof WebhookVerificationError) status = 400;
    console.warn(status === 400 ? `refused: ${error.problem}: ${error.message}` : error);
  }
  response.writeHead(status, status === 413 ? { connection: 'close' } : {}).end();
});
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/`);
});
