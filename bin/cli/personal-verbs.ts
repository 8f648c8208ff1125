import { rotateKeysOf } from '../personal-data.js';
import { readSettings } from '../settings.js';
import type { LongVerb } from './long-verbs.js';

const count = (number: number): string => number.toLocaleString('en-US');

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

export const personalVerbs: readonly LongVerb[] = [rotate];
