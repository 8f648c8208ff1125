import { readSettings } from '../../../../bin/settings/settings.js';
import type { MasterKeys } from '../../../../domain/webhook-signing.js';

/** How the simulated service is set: attempts follow each other quickly, so that a run sees all of them. */
export const settings = readSettings({
  RATE_LIMIT_PER_MINUTE: '1000000',
  HOOK_RATE_LIMIT_PER_MINUTE: '1000000',
  WEBHOOK_BACKOFF: '2s,5s,10s,20s,40s',
  WEBHOOK_TIMEOUT: '5s',
  WEBHOOK_ALLOW_PORTS: '*',
  DELIVERY_KEEP: '12h',
});

export const operatorToken = 'the operator';
export const masters: MasterKeys = [{ id: 'k1', key: Buffer.alloc(32, 7) }];
