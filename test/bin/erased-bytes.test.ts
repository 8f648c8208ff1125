import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { startService, type Service } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import {
  echo,
  erasableWords,
  leaveTraces,
  toldCertificates,
  toldSettings,
} from '../support/fixtures/erasable.js';
import { filesBelow } from '../support/fixtures/files-below.js';
import { startReceiver } from '../support/http/receiver.js';
import { aCard, clientOf, clientsOf } from '../support/http/service.js';
import { eventually } from '../support/time/eventually.js';

const logged: string[] = [];

const start = async (directory: string): Promise<Service> => {
  const service = await startService({
    settings: readSettings({ PORT: '0', DATA_DIR: directory, DEMO: 'off', ...toldSettings }),
    extraCertificates: toldCertificates,
    role: 'all',
    clock: new SystemClock(),
    entropy: new SystemEntropy(),
    log: pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) }),
    fail: (error) => {
      throw error;
    },
  });
  await service.prepared;
  return service;
};

/** The files of a directory in which a word stands, by word. */
const found = async (directory: string, markers: readonly string[]): Promise<readonly string[]> => {
  const files = await filesBelow(directory);
  return files.flatMap(([name, bytes]) =>
    markers.filter((marker) => bytes.includes(marker)).map((marker) => `${name}: ${marker}`),
  );
};

describe('after an erasure', () => {
  it('no byte of what was erased is left: in no file, and in no line of the log', async function () {
    this.timeout(120_000);
    const directory = await mkdtemp(join(tmpdir(), 'cards-'));
    const receiver = await startReceiver(echo);
    let service = await start(directory);
    try {
      const clients = clientsOf(service);
      const { operator } = clients;
      const { org, api } = await clients.tenant();
      const seen = { ...clients, baseUrl: service.baseUrl };
      const { cards, contacts, guessable } = await leaveTraces(seen, { org, api }, receiver, async () => {
        const waiting = await found(directory, ['Wombatina']);
        expect(waiting.filter((file) => !file.startsWith('read.db'))).to.deep.equal([]);
      });
      // What was built before holds words, too, and nothing feeds it any more.
      await operator('/operator/v1/projections/cards/rebuild', { method: 'POST' });
      const markers = [...erasableWords, ...guessable];
      const before = await found(directory, markers);
      for (const file of [/events\.db(-wal)?: Xanthippe/, /read\.db(-wal)?: Xanthippe/])
        expect(before.join(), 'the search finds what is there').to.match(file);
      const other = await api('/api/v1/cards', { body: aCard() });
      const wanted = { cards, contacts, reason: 'a request' };
      expect(
        (await operator(`/operator/v1/organizations/${org}/erasures`, { body: wanted })).status,
      ).to.equal(202);
      // While it runs, and is asked.
      const left = async (): Promise<boolean> => {
        await api('/api/v1/cards');
        return (await found(directory, markers)).length === 0;
      };
      await eventually(left, { within: 20_000 }).catch(async () =>
        expect(await found(directory, markers)).to.deep.equal([]),
      );
      const [code] = cards;
      const { text } = await operator(`/operator/v1/cards/${code}/history`);
      expect(markers.filter((marker) => text.includes(marker))).to.deep.equal([]);
      const anchor = (await operator('/operator/v1/anchor')).body;
      await service.stop();
      expect(await found(directory, markers)).to.deep.equal([]);
      expect(markers.filter((marker) => logged.some((line) => line.includes(marker)))).to.deep.equal([]);

      // Built anew, without a look at what was erased, everything is the same; and the log is still whole.
      for (const suffix of ['', '-wal', '-shm'])
        await rm(join(directory, `read.db${suffix}`), { force: true });
      service = await start(directory);
      const again = clientOf(service.baseUrl, service.operatorToken);
      expect((await again('/operator/v1/anchor')).body['hash']).to.equal(anchor['hash']);
      expect((await again(`/operator/v1/cards/${code}`)).body['recipient']).to.include({ name: null });
      expect((await again(`/operator/v1/cards/${other.id}`)).body['recipient']).to.include({
        name: 'Ada Lovelace',
      });
    } finally {
      await service.stop();
      await receiver.close();
      await rm(directory, { recursive: true, force: true });
    }
  });
});
