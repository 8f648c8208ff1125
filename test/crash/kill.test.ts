import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { SeededEntropy } from '../support/memory/entropy.js';
import { keysPath, openPersonalKeys } from '../../adapters/sqlite/keys/personal-keys.js';
import { openEventsFile } from '../../adapters/sqlite/log/events-file.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { keyRing } from '../../application/personal/key-ring.js';
import { openedEvents } from '../../application/personal/personal.js';
import { masterKeys } from '../../bin/settings/secret-files.js';
import type { LoggedEvent } from '../../domain/events.js';
import { violations } from '../support/simulation/invariants.js';
import type { Clients } from './client.js';
import { freePort } from '../support/servers/ports.js';
import { rounds } from '../support/runner/effort.js';
import { eventually } from '../support/time/eventually.js';
import { spawnService, type ServiceProcess } from './service-process.js';
import { cardsIn, clientsOf } from './tenant.js';

const clientCount = 16;

/** The log as it is on disk while no process has it open, with personal data opened. */
const readLog = async (dataDir: string): Promise<readonly LoggedEvent[]> => {
  const fail = (error: unknown): never => {
    throw error;
  };
  const [clock, entropy] = [new SystemClock(), new SystemEntropy()];
  const file = await openEventsFile({ directory: dataDir, clock, onUnknownOutcome: fail, onDamage: fail });
  const keys = openPersonalKeys(keysPath(dataDir));
  try {
    const masters = masterKeys(join(dataDir, 'personal.key'), entropy, false, 'PERSONAL_KEY_FILE');
    const ring = keyRing({ store: keys, masters, clock, entropy });
    return await openedEvents(file.eventStore, ring, clock).readLog(0n, 1_000_000);
  } finally {
    keys.close();
    await file.close();
  }
};

const inDirectory = async (body: (dataDir: string, port: number) => Promise<void>): Promise<void> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'cards-'));
  try {
    await body(dataDir, await freePort());
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
};

const started = async (dataDir: string, port: number): Promise<ServiceProcess> => {
  const service = spawnService(dataDir, port);
  await service.ready;
  return service;
};

/** Waits until `count` more calls are answered, however fast this machine is. */
const answered = (clients: Clients, count: number): Promise<unknown> => {
  const goal = clients.history.length + count;
  return eventually(() => clients.history.length >= goal, { what: `${count} more answers` });
};

const kills = rounds({ usually: 3, thoroughly: 8 });
/** One in this many starts is killed, too. */
const killedStarts = 4;

describe('a service that is killed', () => {
  it(`loses no credit and no card, and makes none twice, killed ${kills} times at work and ${Math.ceil(kills / killedStarts)} times while it starts`, () =>
    inDirectory(async (dataDir, port) => {
      const seed = Number(process.hrtime.bigint() & 0xffffn);
      const dice = new SeededEntropy(seed);
      const begun = performance.now();
      let service = await started(dataDir, port);
      const startTime = Math.ceil(performance.now() - begun);
      const clients = await clientsOf(service, dataDir, dice, 400);
      for (let round = 0; round < kills; round++) {
        const work = clients.work(clientCount);
        await answered(clients, 8 + dice.below(40));
        await pause(dice.below(20));
        await service.end('SIGKILL');
        await work;
        if (round % killedStarts === 0) {
          const stillborn = spawnService(dataDir, port);
          await pause(dice.below(startTime));
          await stillborn.end('SIGKILL');
        }
        service = await started(dataDir, port);
        await clients.findOut();
      }
      const list = await clients.list();
      expect(await service.end('SIGTERM')).to.equal(0);

      const log = await readLog(dataDir);
      expect(violations(log, clients.history, { settled: true }), `seed ${seed}`).to.deep.equal([]);
      expect(clients.stuck).to.deep.equal([]);
      expect(list).to.deep.equal(cardsIn(log));
      expect(
        log.filter(({ metadata: { actor } }) => actor.kind === 'system' && actor.id === 'reconciler'),
      ).to.deep.equal([]);
      const cutOff = clients.history.filter(({ answer }) => answer === null).length;
      expect(
        [cutOff > kills, list.length > 2 * kills],
        `${cutOff} calls cut off, ${list.length} cards`,
      ).to.deep.equal([true, true]);
    })).timeout(240_000);

  it('lets no second process use its files, and leaves no lock after it is killed', () =>
    inDirectory(async (dataDir, port) => {
      const service = await started(dataDir, port);
      const second = spawnService(dataDir, await freePort());
      second.ready.catch(() => undefined);
      expect(await second.ended).to.equal(1);
      expect(second.stderr()).to.contain(dataDir).and.to.contain('in use');
      expect(await service.end('SIGKILL')).to.equal(null);
      const next = await started(dataDir, port);
      expect(await next.end('SIGTERM')).to.equal(0);
    }));
});

describe('a service that is asked to stop', () => {
  it('responds to running requests, accepts no more, and ends within 10 s', () =>
    inDirectory(async (dataDir, port) => {
      const service = await started(dataDir, port);
      const clients = await clientsOf(service, dataDir, new SeededEntropy(1), 100_000);
      const work = clients.work(clientCount);
      await answered(clients, 40);
      // A process that is still there after 9.5 s ends with another code.
      expect(await service.end('SIGTERM')).to.equal(0);
      await work;
      const log = await readLog(dataDir);
      expect(violations(log, clients.history, { settled: true })).to.deep.equal([]);
      // A call without a response was never accepted: the log has nothing of it.
      const acknowledged = clients.history.filter(
        ({ does, answer }) => does.kind === 'send' && answer?.status === 201 && !answer.replay,
      ).length;
      expect(cardsIn(log).length).to.equal(acknowledged);
      expect(acknowledged).to.be.above(10);
    }));
});
