import { expect } from 'chai';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openLogFile } from '../support/fixtures/offline-log.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import type { Checkpoint } from '../../application/ports/log-tiles.js';
import type { StoredEvent } from '../../application/ports/raw-log.js';
import { explain } from '../../bin/wiring/exit.js';
import { startService, type Service } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { eventMacs } from '../../domain/event-mac.js';
import { logFile } from '../support/fixtures/log-file.js';
import { minted } from '../support/fixtures/minted.js';
import { takesNothingOut } from '../support/fixtures/served-manipulations.js';
import { aCard, clientsOf } from '../support/http/service.js';
import { faultOfLog } from '../support/http/service-in.js';
import { command } from '../support/servers/programs.js';
import { eventually } from '../support/time/eventually.js';

describe('a log in files whose events carry MACs', function () {
  this.timeout(60_000);
  let pristine: string;
  let events: readonly StoredEvent[];
  let signed: readonly Checkpoint[];
  let directory: string;
  let service: Service | null = null;
  const failures: unknown[] = [];

  const start = async (place: string, more: Readonly<Record<string, string>> = {}): Promise<Service> => {
    service = await startService({
      settings: readSettings({ PORT: '0', DEMO: 'off', DATA_DIR: place, ...more }),
      role: 'all',
      clock: new SystemClock(),
      entropy: new SystemEntropy(),
      log: pino({ level: 'silent' }),
      fail: (error) => failures.push(error),
    });
    return service;
  };
  const stop = async (): Promise<void> => {
    await service?.stop();
    service = null;
  };
  const inLog = async <T>(read: (file: ReturnType<typeof openLogFile>) => Promise<T>): Promise<T> => {
    const file = openLogFile(join(directory, 'events.db'));
    try {
      return await read(file);
    } finally {
      file.close();
    }
  };
  const kept = () => inLog(({ tiles }) => tiles.kept());
  const stored = () => inLog(({ log }) => log.readStored(0n, 10_000));
  const whole = async (running: Service): Promise<void> => {
    const { operator } = clientsOf(running);
    await eventually(async () => {
      const { body } = await operator('/operator/v1/anchor');
      return body['tree_size'] === Number(body['position']);
    });
  };
  const replace = (changed: readonly StoredEvent[]): void => {
    const file = logFile(directory);
    file.replace(changed);
    file.close();
  };
  const append = (mac: (hash: string) => string | undefined): StoredEvent => {
    const { stored: more } = minted(events, mac);
    replace([...events, more]);
    return more;
  };
  const refusal = async (more: Readonly<Record<string, string>> = {}) =>
    explain(await start(directory, more).catch((error: unknown) => error));
  const keyFile = () => join(directory, 'event.key');

  before(async () => {
    pristine = directory = await mkdtemp(join(tmpdir(), 'cards-'));
    const running = await start(pristine);
    await running.prepared;
    await (await clientsOf(running).tenant()).api('/api/v1/cards', { body: aCard() });
    await whole(running);
    await stop();
    events = await stored();
    signed = await kept();
  });
  beforeEach(async () => {
    failures.length = 0;
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    await cp(pristine, directory, { recursive: true });
  });
  afterEach(async () => {
    await stop();
    await rm(directory, { recursive: true, force: true });
  });
  after(() => rm(pristine, { recursive: true, force: true }));

  it('has its keys in a file of its own, made at the first start, and each of its events names one', async () => {
    const [, id = ''] = /^([0-9a-f]{8}):[\w+/]{43}=\n$/.exec(await readFile(keyFile(), 'utf8')) ?? [];
    expect(events.length).to.be.greaterThan(5);
    for (const { metadata } of events)
      expect(metadata).to.match(new RegExp(`,"hash":"[0-9a-f]{64}","mac":"${id}:[\\w-]{43}"}$`));
  });

  it('is damaged if 1,000 credits were appended twice without the key: not signed, named, and nothing is exported', async () => {
    const { stored: forged } = minted(events, () => undefined);
    const { stream, revision, position } = forged;
    replace([...events, forged, minted([...events, forged], () => undefined).stored]);
    const running = await start(directory, { LOG_ON_DAMAGE: 'report' });
    const detail = await faultOfLog(running);
    expect(detail).to.include(
      `damaged at position ${position}: ${stream}@${revision} has no MAC: the service did not write it`,
    );
    await takesNothingOut(clientsOf(running), events);
    await stop();
    expect(await kept()).to.deep.equal(signed);
    const rebuilt = await command(['log', 'rebuild'], { DATA_DIR: directory });
    expect([rebuilt.code, rebuilt.error.includes(`${stream}@${revision} has no MAC`)]).to.deep.equal([
      1,
      true,
    ]);
  });

  it('is damaged, and opened by report, if its two newest events were changed: the key is not to blame', async () => {
    const changed = events.map((event, at) =>
      at < events.length - 2 ? event : { ...event, data: `${event.data} ` },
    );
    replace(changed);
    const running = await start(directory, { LOG_ON_DAMAGE: 'report' });
    expect(await faultOfLog(running)).to.include('its hash does not match its content');
  });

  it('ends the service with exit code 1 if the MAC of another event was moved there', async () => {
    const { stream, revision } = append(() => JSON.parse(events.at(-1)?.metadata ?? '{}').mac);
    await start(directory);
    const [error] = await eventually(() => (failures.length > 0 ? failures : null));
    expect(explain(error).code).to.equal(1);
    expect(explain(error).message).to.include(`${stream}@${revision} has a MAC that is not its own`);
  });

  it('is not opened if the file of its keys is missing, and no new one is made: exit code 78', async () => {
    await rm(keyFile());
    const { code, message } = await refusal();
    expect([code, message.includes(`EVENT_KEY_FILE ${keyFile()} does not exist`)], message).to.deep.equal([
      78,
      true,
    ]);
    expect(existsSync(keyFile())).to.equal(false);
    const rebuilt = await command(['log', 'rebuild'], { DATA_DIR: directory });
    expect([rebuilt.code === 0, rebuilt.error.includes('EVENT_KEY_FILE')]).to.deep.equal([false, true]);
  });

  it('is not opened with keys of another log: exit code 78, and the id that is missing is named', async () => {
    const [id] = (await readFile(keyFile(), 'utf8')).split(':');
    await writeFile(keyFile(), `other:${Buffer.alloc(32, 1).toString('base64')}\n`);
    const { code, message } = await refusal();
    expect([code, message.includes(`lacks the key ${id}, which the event `)], message).to.deep.equal([
      78,
      true,
    ]);
    expect(await stored()).to.deep.equal(events);
  });

  it('ends the service with exit code 78 if an event in its middle names a key that the file lacks', async () => {
    const [first] = events;
    if (first === undefined) throw new Error('there are events');
    const lost = eventMacs([{ id: 'lost', key: Buffer.alloc(32, 8) }]);
    const { hash } = JSON.parse(first.metadata) as { readonly hash: string };
    const metadata = first.metadata.replace(/"mac":".*"/, `"mac":"${lost.sign(hash)}"`);
    replace(events.with(0, { ...first, metadata }));
    await start(directory);
    const [error] = await eventually(() => (failures.length > 0 ? failures : null));
    expect(explain(error).code).to.equal(78);
    expect(explain(error).message).to.include(
      `lacks the key lost, which the event ${first.stream}@0 at position 1`,
    );
  });

  it('goes on with a new key on top, and is no longer opened without it', async () => {
    const before = await readFile(keyFile(), 'utf8');
    await writeFile(keyFile(), `newest:${Buffer.alloc(32, 3).toString('base64')}\n${before}`);
    const running = await start(directory);
    const tenant = await clientsOf(running).tenant();
    expect((await tenant.api('/api/v1/cards', { body: aCard() })).status).to.equal(201);
    await whole(running);
    await stop();
    expect(failures).to.deep.equal([]);
    expect((await stored()).at(-1)?.metadata).to.match(/"mac":"newest:[\w-]{43}"}$/);
    await writeFile(keyFile(), before);
    expect(await refusal()).to.have.property('code', 78);
  });
});
