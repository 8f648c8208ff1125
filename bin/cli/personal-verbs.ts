import { organizationsIn } from '../../application/personal/own-keys.js';
import { giveUpKeysOf, rotateKeysOf } from '../offline/personal-data.js';
import { readSettings } from '../settings/settings.js';
import { count } from './progress.js';
import { longVerb, required } from './verb.js';

const rotate = longVerb(
  'personal rotate',
  'Encrypt the keys of personal data with the first line of PERSONAL_KEY_FILE, so that the other lines can go',
  [],
  async ({ environment, show, complain }) => {
    const { wrapped, unreadable, newest } = await rotateKeysOf(readSettings(environment), (blocks) => {
      if (blocks % 10_000 === 0) complain(`${count(blocks)} blocks ...\n`);
    });
    show(
      { wrapped, unreadable, newest },
      `${count(wrapped)} blocks were encrypted again: all that can be read are with ${newest} now, and the other lines of PERSONAL_KEY_FILE can go.${unreadable === 0 ? '' : ` ${count(unreadable)} are damaged: their keys are lost.`}`,
    );
  },
);

const giveUp = longVerb(
  'personal give-up',
  'Give up keys of personal data that are lost, so that the service starts without them; stop it first',
  [required('by', 'your name: the log keeps it')],
  async ({ input, environment, show }) => {
    const { events, byOrganization, newest } = await giveUpKeysOf(
      readSettings(environment),
      input.text('by') ?? '',
    );
    const organizations: Readonly<Record<string, number>> = Object.fromEntries(
      [...byOrganization].map(([org, lost]) => [org ?? 'the house', lost]),
    );
    const text =
      events === 0
        ? 'No event needs a key that is missing: nothing was given up.'
        : `${count(events)} events can't be read any more, up to ${newest}: ${organizationsIn({ byOrganization })}. KeysLost records it in the log.`;
    show({ events, newest, organizations }, text);
  },
  {
    question:
      'Names, addresses and messages that were sealed with the missing keys can never be read again unless these are restored. Give them up?',
  },
);

export const personalVerbs = [rotate, giveUp];
