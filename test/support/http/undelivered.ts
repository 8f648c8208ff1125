import { eventually } from '../time/eventually.js';
import { aCard, type Tenant } from './service.js';

/** A delivery that has not arrived, and its endpoint. */
export interface Undelivered {
  readonly endpoint: string;
  readonly delivery: string;
}

/**
 * Registers an endpoint at which nobody listens, and waits for a delivery to it. The service has to allow
 * 127.0.0.0/8 and every port. (receiver.ts: `receiverSettings`)
 */
export const makeUndelivered = async ({ api }: Tenant): Promise<Undelivered> => {
  const body = { url: 'https://127.0.0.2:1/nobody', events: ['card.held'] };
  const endpoint = (await api('/api/v1/webhooks', { body })).id;
  await api('/api/v1/cards', { body: aCard({ message: 'Thank you 🎉' }) });
  const delivery = await eventually(async () => (await api('/api/v1/deliveries')).rows[0]?.['id']);
  return { endpoint, delivery: String(delivery) };
};
