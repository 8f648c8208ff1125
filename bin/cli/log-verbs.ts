import { existsSync } from 'node:fs';
import { replaceFile } from '../../adapters/log-witness/head-file.js';
import { headOf, proveGrowth } from '../../application/log/watch-checkpoints.js';
import { parseVkey, type NoteKey } from '../../domain/signed-note.js';
import { explained, readPublic, WrongUsage, ServiceRefused } from './client.js';
import { readGiven, witnessOptions } from './export-verbs.js';
import { anyOrg, longVerb, option, required } from './verb.js';
import { readable } from './print.js';
import { acceptRestoreOf, copyLogTo, rebuildLog } from '../offline/offline-log.js';
import { moveService } from '../offline/move.js';
import { readSettings, type Settings } from '../settings/settings.js';
import { count, eventsOn, untilInterrupted } from './progress.js';

const showCheckpoint = longVerb(
  'log checkpoint',
  'Print the newest signed head of the log, to keep it on another system',
  [],
  async ({ client, print, json }) => {
    const text = await client.call({ method: 'GET', path: '/anchor' });
    const { checkpoint } = JSON.parse(text) as { readonly checkpoint: string | null };
    if (checkpoint === null) throw new ServiceRefused('The log has no signed checkpoint yet.', text, 404);
    print(json ? text : checkpoint.trimEnd());
  },
);

const prove = longVerb(
  'log proof',
  'Print the proof that an event stands in the log, as c2sp.org/tlog-proof@v1',
  [
    required('stream', 'stream of the event, such as card-HC-7K3M9QX'),
    required('revision', 'number of the event in its stream, from 0'),
  ],
  async ({ input, client, print }) => {
    const query = { stream: input.text('stream'), revision: input.text('revision') };
    print((await client.call({ method: 'GET', path: '/log/proof', query })).trimEnd());
  },
);

const rebuild = longVerb(
  'log rebuild',
  'Make the tree over all events again, and compare it with every checkpoint that was signed; when embedded, stop the service first',
  [],
  async (running) => {
    const { environment, show, monotonic } = running;
    const began = monotonic();
    const events = await rebuildLog(readSettings(environment), eventsOn(running));
    const seconds = ((monotonic() - began) / 1_000).toFixed(1);
    show(
      { events },
      `The tree over ${count(events)} events was made again in ${seconds} s. Every checkpoint that was signed agrees with it.`,
    );
  },
);

const copy = longVerb(
  'log copy',
  'Move a service from files to servers, or back; or copy every event to an empty EventStoreDB; stop the service first',
  [
    option('from', 'DATA_DIR, or the connection string of EventStoreDB; EVENTSTORE_URL by default'),
    required('to', 'an empty DATA_DIR, or the connection string of an empty EventStoreDB'),
  ],
  async (running) => {
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
    const onProgress = eventsOn(running);
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
);

const accept = longVerb(
  'log accept-restore',
  'Accept that an older copy of the log was put back, and record in it which signed head is given up; stop the service (or the role notary) first',
  [
    required('by', 'the name of the person who decides this'),
    option('begin-anew', 'for a log whose last signed head is lost, or that was never signed', 'switch'),
  ],
  async (running) => {
    const { input, environment, show } = running;
    const choice = { by: input.text('by') ?? '', beginsAgain: input.text('beginAnew') !== undefined };
    const { head, events } = await acceptRestoreOf(readSettings(environment), choice, eventsOn(running));
    const given = head && { size: head.size, root: head.root.toString('base64') };
    const what =
      given === null ? 'a head that is lost' : `the head of ${count(given.size)} events, ${given.root}`;
    show(
      { given_up: given, events },
      `HeadGivenUp records that ${what}, is given up. The log goes on from its ${count(events)} events: start the service. Checkpoints that others hold may contradict it from now on: docs/incidents.md, "The log was restored".`,
    );
  },
  {
    question:
      'What was signed beyond this copy is given up for good, and witnesses of it never sign this log again. Accept the copy?',
  },
);

const keyOf = (vkey: string): NoteKey => explained(WrongUsage, vkey, () => parseVkey(vkey));

/** For auditors, from time to time: checks that today's log continues the log of the last check. */
const logWatch = longVerb(
  'log watch',
  'Prove that the log has grown from what was seen last, and write down what it is now',
  [
    required('state', 'file with the checkpoint that was seen last'),
    required('key', 'key of the log, from your contract'),
    ...witnessOptions,
  ],
  async ({ input, environment, show }) => {
    const path = input.text('state') ?? '';
    const log = keyOf(input.text('key') ?? '');
    const witnesses = (input.list('witness') ?? []).map(keyOf);
    const quorum = input.number('quorum') ?? witnesses.length;
    const before = existsSync(path) ? readGiven(path).toString() : null;
    const note = (await readPublic(environment, '/log/checkpoint')).toString();
    const head = headOf(note, log, witnesses, quorum);
    const older = before === null ? null : headOf(before, log, [], 0);
    if (older !== null) await proveGrowth(older, head, (name) => readPublic(environment, name));
    await replaceFile(path, note);
    show(
      { size: head.size, before: older?.size ?? null },
      `The log has ${head.size} events${older === null ? '' : `, and begins with the ${older.size} of last time`}.`,
    );
  },
);

const watched = [
  option('from', 'only events after this position'),
  option('category', 'only streams of this category, such as card or credits'),
  option('stream', 'only this stream, such as card-HC-7K3M9QX'),
  anyOrg,
  option('types', 'only events of these types, separated by commas'),
  option('until', 'ends after this position, or, with head, after the newest event'),
  option('personal', 'withhold leaves out what events say about a person'),
];

const watchEvents = longVerb(
  'events watch',
  'Show the events of the log, then new ones as they happen, until Ctrl-C or the end that you name',
  watched,
  async ({ input, client, json, print }) => {
    const { org: organization, ...given } = Object.fromEntries(
      watched.map(({ name }) => [name, input.text(name)]),
    );
    const query = { ...given, organization };
    for await (const event of client.stream({ method: 'GET', path: '/events', query }, untilInterrupted()))
      print(json ? event : `${readable(event)}\n`);
  },
);

export const logVerbs = [watchEvents, showCheckpoint, prove, rebuild, copy, accept, logWatch];
