import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { codeOf, messageOf } from '../../domain/errors.js';
import type { SigningSecret } from '../../domain/webhook-signing.js';
import { isOpenToOthers, readIfExists, writeSecret } from '../settings/secret-files.js';
import { WrongUsage } from './client.js';
import type { VerbContext } from './verb.js';

const entropy = new SystemEntropy();

/** A name for what belongs to an API key. The key can't be told from it. */
const nameOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 16);

/** The secret with which the listeners of a key sign, in every run. The first one makes it. */
export const listenSecret = (
  key: string,
  { XDG_CONFIG_HOME: config, HOME: home }: VerbContext['environment'],
): SigningSecret => {
  const folder = join(config || join(home || homedir(), '.config'), 'handwritten-cards');
  const path = join(folder, `listen-${nameOf(key)}.secret`);
  try {
    if (!existsSync(path)) writeSecret(path, `whsec_${entropy.bytes(32).toString('base64')}\n`);
  } catch (error) {
    // Another run may have made it at the same moment.
    if (!existsSync(path))
      throw new WrongUsage(`The signing secret can't be kept: ${messageOf(error)}. Set XDG_CONFIG_HOME.`);
  }
  return (readIfExists(path) ?? '').trim() as SigningSecret;
};

export interface Outcome {
  /** Null: the listener forwards nothing. */
  readonly url: string | null;
  readonly http_status: number | null;
  readonly error: string | null;
  readonly duration_ms: number;
}

/** The sockets of this user's listeners, named after their keys. Not where TMPDIR says: it may differ. */
const folderOfSockets = (): string => {
  const path = `/tmp/handwritten-cards-${process.getuid?.()}`;
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const stats = lstatSync(path);
  if (stats.uid !== process.getuid?.() || isOpenToOthers(stats))
    throw new Error(`${path} must be a folder that only you may use: delete it.`);
  return path;
};

/**
 * Takes what `tellListeners` tells the listeners of a key; returns what ends that. `take` gets the body of an
 * event; null means that the event is not wanted.
 */
export const hearTriggers = async (
  key: string,
  take: (body: string) => Promise<Outcome | null>,
  complain: (text: string) => void,
): Promise<() => void> => {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    const answer = async () =>
      socket.end(JSON.stringify(await take(await text(socket.iterator({ destroyOnReturn: false })))));
    answer().catch(() => socket.destroy());
  });
  try {
    server.listen(join(folderOfSockets(), `${nameOf(key)}.${entropy.bytes(4).toString('hex')}`));
    await once(server, 'listening');
  } catch (error) {
    complain(`webhook trigger can't reach this run: ${messageOf(error)}\n`);
  }
  return () => void server.close();
};

const tell = async (path: string, body: string): Promise<readonly Outcome[]> => {
  try {
    const socket = connect(path);
    await once(socket, 'connect');
    socket.end(body);
    const outcome = JSON.parse(await text(socket)) as Outcome | null;
    return outcome === null ? [] : [outcome];
  } catch (error) {
    // A listener that was killed has left its socket.
    if (codeOf(error) === 'ECONNREFUSED') rmSync(path);
    return [];
  }
};

/** Gives an event to every `webhook listen` of the key on this machine. */
export const tellListeners = async (key: string, body: string): Promise<readonly Outcome[]> => {
  const sockets = readdirSync(folderOfSockets()).filter((name) => name.startsWith(`${nameOf(key)}.`));
  return (await Promise.all(sockets.map((name) => tell(join(folderOfSockets(), name), body)))).flat();
};
