import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { waitTimeout } from '../../application/projecting/projection-board.js';
import type { Role } from '../../bin/wiring/roles.js';
import { aCard } from '../support/http/service.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { distributedWiring } from '../support/runner/wiring.js';
import { nextVersion } from '../support/servers/next-version.js';
import { freePort } from '../support/servers/ports.js';
import { eventually } from '../support/time/eventually.js';
import { operate, spawnService, type ServiceProcess } from './service-process.js';

/** How many cards there are before the upgrade. */
const cardsBefore = Number(process.env['UPGRADE_CARDS'] ?? 120);

/** How many clients send them. */
const senders = 32;

/** What so many cards add to a time limit, in ms: each is sent, folded and folded again. */
const timeFor = (cards: number): number => 10 * cards;

/** How many cards are sent before the upgrade, to compare with those during it. */
const cardsToCompare = 60;

/** So long may a send take on a machine that is fast, in ms: less than a write waits for the read models. */
const fastEnough = 1_000;

/** Between two looks at how late a process answers that has nothing to wait for. */
const breath = 20;

interface Observed {
  /** How long sends took, in ms. */
  readonly sends: number[];
  readonly failed: string[];
  /** Lookups, at whichever process, that showed less than was acknowledged. */
  readonly lost: string[];
  /** Cards that the next list of the same process neither showed nor said that it may lack. */
  readonly unlisted: string[];
  /** Those of processes that had been ready. */
  readonly unready: string[];
  /** The longest time that an answer took which waits for nothing: how much the machine stalls. */
  stall: number;
}

const percentile99 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] ?? 0;

/** A busy broker keeps connections waiting until they are made again, whatever the version. */
const lacksBrokerAlone = (readiness: string): boolean => {
  const { parts = [] } = JSON.parse(readiness) as {
    readonly parts?: readonly { readonly name: string; readonly ready: boolean }[];
  };
  const missing = parts.filter(({ ready }) => !ready).map(({ name }) => name);
  return missing.join() === 'rabbitmq';
};

/** The program of this version and of the next one, on one set of data. */
class Upgrade {
  readonly observed: Observed = { sends: [], failed: [], lost: [], unlisted: [], unready: [], stall: 0 };
  #usual: readonly number[] = [];
  readonly running: ServiceProcess[] = [];
  readonly #wasReady = new Set<ServiceProcess>();
  #key = '';

  constructor(
    private readonly directory: string,
    private readonly next: string,
    private readonly environment: Readonly<Record<string, string>>,
  ) {}

  async start(version: 'this' | 'next', role: Role = 'all'): Promise<ServiceProcess> {
    const service = await this.begin(version, role);
    await this.built(service);
    return service;
  }

  /** Starts a process that need not be ready. */
  async begin(version: 'this' | 'next', role: Role = 'all'): Promise<ServiceProcess> {
    const program = version === 'next' ? { program: this.next } : {};
    const service = spawnService(this.directory, await freePort(), [], {
      ...program,
      role,
      environment: this.environment,
    });
    this.running.push(service);
    await service.ready;
    return service;
  }

  async stop(service: ServiceProcess): Promise<void> {
    this.running.splice(this.running.indexOf(service), 1);
    expect(await service.end('SIGTERM')).to.equal(0);
  }

  async prepare(service: ServiceProcess): Promise<void> {
    const { id } = await operate(service, this.directory, '/organizations', { name: 'Acme' });
    await operate(service, this.directory, `/organizations/${String(id)}/credits`, { amount: 1_000_000 });
    const scopes = ['cards:send', 'cards:read'];
    const { key } = await operate(service, this.directory, `/organizations/${String(id)}/keys`, { scopes });
    this.#key = String(key);
    const send = async (): Promise<void> => {
      for (let count = 0; count < cardsBefore / senders; count += 1)
        await this.#call(service, '/api/v1/cards', aCard({ design_id: 'card:thank-you-classic' }));
    };
    await Promise.all(Array.from({ length: senders }, send));
  }

