import { expect } from 'chai';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openForWriting } from '../../adapters/sqlite/database.js';
import { openLogFile } from '../support/fixtures/offline-log.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import type { Checkpoint } from '../../application/ports/log-tiles.js';
import type { StoredEvent } from '../../application/ports/raw-log.js';
import { startService, type Service } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { logFile } from '../support/fixtures/log-file.js';
import {
  changed,
  indexOf,
  isCancel,
  isFirstOfCard,
  isPurchase,
  servedManipulations,
  takesNothingOut,
  withoutLast,
  type Change,
  type ServedManipulation,
} from '../support/fixtures/served-manipulations.js';
import { rechained } from '../support/fixtures/stored-log.js';
import { aCard, clientsOf } from '../support/http/service.js';
import { faultOfLog } from '../support/http/service-in.js';
import { eventually } from '../support/time/eventually.js';
import { writeEventKeys } from '../support/fixtures/seal-events.js';

const across: Change = (events) => {
  const [one, other] = [indexOf(events, isPurchase), indexOf(events, isFirstOfCard)];
  const [first, second] = [events[one], events[other]];
  if (first === undefined || second === undefined) throw new Error('there are no such events');
  return events.map((event, at) =>
    at === one
      ? { ...second, position: first.position }
      : at === other
        ? { ...first, position: second.position }
        : event,
  );
};

/** What of the twenty-six manipulations is done together with removing the read models. */
const anew: readonly ServedManipulation[] = [
  [5, 'the last event of the log removed, and the tree set back', withoutLast, (events) => events.slice(-1)],
  [8, 'two events of different streams exchange positions', across, (events) => events.filter(isPurchase)],
  [
    11,
    'the last event of a card rewritten, rechained',
    (events) =>
      rechained(
        changed(isCancel, (event) => ({
          ...event,
          metadata: event.metadata.replace(/"occurredAt":"\d{4}/u, '"occurredAt":"2001'),
        }))(events),
      ),
    (events) => events.filter(isCancel),
  ],
  [
    14,
    'a purchase of 100 becomes 1,000,100, rechained',
    (events) =>
      rechained(
        changed(isPurchase, (event) => ({ ...event, data: event.data.replaceAll('100', '1000100') }))(events),
      ),
    (events) => events.filter(isPurchase),
  ],
  [
    21,
    'the personal part of a card set to NULL',
    changed(isFirstOfCard, (event) => ({ ...event, personal: null })),
    (events) => events.filter(isFirstOfCard),
  ],
];

describe('a manipulation of the files of a service', function () {
  this.timeout(60_000);
  let pristine: string;
  let events: readonly StoredEvent[];
  let signed: readonly Checkpoint[];
  let directory: string;
  let service: Service | null = null;

  const start = async (place: string, more: Readonly<Record<string, string>> = {}): Promise<Service> => {
    service = await startService({
      settings: readSettings({ PORT: '0', DEMO: 'off', DATA_DIR: place, LOG_ON_DAMAGE: 'report', ...more }),
      role: 'all',
      clock: new SystemClock(),
      entropy: new SystemEntropy(),
      log: pino({ level: 'silent' }),
      fail: (error) => {
        throw error;
      },
    });
    return service;
  };
  const stop = async (): Promise<void> => {
    await service?.stop();
    service = null;
  };
  const kept = async (place: string): Promise<readonly Checkpoint[]> => {
    const file = openLogFile(join(place, 'events.db'));
    try {
      return await file.tiles.kept();
    } finally {
      file.close();
    }
  };
  const replace = (place: string, all: readonly StoredEvent[], sql = ''): void => {
    const file = logFile(place);
    file.replace(all);
    file.close();
    const database = openForWriting(join(place, 'events.db'));
    database.exec(sql);
    database.close();
  };
  const refusesExports = async (running: Service, position: bigint | undefined): Promise<void> => {
    expect(await faultOfLog(running)).to.include(`damaged at position ${position}:`);
    await takesNothingOut(clientsOf(running), events);
  };
  const whole = async (running: Service): Promise<number> => {
    const { operator } = clientsOf(running);
    return eventually(async () => {
      const { body } = await operator('/operator/v1/anchor');
      return body['tree_size'] === Number(body['position']) ? Number(body['position']) : null;
    });
  };

  before(async () => {
    pristine = await mkdtemp(join(tmpdir(), 'cards-'));
    // Whoever changed the log had the key, too: what finds it then is the tree.
    writeEventKeys(pristine);
    const running = await start(pristine);
    await running.prepared;
    const { operator, tenant } = clientsOf(running);
    const { api } = await tenant();
    const { id } = await api('/api/v1/cards', { body: aCard() });
    const other = await api('/api/v1/cards', { body: aCard() });
    await api(`/api/v1/cards/${id}`, { method: 'DELETE' });
    // No machine takes it, however long the tests last: what follows is done by them alone.
    await operator(`/operator/v1/cards/${other.id}/hold`, { body: { reason: 'It stays.' } });
    // Nothing follows from the last event, so nobody writes it again.
    await operator('/operator/v1/organizations', { body: { name: 'The last event' } });
    await whole(running);
    await stop();
    const file = openLogFile(join(pristine, 'events.db'));
    events = await file.log.readStored(0n, 10_000);
    file.close();
    signed = await kept(pristine);
    expect(signed.at(-1)?.size).to.equal(events.length);
    expect(rechained(events)).to.deep.equal(events);
  });
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    await cp(pristine, directory, { recursive: true });
  });
  afterEach(async () => {
    await stop();
    await rm(directory, { recursive: true, force: true });
  });
  after(() => rm(pristine, { recursive: true, force: true }));

  /** Where the log ends too early, its last event is named. */
  const namedAt = (changed: readonly StoredEvent[], wrong: StoredEvent | undefined): bigint | undefined =>
    wrong !== undefined && changed.some(({ position }) => position >= wrong.position)
      ? wrong.position
      : changed.at(-1)?.position;

  for (const [number, what, to, seenAt] of anew)
    it(`is seen although the read models are made anew from it, nothing is signed, and exports are refused: ${number}, ${what}`, async () => {
      const lost = number === 5 ? 'delete from log_tiles; delete from log_tree' : '';
      const changed = to(events);
      replace(directory, changed, lost);
      for (const tail of ['', '-wal', '-shm']) await rm(join(directory, `read.db${tail}`), { force: true });
      await refusesExports(await start(directory), namedAt(changed, seenAt(events)[0]));
      await stop();
      expect(await kept(directory)).to.deep.equal(signed);
    });

  for (const [number, what, to, seenAt] of servedManipulations)
    it(`is seen by the next scrub of the running service, nothing is signed after that, and exports are refused: ${number}, ${what}`, async () => {
      const running = await start(directory, { LOG_SCRUB_EVERY: '100ms' });
      expect(await whole(running)).to.equal(events.length);
      const changed = to(events);
      replace(directory, changed);
      await refusesExports(running, namedAt(changed, seenAt(events)[0]));
      // What seemed to be new was signed, perhaps, until the scrub had come to the change.
      const seen = await kept(directory);
      await stop();
      expect(await kept(directory)).to.deep.equal(seen);
    });
});
