/**
 * For receivers: checks that a delivery came from the service, unchanged and now. This file needs nothing but
 * Node; copy it into your project. Give it the raw bytes of the body: a body that was parsed and written
 * again has other bytes, and no signature fits them.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

export type VerificationProblem =
  | 'missing_header'
  | 'malformed_header'
  | 'malformed_secret'
  | 'parsed_body'
  | 'too_old'
  | 'too_new'
  | 'wrong_signature'
  | 'malformed_body';

/** Why a delivery was not accepted: answer it with a 400, and log the message; it holds no secret. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';

  constructor(
    readonly problem: VerificationProblem,
    message: string,
  ) {
    super(message);
  }
}

/** Headers by name, as Node, Express and Fastify give them; or the `Headers` of a fetch request. */
export type DeliveryHeaders = Readonly<Record<string, string | readonly string[] | undefined>> | Headers;

export interface WebhookDelivery {
  /** The body as it came: bytes, or a string that was decoded as UTF-8 and not touched since. */
  readonly body: Uint8Array | string;
  readonly headers: DeliveryHeaders;
  /** `whsec_…`; while you change over after a rotation, the new one and the old one. */
  readonly secrets: readonly string[];
  /** Milliseconds since 1970: `Date.now()`. */
  readonly now: number;
  /** How many seconds the signature may be off: 300 unless given. */
  readonly tolerance?: number;
}

export interface WebhookEvent {
  readonly id: string;
  readonly type: string;
  readonly created: string;
  readonly data: {
    readonly card: string;
    readonly recipient: string;
    readonly reference: string | null;
    readonly heldReason: string | null;
  };
}

export interface VerifiedDelivery {
  /** The same on every attempt: remember it, and take in each one once. */
  readonly delivery: string;
  readonly event: WebhookEvent;
}

const defaultTolerance = 300;

const header = (headers: DeliveryHeaders, name: string): string => {
  const [, value] =
    (headers instanceof Headers ? [...headers] : Object.entries(headers)).find(
      ([key]) => key.toLowerCase() === name,
    ) ?? [];
  const text = typeof value === 'string' ? value : value?.join(',');
  if (text === undefined || text === '')
    throw new WebhookVerificationError(
      'missing_header',
      `The header ${name} is missing. Is this a delivery of the service, and do proxies pass the header on?`,
    );
  return text;
};

const parseSignature = (text: string): { readonly t: string; readonly signatures: readonly Buffer[] } => {
  const parts = text.split(',').map((part) => part.trim());
  const t = parts.find((part) => part.startsWith('t='))?.slice(2) ?? '';
  const signatures = parts
    .filter((part) => /^v1=[0-9a-f]{64}$/.test(part))
    .map((part) => Buffer.from(part.slice(3), 'hex'));
  if (!/^\d{1,12}$/.test(t) || signatures.length === 0)
    throw new WebhookVerificationError(
      'malformed_header',
      'The header service-signature is not of the form t=<unix seconds>,v1=<hex>. Was it changed on the way?',
    );
  return { t, signatures };
};

const checkTime = (t: number, now: number, tolerance: number): void => {
  const age = Math.round(now / 1000) - t;
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

const checkSecrets = (secrets: readonly string[]): void => {
  if (secrets.length === 0 || secrets.some((secret) => !/^whsec_[A-Za-z0-9+/]{43}=$/.test(secret)))
    throw new WebhookVerificationError(
      'malformed_secret',
      'A signing secret is whsec_ and 44 characters, all of it the key: check for a secret that is missing, cut or quoted.',
    );
};

/** Compares every signature with every secret, and takes the same time wherever the first difference is. */
const matches = (
  signatures: readonly Buffer[],
  secrets: readonly string[],
  signed: readonly [string, Uint8Array | string],
): boolean => {
  let found = false;
  for (const secret of secrets) {
    const expected = createHmac('sha256', secret).update(signed[0]).update(signed[1]).digest();
    for (const signature of signatures) if (timingSafeEqual(signature, expected)) found = true;
  }
  return found;
};

const parseEvent = (body: Uint8Array | string): WebhookEvent => {
  try {
    return JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString('utf8')) as WebhookEvent;
  } catch {
    throw new WebhookVerificationError('malformed_body', 'The signature is right, but the body is no JSON.');
  }
};

/**
 * The event of a delivery that is genuine, unchanged and fresh. Throws WebhookVerificationError, which says
 * what is wrong.
 */
export const verifyWebhook = ({
  body,
  headers,
  secrets,
  now,
  tolerance = defaultTolerance,
}: WebhookDelivery): VerifiedDelivery => {
  if (typeof body !== 'string' && !(body instanceof Uint8Array))
    throw new WebhookVerificationError(
      'parsed_body',
      'The body has been parsed. Verify the raw bytes: in Express, use express.raw({ type: "application/json" }) on this route, before any express.json().',
    );
  checkSecrets(secrets);
  const { t, signatures } = parseSignature(header(headers, 'service-signature'));
  if (!matches(signatures, secrets, [`${t}.`, body]))
    throw new WebhookVerificationError(
      'wrong_signature',
      "No signature fits. Either the secret is another endpoint's or an old one, or the body is not the raw one: it was parsed and written again, or its encoding was changed.",
    );
  checkTime(Number(t), now, tolerance);
  return { delivery: header(headers, 'service-delivery'), event: parseEvent(body) };
};
