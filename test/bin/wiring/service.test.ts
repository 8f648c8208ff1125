import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { openEngine } from '../../../bin/engines/open.js';
import { logKeys } from '../../../bin/settings/log-keys.js';
import { startService } from '../../../bin/wiring/service.js';
import { readSettings } from '../../../bin/settings/settings.js';
import { eventually } from '../../support/time/eventually.js';
import { clientsOf } from '../../support/http/service.js';

describe('a service that is being stopped', () => {
  it('keeps projecting until no write waits to be shown', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'cards-'));
    const happened: string[] = [];
    const waiting: (() => void)[] = [];
    let isShown = true;
    const service = await startService({
      settings: readSettings({ PORT: '0', DATA_DIR: directory, DEMO: 'off' }),
      role: 'all',
      clock: new SystemClock(),
      entropy: new SystemEntropy(),
      log: pino({ level: 'silent' }),
      fail: (error) => {
        throw error;
      },
      open: async (options) => {
        const engine = await openEngine(options);
        return {
          ...engine,
          readYourWrites: {
            ...engine.readYourWrites,
            afterWrite: () => (isShown ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
          },
          project: (signal) =>
            new Promise((resolve) =>
              signal.addEventListener('abort', () => resolve(void happened.push('the projector ends'))),
            ),
        };
      },
    });
    try {
      const { operator } = clientsOf(service);
      const create = () => operator('/operator/v1/organizations', { body: { name: 'Acme' } });
      await create();
      isShown = false;
      const written = create();
      await eventually(() => waiting.length === 1);
      const stopped = service.stop();
      happened.push('what was written is shown');
      for (const show of waiting) show();
      await stopped;
      expect(happened).to.deep.equal(['what was written is shown', 'the projector ends']);
      expect((await written).status).to.equal(201);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});

describe('a service in the world', () => {
  it('warns at its start that a first try has named its log', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'cards-'));
    const entropy = new SystemEntropy();
    logKeys(readSettings({ DATA_DIR: directory }), entropy, true);
    const lines: string[] = [];
    const environment = {
      PORT: '0',
      DATA_DIR: directory,
      DEMO: 'off',
      BASE_URL: 'https://cards.example.com',
    };
    const service = await startService({
      settings: readSettings(environment),
      role: 'all',
      clock: new SystemClock(),
      entropy,
      log: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }),
      fail: (error) => {
        throw error;
      },
    });
    await service.stop();
    await rm(directory, { recursive: true, force: true });
    expect(lines.filter((line) => line.includes('"origin":"127.0.0.1:8080/log"'))).to.have.length(1);
  });
});
