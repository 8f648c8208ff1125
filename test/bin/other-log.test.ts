import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { explain } from '../../bin/wiring/exit.js';
import type { Role } from '../../bin/wiring/roles.js';
import { startService } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { EventStoreDbStandIn } from '../engines/eventstoredb-stand-in.js';
import { distributedWiring } from '../support/runner/wiring.js';
import { aCard, clientsOf } from '../support/http/service.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { eventually } from '../support/time/eventually.js';

const clock = new SystemClock();
const entropy = new SystemEntropy();

describeWithEngines(
  ['MONGODB_URL', 'RABBITMQ_URL'],
  'a service that finds another event store behind its checkpoints',
  () => {
    it('ends at the start and while it runs, with exit code 1 and a message that names both', async () => {
      const directory = await mkdtemp(join(tmpdir(), 'cards-'));
      const { environment, namespace, clear } = await distributedWiring(directory);
      const servers = [await EventStoreDbStandIn.start(clock), await EventStoreDbStandIn.start(clock)];
      const failures: unknown[] = [];
      const start = (server: EventStoreDbStandIn | undefined, role: Role = 'all') =>
        startService({
          settings: readSettings({
            PORT: '0',
            DATA_DIR: directory,
            DEMO: 'off',
            ...environment,
            EVENTSTORE_URL: server?.url,
          }),
          namespace,
          role,
          clock,
          entropy,
          log: pino({ level: 'silent' }),
          fail: (error) => failures.push(error),
        });
      const failure = async () => {
        await eventually(() => failures.length > 0);
        const { code, message } = explain(failures[0]);
        failures.length = 0;
        return { code, message };
      };
      try {
        const service = await start(servers[0]);
        await service.prepared;
        const tenant = await clientsOf(service).tenant({ credits: 10 });
        const kept = servers[0]?.records ?? 0;
        expect((await tenant.api('/api/v1/cards', { body: aCard() })).status).to.equal(201);
        await eventually(async () => (await tenant.api('/api/v1/cards')).rows.length === 1, {});
        expect(failures).to.deep.equal([]);

        // Restored to an earlier point, while the service runs.
        servers[0]?.down();
        servers[0]?.rewind(kept);
        await servers[0]?.up();
        const whileRunning = await failure();
        await service.stop();
        failures.length = 0;
        expect(whileRunning.code).to.equal(1);
        expect(whileRunning.message).to.match(/ has read up to position \d+, event \S+, but the event log /);

        // Another one, from the start on.
        const again = await start(servers[1]);
        const atStart = await failure();
        await again.stop();
        expect(atStart.code).to.equal(1);
        expect(atStart.message).to.match(
          /^The (projection \S+|process \S+|reconciler|shredder|relay|public event stream) has read up to position \d+, event \S+, but the event log (ends at position \d+|has)/,
        );
      } finally {
        for (const server of servers) server.down();
        await clear();
        await rm(directory, { recursive: true, force: true });
      }
    });
  },
);
