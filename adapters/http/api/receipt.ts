import type { StreamName } from '../../../domain/ids.js';
import type { DocumentedHeader } from '../server/route.js';

const name = 'x-log-event';

/**
 * The receipt with which a client can show later that an event was acknowledged. (docs/contract.md#responses)
 */
export const receiptHeader: Readonly<Record<string, DocumentedHeader>> = {
  [name]: {
    description:
      'The event in which this was recorded, as `{stream}@{revision}`: keep it, and a proof or an export must show that event.',
    schema: { type: 'string', pattern: '@[0-9]+$' },
  },
};

export const receiptFor = (stream: StreamName, revision: number): Readonly<Record<string, string>> => ({
  [name]: `${stream}@${revision}`,
});
