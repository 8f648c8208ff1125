import { rebuildLog } from '../rebuild-log.js';
import { readSettings } from '../settings.js';
import { ServiceRefused } from './client.js';
import type { LongVerb } from './long-verbs.js';
import type { Verb } from './verbs.js';
import { DamagedLog } from '../../application/damaged-log.js';

export const logVerbs: readonly Verb[] = [
  {
    noun: 'log',
    verb: 'status',
    description: 'Show how far the log has come and how far it is signed',
    options: [],
    call: () => ({ method: 'GET', path: '/anchor' }),
  },
  {
    noun: 'log',
    verb: 'consistency',
    description: 'Prove that an older tree of the log is a prefix of a newer one',
    options: [
      { name: 'from', description: 'size of the older tree', required: true },
      { name: 'to', description: 'size of the newer tree, if it is not the newest' },
    ],
    call: (input) => ({
      method: 'GET',
      path: '/log/consistency',
      query: { from: input.text('from'), to: input.text('to') },
    }),
  },
];

const showCheckpoint: LongVerb = {
  noun: 'log',
  verb: 'checkpoint',
  description: 'Print the newest signed head of the log, to keep it on another system',
  options: [],
  run: async ({ client, print, json }) => {
    const text = await client.call({ method: 'GET', path: '/anchor' });
    const { checkpoint } = JSON.parse(text) as { readonly checkpoint: string | null };
    if (checkpoint === null) throw new ServiceRefused('The log has no signed checkpoint yet.', text, 404);
    print(json ? text : checkpoint.trimEnd());
  },
};

const prove: LongVerb = {
  noun: 'log',
  verb: 'proof',
  description: 'Print the proof that an event stands in the log, as c2sp.org/tlog-proof@v1',
  options: [
    { name: 'stream', description: 'stream of the event, such as card-HC-7K3M9QX', required: true },
    { name: 'revision', description: 'number of the event in its stream, from 0', required: true },
  ],
  run: async ({ input, client, print }) => {
    const query = { stream: input.text('stream'), revision: input.text('revision') };
    print((await client.call({ method: 'GET', path: '/log/proof', query })).trimEnd());
  },
};

const rebuild: LongVerb = {
  noun: 'log',
  verb: 'rebuild',
  description:
    'Make the tree over all events again, and compare it with every checkpoint that was signed; when embedded, stop the service first',
  options: [],
  run: async ({ environment, print, complain, json }) => {
    const began = process.hrtime.bigint();
    let shown = 0;
    const onProgress = (events: number): void => {
      if (events - shown < 50_000) return;
      shown = events;
      complain(`${events.toLocaleString('en-US')} events ...\n`);
    };
    try {
      const events = await rebuildLog(readSettings(environment), onProgress);
      const seconds = Number(process.hrtime.bigint() - began) / 1e9;
      print(
        json
          ? JSON.stringify({ events })
          : `The tree over ${events.toLocaleString('en-US')} events was made again in ${seconds.toFixed(1)} s. Every checkpoint that was signed agrees with it.`,
      );
    } catch (error) {
      if (error instanceof DamagedLog) throw new ServiceRefused(error.message, '', 0);
      throw error;
    }
  },
};

export const logLongVerbs: readonly LongVerb[] = [showCheckpoint, prove, rebuild];
