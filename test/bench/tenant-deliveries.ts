import { DatabaseSync } from '@photostructure/sqlite';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../support/time/eventually.js';
import { spreadCodes } from './cards.js';
import { besidePulse, caughtUp, startService, type StartedService } from './processes.js';
import type { Figure } from './report.js';
import { gapFigures, largestTenant, tenantSettings, type Tenant } from './tenant.js';

/** One failure disables the endpoint, and what is left to the background is looked at every five seconds. */
const settings = { ...tenantSettings, WEBHOOK_DISABLE_AFTER: '1', WEBHOOK_BACKOFF: '10s,20s,20s' };
const betweenScrapes = 500;
const long = { within: 100_000 };

/** Of three pending deliveries one becomes a dead letter, and the window of another one ends. */
const age = (directory: string): { readonly deadLetters: number; readonly ended: number } => {
  const database = new DatabaseSync(join(directory, 'events.db'));
  try {
    const now = Date.now();
    const deadLetters = database
      .prepare(
        "update deliveries set status = 'exhausted', due = null, made = allowed, endedAt = ? where status = 'pending' and seq % 3 = 0",
      )
      .run(now).changes;
    const ended = database
      .prepare("update deliveries set expires = ? where status = 'pending' and seq % 3 = 1")
      .run(now).changes;
    return { deadLetters: Number(deadLetters), ended: Number(ended) };
  } finally {
    database.close();
  }
};

/** The owner of the endpoint, and the operator. */
class Office {
  constructor(
    private readonly service: StartedService,
    private readonly tenant: Tenant,
  ) {}

  async own(path: string, method = 'GET', body?: object): Promise<Readonly<Record<string, unknown>>> {
    const response = await fetch(`${this.service.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${this.tenant.key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path} responded with ${response.status}`);
    return (await response.json()) as Readonly<Record<string, unknown>>;
  }

  async gauge(name: string): Promise<number> {
    const text = await (await fetch(`${this.service.url}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1]);
  }

  /** Looks seldom: a scrape is work for the service, too. */
  async #until(name: string, most: number): Promise<void> {
    while ((await this.gauge(name)) > most) await pause(betweenScrapes);
  }

  untilPending(most: number): Promise<void> {
    return this.#until('webhook_pending_deliveries', most);
  }

  /** An attempt at one dead letter fails, for nothing reaches the endpoint. */
  async disable(): Promise<void> {
    const before = await this.gauge('webhook_dead_letters');
    const { data } = await this.own('/deliveries?status=exhausted&limit=1');
    const [{ id } = { id: '' }] = data as readonly { readonly id: string }[];
    await this.own(`/deliveries/${id}/retry`, 'POST', {});
    const path = `/webhooks/${this.tenant.endpoint}`;
    await eventually(async () => (await this.own(path))['active'] === false, long);
    await eventually(async () => (await this.gauge('webhook_dead_letters')) === before, long);
  }

  async redrive(): Promise<void> {
    await this.service.operate(`/organizations/${this.tenant.org}/deliveries/redrive`, { from: '0' });
    await this.#until('webhook_dead_letters', 0);
  }
}

/** Every filter by itself, together with the others, and from deep inside. */
const filtersOf = (endpoint: string, cards: readonly string[]): readonly string[] => {
  const statuses = ['pending', 'exhausted', 'dropped', 'delivered'];
  const kinds = [
    '',
    `&endpoint=${endpoint}`,
    ...statuses.flatMap((status) => [`&status=${status}`, `&status=${status}&endpoint=${endpoint}`]),
    `&type=card.mailed&endpoint=${endpoint}&status=pending`,
  ];
  return [
    ...kinds.map((kind) => `/deliveries?limit=50${kind}`),
    ...cards.flatMap((card) => [`/deliveries?card=${card}`, `/deliveries?card=${card}&status=dropped`]),
  ];
};

/**
 * What customers and operators do with the deliveries of the largest tenant, on a copy, each beside a pulse.
 */
export const measureTenantDeliveries = async (directory: string, size: number): Promise<Figure[]> => {
  const tenant = await largestTenant(directory, size);
  const copy = join(directory, 'tenant-deliveries');
  await cp(tenant.directory, copy, { recursive: true });
  const { deadLetters, ended } = age(copy);
  const service = await startService(copy, settings);
  const figures: Figure[] = [];
  try {
    await caughtUp(service);
    const office = new Office(service, tenant);
    const endpoint = `/webhooks/${tenant.endpoint}`;
    // The cards that the pulse sends shall make no deliveries.
    await office.own(endpoint, 'PATCH', { events: ['card.mailed'] });
    // The first webhook of a process loads the HTTP client, once.
    await office.own(`${endpoint}/test`, 'POST');
    const waiting = await office.gauge('webhook_pending_deliveries');
    const measure = async (what: string, count: number, work: () => Promise<unknown>): Promise<void> => {
      const pulse = { url: service.url, key: tenant.key };
      const { milliseconds, gaps } = await besidePulse(pulse, work);
      figures.push(...gapFigures(`${what}, ${count.toLocaleString('en-US')} deliveries`, milliseconds, gaps));
    };
    const filters = filtersOf(tenant.endpoint ?? '', spreadCodes(tenant.cards).slice(0, 50));
    await measure(`${filters.length} lists of deliveries by card, endpoint, status`, tenant.deliveries, () =>
      filters.reduce<Promise<unknown>>(
        (before, path) => before.then(() => office.own(path)),
        Promise.resolve(),
      ),
    );
    await measure('an endpoint is disabled, and drops those whose window has ended', ended, async () => {
      await office.disable();
      await office.untilPending(waiting - ended);
    });
    // Before it is enabled: otherwise they would be attempted.
    await measure('dead letters are redriven', deadLetters, () => office.redrive());
    const left = await office.gauge('webhook_pending_deliveries');
    await measure('an endpoint is enabled', left, () => office.own(`${endpoint}/enable`, 'POST'));
    let answered = 0;
    await measure('an endpoint is deleted, until all is dropped', left, async () => {
      const began = performance.now();
      await office.own(endpoint, 'DELETE');
      answered = performance.now() - began;
      await office.untilPending(0);
    });
    figures.push({
      what: 'the answer to that DELETE',
      value: answered,
      unit: 'ms',
      ratio: null,
      comparedWith: null,
      target: '≤ 100 ms',
      met: answered <= 100,
    });
    return figures;
  } finally {
    await service.stop();
    await rm(copy, { recursive: true, force: true });
  }
};
