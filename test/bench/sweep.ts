import { DatabaseSync } from '@photostructure/sqlite';
import { join } from 'node:path';
import { openEventsFile } from '../../adapters/sqlite/log/events-file.js';
import { sqliteDeliveries } from '../../adapters/sqlite/records/deliveries.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { derivedUuid, OrganizationId } from '../../domain/ids.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';
import { atMost, type Figure } from './report.js';

const endpoints = 1_000;
const passes = 5;
const day = 86_400_000;
const longest = 100;
const endpointOf = (number: number) => derivedUuid('bench sweep', number);

/**
 * Pending deliveries that are due tomorrow, as many of each endpoint. Written past the service, for there are
 * many.
 */
const fill = (directory: string, deliveries: number, now: number): void => {
  const database = new DatabaseSync(join(directory, 'events.db'));
  try {
    database.exec('pragma synchronous = off; begin');
    const insert = database.prepare(`
      insert into deliveries (id, org, endpoint, event, type, card, position, occurredAt, body, status, allowed, due, expires)
      with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n + 1 < ?2)
      select ?1 || '-' || n, 'org', ?1, 'evt_' || n, 'card.created', 'HC-' || n, n, ?3, '{"id":"evt"}', 'pending', 6, ?4 + n, ?5 + n
      from numbers`);
    for (let number = 0; number < endpoints; number += 1)
      insert.run(endpointOf(number), Math.ceil(deliveries / endpoints), now, now + day, now + 2 * day);
    database.exec('commit');
  } finally {
    database.close();
  }
};

/** Milliseconds of the slowest of some passes. */
const slowest = async (pass: () => Promise<unknown>): Promise<number> => {
  let most = 0;
  for (let turn = 0; turn < passes; turn += 1) {
    const began = performance.now();
    await pass();
    most = Math.max(most, performance.now() - began);
  }
  return most;
};

const figure = (what: string, deliveries: number, value: number): Figure => {
  const among = `${endpoints.toLocaleString('en-US')} endpoints, ${deliveries.toLocaleString('en-US')} pending deliveries`;
  return atMost(`${what}, ${among}`, value, longest);
};

/**
 * A pass of the sweeps over pending deliveries, of which none is due: of workers, while the endpoints are
 * active, and of what drops deliveries whose window has ended, while they are disabled. The slowest of some
 * passes.
 */
export const measureSweep = async (directory: string, deliveries: number): Promise<Figure[]> => {
  const clock = new SystemClock();
  const now = clock.now();
  const fail = (error: unknown): void => {
    throw error;
  };
  const open = () => openEventsFile({ directory, clock, onUnknownOutcome: fail, onDamage: fail });
  await (await open()).close();
  fill(directory, deliveries, now);
  const file = await open();
  try {
    const { gates, claims, log } = sqliteDeliveries(file);
    const become = async (active: boolean, version: number): Promise<void> => {
      for (let number = 0; number < endpoints; number += 1)
        await gates.upsertEndpoint(
          {
            endpoint: endpointOf(number),
            org: OrganizationId.parse(derivedUuid('bench sweep')),
            url: 'https://receiver.invalid/cards' as WebhookUrl,
            secrets: [],
            active,
            version,
            enabledAt: 0,
          },
          now,
        );
    };
    await become(true, 0);
    const due = await slowest(async () => {
      if ((await claims.dueTimes()).size !== endpoints) throw new Error('some deliveries were not found');
    });
    await become(false, 1);
    const dropped = await slowest(async () => {
      if ((await log.dropExpired(now)) !== 0) throw new Error('a delivery was dropped too early');
    });
    return [
      figure('sweep for what is due', deliveries, due),
      figure('sweep for windows that have ended', deliveries, dropped),
    ];
  } finally {
    await file.close();
  }
};
