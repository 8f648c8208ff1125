import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { headOf, proveGrowth } from '../../application/log/watch-checkpoints.js';
import { messageOf } from '../../domain/errors.js';
import { MalformedKey, parseVkey, type NoteKey } from '../../domain/signed-note.js';
import { readPublic, WrongUsage, ServiceRefused } from './client.js';
import type { LongVerb } from './long-verbs.js';
import { acceptRestoreOf, copyLogTo, rebuildLog } from '../offline/offline-log.js';
import { moveService } from '../offline/move.js';
import { readSettings, type Settings } from '../settings/settings.js';
import { progressOn } from './progress.js';

const count = (events: number): string => events.toLocaleString('en-US');

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
  run: async (running) => {
    const { environment, show } = running;
    const began = process.hrtime.bigint();
    const progress = progressOn(running);
    const events = await rebuildLog(readSettings(environment), (done) =>
      progress(() => `${count(done)} events`),
    );
    const seconds = Number(process.hrtime.bigint() - began) / 1e9;
    show(
      { events },
      `The tree over ${count(events)} events was made again in ${seconds.toFixed(1)} s. Every checkpoint that was signed agrees with it.`,
    );
  },
};

const copy: LongVerb = {
  noun: 'log',
  verb: 'copy',
  description:
    'Move a service from files to servers, or back; or copy every event to an empty EventStoreDB; stop the service first',
  options: [
    {
      name: 'from',
      description: 'DATA_DIR, or the connection string of EventStoreDB; EVENTSTORE_URL by default',
    },
    {
      name: 'to',
      description: 'an empty DATA_DIR, or the connection string of an empty EventStoreDB',
      required: true,
    },
  ],
  run: async (running) => {
    const { input, environment, show } = running;
    const settings = readSettings(environment);
    const { servers } = settings;
    if (servers === null)
      throw new WrongUsage(
        'Set EVENTSTORE_URL, MONGODB_URL and RABBITMQ_URL: a copy in files is made with `backup`.',
      );
    const [from, to] = [input.text('from') ?? servers.eventStoreUrl, input.text('to') ?? ''];
    if (from === to) throw new WrongUsage('--from and --to name the same place.');
    const at = (place: string): Settings =>
      place.includes('://')
        ? { ...settings, servers: { ...servers, eventStoreUrl: place } }
        : { ...settings, servers: null, dataDir: place };
    const [source, target] = [at(from), at(to)];
    const progress = progressOn(running);
    const onProgress = (done: number): void => progress(() => `${count(done)} events`);
    if (source.servers === target.servers) throw new WrongUsage('A copy in files is made with `backup`.');
    const isMove = source.servers === null || target.servers === null;
    const copied = isMove
      ? await moveService(source, target, onProgress)
      : await copyLogTo(target, source, onProgress);
    const [events, root] = [copied.events, copied.root.toString('base64')];
    const next = isMove
      ? 'With them went keys and records: the service is there now. What was copied is a rehearsal.'
      : `Their root is that of the newest checkpoint: ${root}. What to do now: docs/operations.md, "Move to another EventStoreDB".`;
    show({ events, root }, `${count(events)} events were copied. ${next}`);
  },
};

const accept: LongVerb = {
  noun: 'log',
  verb: 'accept-restore',
  description:
    'Accept that an older copy of the log was put back, and record in it which signed head is given up; stop the service (or the role notary) first',
  options: [
    { name: 'by', description: 'the name of the person who decides this', required: true },
    {
      name: 'begin-anew',
      description: 'for a log whose last signed head is lost, or that was never signed',
      kind: 'switch',
    },
  ],
  run: async (running) => {
    const { input, environment, show } = running;
    const progress = progressOn(running);
    const choice = { by: input.text('by') ?? '', beginsAgain: input.text('beginAnew') !== undefined };
    const { head, events } = await acceptRestoreOf(readSettings(environment), choice, (done) =>
      progress(() => `${count(done)} events`),
    );
    const given = head && { size: head.size, root: head.root.toString('base64') };
    const what =
      given === null ? 'a head that is lost' : `the head of ${count(given.size)} events, ${given.root}`;
    show(
      { given_up: given, events },
      `HeadGivenUp records that ${what}, is given up. The log goes on from its ${count(events)} events: start the service. Checkpoints that others hold may contradict it from now on: docs/incidents.md, "The log was restored".`,
    );
  },
};

const keyOf = (vkey: string): NoteKey => {
  try {
    return parseVkey(vkey);
  } catch (error) {
    throw error instanceof MalformedKey ? new WrongUsage(`${vkey}: ${error.message}`) : error;
  }
};

const lastSeen = (path: string): string | null => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new WrongUsage(`${path} can't be read: ${messageOf(error)}`);
  }
};

/** For auditors, from time to time: checks that today's log continues the log of the last check. */
const logWatch: LongVerb = {
  noun: 'log',
  verb: 'watch',
  description: 'Prove that the log has grown from what was seen last, and write down what it is now',
  options: [
    { name: 'state', description: 'file with the checkpoint that was seen last', required: true },
    { name: 'key', description: 'key of the log, from your contract', required: true },
    { name: 'witness', description: 'key of a witness; several', kind: 'list' },
    { name: 'quorum', description: 'how many witnesses must have signed; by default all', kind: 'number' },
  ],
  run: async ({ input, environment, show }) => {
    const path = input.text('state') ?? '';
    const log = keyOf(input.text('key') ?? '');
    const witnesses = (input.list('witness') ?? []).map(keyOf);
    const quorum = input.number('quorum') ?? witnesses.length;
    const before = lastSeen(path);
    const note = (await readPublic(environment, '/log/checkpoint')).toString();
    const head = headOf(note, log, witnesses, quorum);
    const older = before === null ? null : headOf(before, log, [], 0);
    if (older !== null) await proveGrowth(older, head, (name) => readPublic(environment, name));
    writeFileSync(`${path}.new`, note, { mode: 0o600 });
    renameSync(`${path}.new`, path);
    show(
      { size: head.size, before: older?.size ?? null },
      `The log has ${head.size} events${older === null ? '' : `, and begins with the ${older.size} of last time`}.`,
    );
  },
};

export const logLongVerbs: readonly LongVerb[] = [showCheckpoint, prove, rebuild, copy, accept, logWatch];
