import { DamagedLog } from '../../application/log/damaged-log.js';
import { rotateKeysOf, sealInFile } from '../personal-data.js';
import { readSettings } from '../settings.js';
import { ServiceRefused, WrongUsage } from './client.js';
import type { LongVerb } from './long-verbs.js';

const count = (number: number): string => number.toLocaleString('en-US');

const seal: LongVerb = {
  noun: 'personal',
  verb: 'seal',
  description:
    'Seal the personal data that an older version of the service left in the clear in events.db; stop the service first',
  options: [],
  run: async ({ environment, print, complain, json }) => {
    const settings = readSettings(environment);
    if (settings.eventStoreUrl !== null)
      throw new WrongUsage(
        'EVENTSTORE_URL is set: events there can not be changed. `log copy` seals personal data that is in the clear there on the way into another EventStoreDB.',
      );
    let shown = 0;
    try {
      const { sealed, erased } = await sealInFile(settings, (events) => {
        if (events - shown < 10_000) return;
        shown = events;
        complain(`${count(events)} events ...\n`);
      });
      print(
        json
          ? JSON.stringify({ sealed, erased })
          : `The personal data of ${count(sealed)} events was sealed, and that of ${count(erased)} that were erased was destroyed. None is in the clear. Copies of events.db that were made before hold it as it was.`,
      );
    } catch (error) {
      if (error instanceof DamagedLog) throw new ServiceRefused(error.message, '', 0);
      throw error;
    }
  },
};

const rotate: LongVerb = {
  noun: 'personal',
  verb: 'rotate',
  description:
    'Encrypt the keys of personal data with the first line of PERSONAL_KEY_FILE, so that the other lines can go',
  options: [],
  run: async ({ environment, print, complain, json }) => {
    const { wrapped, unreadable, newest } = await rotateKeysOf(readSettings(environment), (blocks) => {
      if (blocks % 10_000 === 0) complain(`${count(blocks)} blocks ...\n`);
    });
    print(
      json
        ? JSON.stringify({ wrapped, unreadable, newest })
        : `${count(wrapped)} blocks were encrypted anew: all that can be read are with ${newest} now, and the other lines of PERSONAL_KEY_FILE can go.${unreadable === 0 ? '' : ` ${count(unreadable)} are damaged: their keys are lost.`}`,
    );
  },
};

export const personalVerbs: readonly LongVerb[] = [seal, rotate];
