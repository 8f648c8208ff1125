import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openEventsFile } from '../../adapters/sqlite/log/events-file.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { sealEvents, writeEventKeys } from '../support/fixtures/seal-events.js';
import { noStream } from '../../application/ports/event-store.js';
import { explain } from '../../bin/wiring/exit.js';
import { startService } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { derivedUuid } from '../../domain/ids.js';
import { signerFrom } from '../../domain/signed-note.js';
import { writeLogKey } from '../support/fixtures/log-key.js';
import { card, event } from '../adapters/eventstoredb/support.js';
import { eventually } from '../support/time/eventually.js';

const clock = new SystemClock();

describe('a log with an event of a newer version', () => {
  it('ends the process that projects it with exit code 1, and names the event and what is needed', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'cards-'));
    const failures: unknown[] = [];
    const fail = (error: unknown): void => void failures.push(error);
    try {
      writeEventKeys(directory);
      await writeLogKey(directory, signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 7)));
      const file = await openEventsFile({ directory, clock, onUnknownOutcome: fail, onDamage: fail });
      const { metadata } = event(card('A'), 'any');
      const events = sealEvents(card('A'), null, [
        {
          id: derivedUuid('folded'),
          type: 'CardFolded',
          data: {},
          metadata: { ...metadata, schemaVersion: 9 },
        },
      ]);
      await file.eventStore.append([{ stream: card('A'), expected: noStream, events }]);
      await file.close();
      const service = await startService({
        settings: readSettings({ PORT: '0', DATA_DIR: directory, DEMO: 'off' }),
        role: 'all',
        clock,
        entropy: new SystemEntropy(),
        log: pino({ level: 'silent' }),
        fail,
      });
      try {
        await eventually(() => failures.length > 0);
      } finally {
        await service.stop();
      }
      expect(explain(failures[0])).to.deep.equal({
        code: 1,
        message:
          'card-A@0 holds an event CardFolded of schema version 9, which this version of the service does not know: ' +
          'in such streams it knows schema version 1. Start the version of the service that wrote the event, or a later one.',
      });
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