  /**
   * Sends cards to each process and cancels them, looks each up at every process after both and on the list
   * of its own, until the work is done.
   */
  async under<T>(services: readonly ServiceProcess[], work: () => Promise<T>): Promise<T> {
    let done = false;
    let sends = 0;
    const load = async (service: ServiceProcess): Promise<void> => {
      while (!done) {
        const begun = performance.now();
        const sent = await this.#call(
          service,
          '/api/v1/cards',
          aCard({ design_id: 'card:thank-you-classic' }),
        );
        const took = performance.now() - begun;
        sends += 1;
        this.observed.sends.push(took);
        if (sent.status !== 201)
          this.observed.failed.push(`${sent.status} ${JSON.stringify(sent.body).slice(0, 120)}`);
        const { id = '' } = sent.body;
        const lookUp = (expected: string): Promise<unknown> =>
          Promise.all(
            services.map(async (at) => {
              const { status, body } = await this.#call(at, `/api/v1/cards/${id}`);
              if (body.status !== expected)
                this.observed.lost.push(`${id}: ${status} ${body.status} at ${services.indexOf(at)}`);
            }),
          );
        await lookUp('pending');
        const list = await this.#call(service, '/api/v1/cards?limit=50');
        if (list.status !== 200)
          this.observed.failed.push(`${list.status} ${JSON.stringify(list.body).slice(0, 120)}`);
        if (!list.saysLate && list.body.data?.some((row) => row.id === id) !== true)
          this.observed.unlisted.push(id);
        await this.#call(service, `/api/v1/cards/${id}`, null, 'DELETE');
        await lookUp('cancelled');
        if (!this.#wasReady.has(service)) continue;
        const ready = await fetch(`${service.url}/readyz`);
        const text = await ready.text();
        if (ready.status !== 200 && !lacksBrokerAlone(text)) this.observed.unready.push(text);
      }
    };
    const watch = async (service: ServiceProcess): Promise<void> => {
      while (!done) {
        const begun = performance.now();
        await fetch(`${service.url}/healthz`);
        this.observed.stall = Math.max(this.observed.stall, performance.now() - begun);
        await pause(breath);
      }
    };
    // The same load, however many processes share it.
    const loads = services.length === 1 ? [load, load] : [load];
    const running = Promise.all([...loads, watch].flatMap((client) => services.map(client)));
    // Rejects if a call fails; the load doesn't end by itself before the work does.
    const failing = running.then(() => new Promise<never>(() => undefined));
    const result = await Promise.race([failing, work()]);
    const goal = sends + 3 * services.length;
    await Promise.race([running, eventually(() => sends >= goal, { within: 60_000, what: 'more cards' })]);
    done = true;
    await running;
    return result;
  }

  /** Measures how long sends take while nothing is being upgraded. */
  async compare(service: ServiceProcess): Promise<void> {
    const { sends } = this.observed;
    await this.under([service], () =>
      eventually(() => sends.length >= cardsToCompare, { within: 120_000, what: 'cards to compare with' }),
    );
    this.#usual = sends.splice(0);
  }

