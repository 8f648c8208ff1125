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
  let directory: string;
  beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), 'cards-'))));
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const started = async (environment: Readonly<Record<string, string>>) => {
    const warnings: string[] = [];
    const service = await startService({
      settings: readSettings({ PORT: '0', DATA_DIR: directory, DEMO: 'off', ...environment }),
      role: 'all',
      clock: new SystemClock(),
      entropy: new SystemEntropy(),
      log: pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) }),
      fail: (error) => {
        throw error;
      },
    });
    return { ...service, warnings };
  };

  it('warns at its start that a first try has named its log', async () => {
    logKeys(readSettings({ DATA_DIR: directory }), new SystemEntropy(), true);
    const { stop, warnings } = await started({ BASE_URL: 'https://cards.example.com' });
    await stop();
    expect(warnings.filter((line) => line.includes('"origin":"127.0.0.1:8080/log"'))).to.have.length(1);
  });

  it('has an address that works where it listens on all of them, and tells how to set another', async () => {
    const service = await started({ HOST: '0.0.0.0', OPERATOR_HOST: '127.0.0.1', OPERATOR_PORT: '0' });
    const { port, baseUrl, warnings, stop } = service;
    const page = await fetch(`${baseUrl}/console/sign-in`);
    await stop();
    expect([baseUrl, page.status]).to.deep.equal([`http://127.0.0.1:${port}`, 200]);
    expect(warnings.filter((line) => line.includes('set BASE_URL to the address'))).to.have.length(1);
  });
});
