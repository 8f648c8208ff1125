import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { headOf, proveGrowth } from '../../application/log/watch-checkpoints.js';
import { messageOf } from '../../domain/errors.js';
import { MalformedKey, parseVkey, type NoteKey } from '../../domain/signed-note.js';
import { readPublic, WrongUsage } from './client.js';
import type { LongVerb } from './long-verbs.js';

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

/** What an auditor runs from time to time: is the log of today a continuation of the log of the last time? */
export const logWatch: LongVerb = {
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