  /**
   * Throws unless each card was found at once, and listed unless the list said that it was late; nearly no
   * send took longer than a second, or than twice as long as 99 % did before, and none as long as one that
   * waits in vain; and every process that had been ready stayed so. On a machine that is so slow that read
   * models fall behind by themselves, a few looks may find a process not ready.
   */
  check(): void {
    const { sends, stall, failed, lost, unlisted, unready } = this.observed;
    expect({ failed, lost, unlisted }).to.deep.equal({ failed: [], lost: [], unlisted: [] });
    const before = percentile99(this.#usual);
    const allowed = Math.max(fastEnough, 2 * before) + 2 * stall;
    const isSlow = allowed >= 2 * fastEnough;
    const machine = `${sends.length} sends; 99 % took ${before} ms before; the machine stalled for ${stall} ms`;
    const late = sends.filter((took) => took > allowed);
    const said = `later than ${allowed} ms: ${late.join()}; ${machine}`;
    expect(late.length, said).to.be.at.most(sends.length / (isSlow ? 20 : 50));
    expect(Math.max(...late, 0), said).to.be.below(Math.max(waitTimeout, allowed + fastEnough));
    expect(unready.length, `${unready.join()}; ${machine}`).to.be.at.most(isSlow ? sends.length / 20 : 0);
  }

  /** Waits until the process is ready: it reads its own version of each read model. */
  async built(service: ServiceProcess): Promise<void> {
    await eventually(async () => (await fetch(`${service.url}/readyz`)).status === 200, {
      within: 120_000 + timeFor(cardsBefore),
    });
    this.#wasReady.add(service);
  }

  async #call(
    service: ServiceProcess,
    path: string,
    body: object | null = null,
    method = body === null ? 'GET' : 'POST',
  ) {
    const response = await fetch(`${service.url}${path}`, {
      headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
      method,
      ...(body !== null && { body: JSON.stringify(body) }),
    });
    const saysLate = response.headers.has('x-read-model-late');
    const answer = (await response.json()) as {
      readonly id?: string;
      readonly status?: string;
      readonly data?: readonly { readonly id: string }[];
    };
    return { status: response.status, saysLate, body: answer };
  }
}

const inPlace = async (
  environment: Readonly<Record<string, string>>,
  run: (upgrade: Upgrade) => Promise<void>,
): Promise<void> => {
  const directory = await mkdtemp(join(tmpdir(), 'cards-'));
  const next = await nextVersion(await mkdtemp(join(tmpdir(), 'cards-next-')));
  const upgrade = new Upgrade(directory, next, environment);
  try {
    await run(upgrade);
    upgrade.check();
  } finally {
    for (const service of upgrade.running) await service.end('SIGKILL');
    await rm(directory, { recursive: true, force: true });
    await rm(join(next, '../..'), { recursive: true, force: true });
  }
};

describe('a new version of a read model in one process', () => {
  it('is built after a restart while lookups show every card, lists say that they are late, and no write waits', () =>
    inPlace({}, async (upgrade) => {
      const before = await upgrade.start('this');
      await upgrade.prepare(before);
      await upgrade.compare(before);
      await upgrade.stop(before);
      const after = await upgrade.begin('next');
      await upgrade.under([after], () => upgrade.built(after));
    })).timeout(180_000 + timeFor(cardsBefore));
});

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'two versions of a read model on servers', () => {
  it('serve side by side, whichever comes or goes first: no card is missing from a lookup, and no write waits', async () => {
    const keys = await mkdtemp(join(tmpdir(), 'cards-keys-'));
    const wiring = await distributedWiring(keys);
    const { environment } = wiring;
    try {
      await inPlace(environment, async (upgrade) => {
        const old = await upgrade.start('this');
        await upgrade.prepare(old);
        await upgrade.compare(old);
        // What each version leaves behind: a process that reads, and no projector.
        const oldReader = await upgrade.start('this', 'api');
        const next = await upgrade.under([old, oldReader], () => upgrade.start('next'));
        const nextReader = await upgrade.start('next', 'api');
        await upgrade.under([nextReader, oldReader], () => upgrade.stop(old));
        const back = await upgrade.under([next, nextReader, oldReader], () => upgrade.start('this'));
        await upgrade.under([back, oldReader, nextReader], () => upgrade.stop(next));
        await upgrade.under([back, nextReader], () => upgrade.stop(oldReader));
        await upgrade.under([back], () => upgrade.stop(nextReader));
      });
    } finally {
      await wiring.clear();
      await rm(keys, { recursive: true, force: true });
    }
  }).timeout(300_000 + 2 * timeFor(cardsBefore));
});
