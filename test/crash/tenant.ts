import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoggedEvent } from '../../domain/events.js';
import { OrganizationId } from '../../domain/ids.js';
import { cards, type CardDocument } from '../../projections/cards.js';
import type { SeededEntropy } from '../support/memory/entropy.js';
import { Clients } from './client.js';
import { operate, type ServiceProcess } from './service-process.js';

/** The cards in the log, newest first, with their statuses. */
export const cardsIn = (
  log: readonly LoggedEvent[],
): readonly (readonly [code: string, status: string])[] => {
  const documents = new Map<string, CardDocument>();
  for (const event of log.filter(({ stream }) => stream.startsWith('card-'))) {
    const document = cards.evolve(documents.get(event.stream) ?? null, event);
    if (document !== null) documents.set(event.stream, document);
  }
  return [...documents.values()].reverse().map(({ code, status }) => [code, status]);
};

/** Clients of a new organization with credits and a design. */
export const clientsOf = async (
  service: ServiceProcess,
  dataDir: string,
  dice: SeededEntropy,
  credits: number,
): Promise<Clients> => {
  const id = OrganizationId.parse(
    (await operate(service, dataDir, '/organizations', { name: 'Acme' }))['id'],
  );
  await operate(service, dataDir, `/organizations/${id}/credits`, { amount: credits });
  await operate(service, dataDir, `/organizations/${id}/designs`, { name: 'Thanks' });
  const { key } = await operate(service, dataDir, `/organizations/${id}/keys`, {
    scopes: ['cards:send', 'cards:read', 'webhooks:manage'],
  });
  const operatorToken = (await readFile(join(dataDir, 'operator.token'), 'utf8')).trim();
  return new Clients(service.url, { id, key: String(key), operatorToken }, dice);
};
