import { expect } from 'chai';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SeededEntropy } from '../support/memory/entropy.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { sampleOf } from '../support/runner/effort.js';
import { distributedWiring } from '../support/runner/wiring.js';
import { freePort } from '../support/servers/ports.js';
import { eventually } from '../support/time/eventually.js';
import type { LoggedEvent } from '../../domain/events.js';
import { OrganizationId } from '../../domain/ids.js';
import { violations } from '../support/simulation/invariants.js';
import { Clients } from './client.js';
import { operate, spawnService } from './service-process.js';

const mixes = [['MONGODB_URL'], ['RABBITMQ_URL'], ['EVENTSTORE_URL', 'MONGODB_URL']] as const;
const rounds = 1;

type Told = Omit<LoggedEvent, 'position' | 'revision'> & Record<'position' | 'revision', string>;

/** The log as the operator reads it, whatever keeps it. */
const logOf = async (url: string, operatorToken: string): Promise<readonly LoggedEvent[]> => {
  const response = await fetch(`${url}/operator/v1/events?until=head`, {
    headers: { authorization: `Bearer ${operatorToken}`, accept: 'application/jsonl' },
  });
  const lines = (await response.text()).trim().split('\n');
  return lines.map((line) => {
    const { position, revision, ...event }: Told = JSON.parse(line);
    return { ...event, position: BigInt(position), revision: Number(revision) };
  });
};

describeWithEngines(
  ['MONGODB_URL', 'RABBITMQ_URL'],
  'one process with some of the servers that is killed',
  () => {
    for (const servers of sampleOf(mixes, 1))
      it(`makes one card per key, lists each, and accounts for every credit, with ${servers.join(' and ')}`, async () => {
        const directory = await mkdtemp(join(tmpdir(), 'cards-'));
        const wiring = await distributedWiring(directory);
        const environment = {
          CLAIM_TIMEOUT: '1s',
          RECONCILE_AFTER: '1s',
          SECRET_KEY_FILE: wiring.environment['SECRET_KEY_FILE'] ?? '',
          ...Object.fromEntries(servers.map((name) => [name, wiring.environment[name] ?? ''])),
        };
        const port = await freePort();
        const started = async () => {
          const service = spawnService(directory, port, [], { environment });
          await service.ready;
          return service;
        };
        let service = await started();
        try {
          const id = OrganizationId.parse(
            (await operate(service, directory, '/organizations', { name: 'Acme' }))['id'],
          );
          await operate(service, directory, `/organizations/${id}/credits`, { amount: 400 });
          await operate(service, directory, `/organizations/${id}/designs`, { name: 'Thanks' });
          const { key } = await operate(service, directory, `/organizations/${id}/keys`, {
            scopes: ['cards:send', 'cards:read'],
          });
          const operatorToken = (await readFile(join(directory, 'operator.token'), 'utf8')).trim();
          const clients = new Clients(
            service.url,
            { id, key: String(key), operatorToken },
            new SeededEntropy(1),
          );
          for (let round = 0; round < rounds; round += 1) {
            const goal = clients.history.length + 20;
            const work = clients.work(8);
            await eventually(() => clients.history.length >= goal, { within: 60_000 });
            await service.end('SIGKILL');
            await work;
            service = await started();
          }
          await eventually(
            async () => {
              await clients.findOut();
              return clients.stuck.length === 0;
            },
            { within: 60_000, what: 'a card or a refusal for every key' },
          );
          const cards = new Map<string, Set<string | null>>();
          for (const { does, answer } of clients.history)
            if (does.kind === 'send' && does.key !== null && answer?.status === 201)
              cards.set(does.key, (cards.get(does.key) ?? new Set()).add(answer.card));
          expect([...cards.values()].filter((made) => made.size !== 1)).to.deep.equal([]);
          const acknowledged = clients.history.flatMap(({ does, answer }) =>
            does.kind === 'send' && answer?.status === 201 ? [answer.card] : [],
          );
          // The reconciler returns the credits of what was cut off.
          await eventually(
            async () => {
              const log = await logOf(service.url, operatorToken);
              // Hashes cover what is sealed, and the operator reads it opened.
              const wrong = violations(log, clients.history, { settled: true }).filter(
                (line) => !line.endsWith('does not verify'),
              );
              if (wrong.length > 0) throw new Error(wrong.join('\n'));
              return true;
            },
            { within: 60_000, what: 'a log without violations' },
          );
          const listed = new Set((await clients.list()).map(([code]) => code));
          expect(acknowledged.filter((code) => code !== null && !listed.has(code))).to.deep.equal([]);
        } finally {
          await service.end('SIGKILL');
          await wiring.clear();
          await rm(directory, { recursive: true, force: true });
        }
      }).timeout(180_000);
  },
);
