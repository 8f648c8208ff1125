// Checks that a webhook came from the service, unchanged and just now. Needs nothing but Node: copy this file
// into your project. Give it the raw bytes of the body; a body that was parsed and serialized again has other
// bytes, and no signature matches them.
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Why a delivery was refused: respond with 400 and log the message. It contains no secret. */
export class WebhookVerificationError extends Error {
  name = 'WebhookVerificationError';

  /** `problem`: missing_header, malformed_header, malformed_secret, parsed_body, too_old, too_new,
   *  wrong_signature or malformed_body. */
  constructor(problem, message) {
    super(message);
    this.problem = problem;
  }
}

/**
 * Returns `{ event, delivery }` if the delivery is genuine and fresh; throws WebhookVerificationError if not.
 *
 * - `body`: the body as it arrived, bytes or a string decoded as UTF-8.
 * - `headers`: an object as Node, Express and Fastify have it, or the `Headers` of a fetch request.
 * - `secrets`: the endpoint's signing secret, `whsec_…`; for 24 hours after a rotation, the new and the old one.
 * - `now`: milliseconds since 1970. `tolerance`: how many seconds old or early a signature may be.
 *
 * Remember `event.id`: a delivery may be repeated, and the id is part of what is signed (`delivery`, the
 * service-delivery header, is not).
 */
export const verifyWebhook = ({ body, headers, secrets, now = Date.now(), tolerance = 300 }) => {
  if (typeof body !== 'string' && !(body instanceof Uint8Array))
    throw new WebhookVerificationError(
      'parsed_body',
      'The body has been parsed. Verify the raw bytes: in Express, use express.raw({ type: "application/json" }) on this route, before any express.json().',
    );
  if (!Number.isFinite(now) || !Number.isFinite(tolerance))
    throw new TypeError('`now` and `tolerance` must be finite numbers.');
  checkSecrets(secrets);
  const { t, signatures } = parseSignature(headerOf(headers, 'service-signature'));
  if (!anyMatches(signatures, secrets, `${t}.`, body))
    throw new WebhookVerificationError(
      'wrong_signature',
      'No signature matches. Either the secret belongs to another endpoint or is an old one, or the body is not the raw one: it was parsed and serialized again, or its encoding was changed.',
    );
  checkAge(Math.round(now / 1000) - Number(t), tolerance);
  return { event: parseEvent(body), delivery: headerOf(headers, 'service-delivery') };
};

const checkSecrets = (secrets) => {
  if (secrets.length === 0 || secrets.some((secret) => !/^whsec_[A-Za-z0-9+/]{43}=$/.test(secret)))
    throw new WebhookVerificationError(
      'malformed_secret',
      'A signing secret is `whsec_` and 44 characters, all of it the key. Check for a secret that is missing, truncated or quoted.',
    );
};

const headerOf = (headers, name) => {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const value = entries.find(([key]) => key.toLowerCase() === name)?.[1];
  const text = Array.isArray(value) ? value.join(',') : value;
  if (text === undefined || text === '')
    throw new WebhookVerificationError(
      'missing_header',
      `The header ${name} is missing. Is this a delivery of the service, and do your proxies pass the header on?`,
    );
  return text;
};

/** `t=<unix seconds>,v1=<hex>`; after a rotation there are two signatures. */
const parseSignature = (text) => {
  const parts = text.split(',').map((part) => part.trim());
  const t = parts.find((part) => part.startsWith('t='))?.slice(2) ?? '';
  const signatures = parts
    .filter((part) => /^v1=[0-9a-f]{64}$/.test(part))
    .map((part) => Buffer.from(part.slice(3), 'hex'));
  if (!/^\d{1,12}$/.test(t) || signatures.length === 0)
    throw new WebhookVerificationError(
      'malformed_header',
      'The header service-signature does not look like t=<unix seconds>,v1=<hex>. Was it changed on the way?',
    );
  return { t, signatures };
};

/** Compares every signature with every secret in constant time. */
const anyMatches = (signatures, secrets, prefix, body) => {
  let found = false;
  for (const secret of secrets) {
    const expected = createHmac('sha256', secret).update(prefix).update(body).digest();
    for (const signature of signatures) if (timingSafeEqual(signature, expected)) found = true;
  }
  return found;
};

const checkAge = (age, tolerance) => {
  if (age > tolerance)
    throw new WebhookVerificationError(
      'too_old',
      `The delivery was signed ${age} s ago, more than ${tolerance} s: it is a replay, it waited in a queue of yours, or your clock is fast.`,
    );
  if (age < -tolerance)
    throw new WebhookVerificationError(
      'too_new',
      `The delivery was signed ${-age} s in the future, more than ${tolerance} s: your clock is slow.`,
    );
};

const parseEvent = (body) => {
  try {
    return JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString('utf8'));
  } catch {
    throw new WebhookVerificationError('malformed_body', 'The signature is right, but the body is not JSON.');
  }
};
