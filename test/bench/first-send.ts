import { unsealed } from '../support/fixtures/seal-events.js';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { EventStoreDbEventStore } from '../../adapters/eventstoredb/event-store.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { newCommand } from '../../application/writing/execute.js';
import { LedgerQueue } from '../../application/money/ledger-queue.js';
import { purchaseBy, spendFor } from '../../domain/credits.js';
import { Streams } from '../../application/writing/streams.js';
import type { Command } from '../../domain/events.js';
import { derivedUuid, OrganizationId } from '../../domain/ids.js';
import { aCard } from './a-card.js';
import { besidePulse, caughtUp, startProduction, startService, type StartedService } from './processes.js';
import { atMost, type Figure } from './report.js';
import { seededCode } from './seed.js';
import { nothingProjected } from '../support/fixtures/world.js';

const longest = 50;

const figure = (what: string, value: number): Figure => atMost(what, value, longest);

const send = async ({ url }: StartedService, key: string): Promise<void> => {
  const response = await fetch(`${url}/api/v1/cards`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: aCard,
  });
  if (response.status !== 201) throw new Error(`the send was answered with ${response.status}`);
};

/** Another organization sends some cards, so that no code runs for the first time after it. */
const warmUp = async (service: StartedService): Promise<void> => {
  const { id } = await service.operate('/organizations', { name: 'Bench' });
  const org = String(id);
  await service.operate(`/organizations/${org}/credits`, { amount: 100 });
  await service.operate(`/organizations/${org}/designs`, { name: 'Thanks' });
  const { key } = await service.operate(`/organizations/${org}/keys`, { scopes: ['cards:send'] });
  for (let sent = 0; sent < 50; sent += 1) await send(service, String(key));
};

/**
 * The first send after a start, of the organization whose ledger has a movement per card. Another
 * organization has sent before: what the process itself needs to get going is not what is measured.
 */
export const measureFirstSend = async (
  { directory, key, cards }: { readonly directory: string; readonly key: string; readonly cards: number },
  settings: Readonly<Record<string, string>>,
): Promise<Figure[]> => {
  // One start builds the read models, and the next one is measured.
  const before = await startService(directory, settings);
  await caughtUp(before);
  await before.stop();
  const service = await startService(directory, settings);
  try {
    await caughtUp(service);
    await warmUp(service);
    const { milliseconds, gaps } = await besidePulse({ url: service.url, key: null }, async () => {
      await send(service, key);
    });
    return [
      figure(`largest tenant: first send, ${cards.toLocaleString('en-US')} movements`, milliseconds),
      figure('longest wait for /healthz beside it', gaps.health),
    ];
  } finally {
    await service.stop();
  }
};

/** The same movement of credits, with the ledger in a stand-in of EventStoreDB. */
export const measureFirstMovement = async (movements: number): Promise<Figure[]> => {
  const log = await startProduction({ cards: 6, moved: 6, movements });
  const clock = new SystemClock();
  const entropy = new SystemEntropy();
  const store = new EventStoreDbEventStore({ url: log.url, clock, entropy });
  try {
    const streams = new Streams(store, unsealed);
    const ledgers = new LedgerQueue(
      { store, streams, clock, entropy },
      { savesCalls: true, readYourWrites: nothingProjected },
    );
    const newcomer = OrganizationId.parse(derivedUuid('bench newcomer'));
    const commandOf = (org: OrganizationId): Command =>
      newCommand({ clock, entropy }, { actor: { kind: 'system', id: 'bench' }, requestId: null }, org);
    // Another organization comes first: connecting is not what is measured.
    for (let bought = 0; bought < 50; bought += 1) {
      const command = commandOf(newcomer);
      await ledgers.move({ org: newcomer, command, movements: [purchaseBy(command, newcomer, 1, null)] });
    }
    const org = OrganizationId.parse(log.org);
    const command = commandOf(org);
    const slot = { card: seededCode(movements), revision: 0, command: command.id };
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const began = performance.now();
    await ledgers.move({ org, command, movements: [spendFor(slot, org)] });
    const milliseconds = performance.now() - began;
    delay.disable();
    const what = `${movements.toLocaleString('en-US')} movements in a stand-in of EventStoreDB`;
    return [
      figure(`largest tenant: first movement, ${what}`, milliseconds),
      figure('longest time that the event loop stood still meanwhile', delay.max / 1e6),
    ];
  } finally {
    await store.close();
    log.stop();
  }
};
