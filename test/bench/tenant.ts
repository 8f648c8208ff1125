import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { spreadCodes } from './cards.js';
import { besidePulse, caughtUp, startService, type StartedService } from './processes.js';
import { measureFirstMovement, measureFirstSend } from './first-send.js';
import type { LongestGaps } from './pulse.js';
import { atMost, type Figure } from './report.js';
import { seed, type Seeded } from './seed.js';

export interface Tenant extends Seeded {
  /** The data directory. The parts that are measured one after the other share it. */
  readonly directory: string;
  readonly cards: number;
  readonly deliveries: number;
}

const built = new Map<string, Promise<Tenant>>();

/**
 * The largest organization: this many cards, as many movements of its ledger, and this many deliveries of one
 * endpoint. It is built once in a directory. Whoever deletes anything of it works on a copy.
 */
export const largestTenant = (directory: string, size: number): Promise<Tenant> => {
  const path = join(directory, 'tenant');
  const tenant =
    built.get(path) ??
    seed(path, size, { produced: false, deliveries: size }).then((seeded) => ({
      ...seeded,
      directory: path,
      cards: size,
      deliveries: size,
    }));
  built.set(path, tenant);
  return tenant;
};

/** Settings for a service over the largest tenant. */
export const tenantSettings = { RATE_LIMIT_PER_MINUTE: '1000000000' };

const maxGap = 100;

/** What a piece of work took, and how long others had to wait for a response meanwhile. */
export const gapFigures = (what: string, milliseconds: number, gaps: LongestGaps): readonly Figure[] => {
  const none = { ratio: null, comparedWith: null };
  const gap = (of: string, value: number): Figure =>
    atMost(`longest wait for ${of} beside it`, value, maxGap);
  return [
    { what, value: milliseconds, unit: 'ms', ...none, target: null, met: null },
    gap('/healthz', gaps.health),
    ...(gaps.post === null ? [] : [gap('a POST of a card', gaps.post)]),
  ];
};

interface Client {
  readonly service: StartedService;
  readonly tenant: Tenant;
}

const operatorHeaders = ({ tenant }: Client) => ({
  authorization: `Bearer ${readFileSync(join(tenant.directory, 'operator.token'), 'utf8').trim()}`,
});

const read = async ({ service, tenant }: Client, path: string): Promise<void> => {
  const response = await fetch(`${service.url}${path}`, {
    headers: { authorization: `Bearer ${tenant.key}` },
  });
  await response.text();
  if (!response.ok) throw new Error(`${path} responded with ${response.status}`);
};

/** The lines of a response. Not with `readline`, which ends the process when the response is aborted. */
const linesOf = async function* (body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
};

/** Reads server-sent events until one has the position, or the time is over. Returns how many came. */
const follow = async (
  client: Client,
  query: string,
  until: { readonly position: number; readonly milliseconds: number },
): Promise<number> => {
  const stop = AbortSignal.timeout(until.milliseconds);
  let count = 0;
  try {
    const response = await fetch(`${client.service.url}/operator/v1/events?${query}`, {
      headers: operatorHeaders(client),
      signal: stop,
    });
    if (response.body === null) throw new Error('no events');
    for await (const line of linesOf(response.body)) {
      if (!line.startsWith('id: ')) continue;
      count += 1;
      if (Number(line.slice(4)) >= until.position) return count;
    }
  } catch (error) {
    if (!stop.aborted) throw error;
  }
  return count;
};

const replay = async (client: Client, endpoint: string, from: string): Promise<void> => {
  const { service, tenant } = client;
  const done = await service.operate(`/organizations/${tenant.org}/webhooks/${endpoint}/replay`, { from });
  if (done['deliveries'] !== 0) throw new Error(`a replay was to send nothing: ${JSON.stringify(done)}`);
};

/** Registers an endpoint to which none of the tenant's events is sent. */
const silentEndpoint = async ({ service, tenant }: Client): Promise<string> => {
  const response = await fetch(`${service.url}/api/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'https://receiver.invalid/silent', events: ['card.mailed'] }),
  });
  const { id } = (await response.json()) as { readonly id: string };
  return id;
};

const followFor = 10_000;

/** What customers and operators ask of the largest tenant, each beside a pulse. */
export const measureTenant = async (directory: string, size: number): Promise<Figure[]> => {
  const tenant = await largestTenant(directory, size);
  const first = [...(await measureFirstSend(tenant, tenantSettings)), ...(await measureFirstMovement(size))];
  const service = await startService(tenant.directory, tenantSettings);
  try {
    await caughtUp(service);
    const client = { service, tenant };
    const pulse = { url: service.url, key: tenant.key };
    const silent = await silentEndpoint(client);
    const codes = spreadCodes(tenant.cards);
    const figures: Figure[] = [...first];
    const measure = async (what: string, work: () => Promise<unknown>): Promise<void> => {
      const { milliseconds, gaps } = await besidePulse(pulse, work);
      figures.push(...gapFigures(`${what}, ${size.toLocaleString('en-US')} cards`, milliseconds, gaps));
    };
    const each = async (paths: readonly string[]): Promise<void> => {
      for (const path of paths) await read(client, path);
    };
    await measure('1,000 lookups, one after the other', () =>
      each(codes.map((code) => `/api/v1/cards/${code}`)),
    );
    await measure('200 pages of 200 cards from anywhere', () =>
      each(codes.slice(0, 200).map((code) => `/api/v1/cards?limit=200&starting_after=${code}`)),
    );
    await measure('the list by status and reference', () =>
      each([
        '/api/v1/cards?status=posted',
        '/api/v1/cards?reference=order-1',
        '/api/v1/cards?status=pending',
      ]),
    );
    const operate = async (paths: readonly string[]): Promise<void> => {
      for (const path of paths) {
        const answer = await service.operate(path);
        if ('error' in answer) throw new Error(`${path}: ${JSON.stringify(answer)}`);
      }
    };
    const office = `/organizations/${tenant.org}`;
    await measure('the operator’s counts of cards by status', () => operate([office]));
    await measure(
      'the operator’s list of all cards: by itself, by status, by reference, and deep inside',
      () =>
        operate([
          '/cards?limit=200',
          '/cards?status=pending&limit=200',
          '/cards?reference=order-1',
          ...codes.slice(0, 50).map((code) => `/cards?starting_after=${code}`),
        ]),
    );
    await measure('the statement of the credits, and the balance at 20 times', () =>
      operate([
        `${office}/credits/movements?limit=200`,
        `${office}/credits/movements?limit=200&starting_after=1000`,
        ...Array.from(
          { length: 20 },
          (_, part) => `${office}/credits?at=${Math.ceil((tenant.events * (part + 1)) / 20)}`,
        ),
      ]),
    );
    await measure('a replay from a time that nothing is after', () =>
      replay(client, silent, '2099-01-01T00:00:00Z'),
    );
    await measure('a replay from the first event that sends nothing', () => replay(client, silent, '0'));
    await measure('the event feed with a filter that only the end of the log matches', () =>
      follow(client, 'from=0&category=webhooks', {
        position: tenant.events + 1,
        milliseconds: 60_000,
      }),
    );
    let exported = 0;
    await measure('an export of the log', async () => {
      exported = await follow(client, 'from=0', { position: tenant.events, milliseconds: followFor });
    });
    figures.push({
      what: 'events exported in that time',
      value: exported,
      unit: 'events',
      ratio: null,
      comparedWith: null,
      target: null,
      met: null,
    });
    return figures;
  } finally {
    await service.stop();
  }
};
