import { expect } from 'chai';
import { pino } from 'pino';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { noStream } from '../../application/ports/event-store.js';
import { openEngine } from '../../bin/engines/open.js';
import { readSettings, WrongSettings } from '../../bin/settings/settings.js';
import { EventStoreDbStandIn } from '../engines/eventstoredb-stand-in.js';
import { card, event, names } from '../adapters/eventstoredb/support.js';
import { freshUrl } from '../adapters/mongodb/support.js';
import { describeWithEngines } from '../support/runner/engines.js';

const clock = new SystemClock();

describeWithEngines(['MONGODB_URL'], 'an event store that several deployments share', (mongo) => {
  it('keeps the streams of each under its EVENTSTORE_PREFIX', async () => {
    const server = await EventStoreDbStandIn.start(clock);
    const open = (prefix: string) =>
      openEngine({
        settings: readSettings({
          EVENTSTORE_URL: server.url,
          EVENTSTORE_PREFIX: prefix,
          MONGODB_URL: freshUrl(mongo),
          // Nobody is there, and nothing here needs it.
          RABBITMQ_URL: 'amqp://127.0.0.1:1',
          DEMO: 'off',
        }),
        clock,
        entropy: new SystemEntropy(),
        eventKeys: null,
        personalMasters: () => [{ id: 'a', key: Buffer.alloc(32, 1) }],
        log: pino({ level: 'silent' }),
        fail: (error) => {
          throw error;
        },
      });
    const engines = [await open('north.'), await open('south.')];
    try {
      for (const [number, { store }] of engines.entries())
        await store.append([
          { stream: card('A'), expected: noStream, events: [event(card('A'), `of ${number}`)] },
        ]);
      const logs = await Promise.all(engines.map(({ store }) => store.readLog(0n, 10)));
      expect(logs.map(names)).to.deep.equal([['of 0'], ['of 1']]);
      expect(server.streamNames().filter((name) => !name.startsWith('$'))).to.deep.equal([
        'north.cards-log-format',
        'north.card-A',
        'south.cards-log-format',
        'south.card-A',
      ]);
    } finally {
      await Promise.all(engines.map((engine) => engine.close()));
      server.down();
    }
  });
});

describe('EVENTSTORE_PREFIX', () => {
  for (const prefix of ['card-', 'do-not-mail-x', '$x', 'a b'])
    it(`may not be "${prefix}"`, () => {
      expect(() => readSettings({ EVENTSTORE_PREFIX: prefix })).to.throw(
        WrongSettings,
        'EVENTSTORE_PREFIX must be',
      );
    });
});
