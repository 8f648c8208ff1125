import { NamedError } from './errors.js';
import { createHmac } from 'node:crypto';
import type { Brand, Milliseconds } from './ids.js';
import type { SecretRef } from './webhook-endpoints.js';

/**
 * One line of the service's key file: 32 random bytes and their name. Signing secrets are derived from it and
 * stored nowhere.
 */
export interface MasterKey {
  readonly id: string;
  readonly key: Buffer;
  /** Of EVENT_KEY_FILE: counts only for events that were signed already. */
  readonly isRetired?: boolean | undefined;
}

/** All keys of the file, newest first; never empty. */
export type MasterKeys = readonly [MasterKey, ...MasterKey[]];

/**
 * `whsec_` and base64 of 32 bytes, as the receiver gets it. (decision 59: secrets, rotation, Standard
 * Webhooks)
 */
export type SigningSecret = Brand<string, 'SigningSecret'>;

/** An endpoint's secret is derived from a master key that the key file does not hold (any more). */
export class MissingMasterKey extends NamedError {
  constructor(readonly id: string) {
    super(
      `the key file lacks the key ${id}, which signing secrets in use are derived from. Add its line again below the others.`,
    );
  }
}

/** Derives an endpoint's secret. Throws MissingMasterKey. */
export const signingSecret = (
  keys: readonly MasterKey[],
  endpoint: string,
  { key: id, generation }: SecretRef,
): SigningSecret => {
  const master = keys.find((known) => known.id === id);
  if (master === undefined) throw new MissingMasterKey(id);
  const derived = createHmac('sha256', master.key)
    .update(`webhook signing secret\n${endpoint}\n${generation}`)
    .digest('base64');
  return `whsec_${derived}` as SigningSecret;
};

/**
 * The signed parts of an attempt: the id and type of the delivery, the bytes of the body, the secrets in
 * force (newest first), the time.
 */
export interface Signable {
  readonly delivery: string;
  readonly type: string;
  readonly body: string;
  readonly secrets: readonly SigningSecret[];
  readonly at: Milliseconds;
  /** The place of the attempt in a trace; absent if there is none. */
  readonly traceparent?: string | undefined;
}

/**
 * The headers of one attempt, including the headers of Standard Webhooks. (docs/contract.md#delivery-headers)
 */
export const deliveryHeaders = (signed: Signable): Readonly<Record<string, string>> => {
  const { delivery, type, body, secrets, at, traceparent } = signed;
  const t = Math.floor(at / 1000);
  const v1 = secrets.map(
    (secret) => `v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`,
  );
  const standard = secrets.map((secret) => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${delivery}.${t}.${body}`).digest('base64')}`;
  });
  return {
    'content-type': 'application/json',
    'user-agent': 'Service-Webhooks/1',
    'accept-encoding': 'identity',
    'service-event': type,
    'service-delivery': delivery,
    'service-signature': [`t=${t}`, ...v1].join(','),
    'webhook-id': delivery,
    'webhook-timestamp': String(t),
    'webhook-signature': standard.join(' '),
    ...(traceparent !== undefined && { traceparent }),
  };
};
