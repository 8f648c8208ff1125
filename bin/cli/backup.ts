import { copyKeys, keysPath } from '../../adapters/sqlite/keys/personal-keys.js';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { checkCopy, copyEvents, syncFile, type CopiedLog } from '../../adapters/sqlite/backup.js';
import { makeDirectory } from '../../adapters/sqlite/database.js';
import { messageOf } from '../../domain/errors.js';
import { markRestored } from '../restored.js';
import { readSettings, type Settings } from '../settings.js';
import { ServiceRefused, WrongUsage } from './client.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** What a backup is, and what a restored directory was made from. */
export interface BackedUp extends CopiedLog {
  readonly path: string;
  readonly files: readonly string[];
}

const manifestName = 'backup.json';
const Manifest = z.object({
  format: z.literal(1),
  position: z.string(),
  hash: z.string().nullable(),
  /** SHA-256 of each file by its name. */
  files: z.record(z.string(), z.string()),
});
type Manifest = z.infer<typeof Manifest>;

/** A file may be larger than memory. */
const readAtOnce = 1_048_576;

const digestOf = (path: string): string => {
  const hash = createHash('sha256');
  const buffer = Buffer.alloc(readAtOnce);
  const file = openSync(path, 'r');
  try {
    for (let read = readSync(file, buffer); read > 0; read = readSync(file, buffer))
      hash.update(buffer.subarray(0, read));
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
};

const refused = (message: string): ServiceRefused => new ServiceRefused(message, '', 0);

/** The settings of the embedded engine. Throws WrongUsage. */
const embedded = (environment: Environment): Settings => {
  const settings = readSettings(environment);
  if (settings.eventStoreUrl !== null)
    throw new WrongUsage(
      'EVENTSTORE_URL is set: backups of the servers are made with their own tools (docs/operations.md, "Back up").',
    );
  return settings;
};

/** The file of the log in a data directory, and in a backup. */
const logName = 'events.db';
const keysName = 'keys.db';
const headName = 'log.head';

const isFile = (path: string): boolean => path.endsWith('.db');

const copyFile = (from: string, to: string): void => {
  copyFileSync(from, to);
  chmodSync(to, 0o600);
  syncFile(to);
};

/**
 * Copies what the embedded engine can't make again, also while the service runs. `to`: a new or empty folder,
 * which gets the secret files, too; or a name that ends in `.db`, for the events without them. The copy has
 * been read back when this returns. Throws WrongUsage, ServiceRefused.
 */
export const backUp = (to: string, environment: Environment): BackedUp => {
  const {
    dataDir,
    secretKeyFile,
    personalKeyFile,
    eventKeyFile,
    operatorTokenFile,
    logKeyFile,
    logHeadFile,
  } = embedded(environment);
  const source = join(dataDir, logName);
  if (!existsSync(source)) throw refused(`There is no ${source} to back up. Set DATA_DIR.`);
  if (existsSync(to) && (isFile(to) || readdirSync(to).length > 0))
    throw refused(`${to} is there already. Name a new one: a backup never replaces another.`);
  if (isFile(to)) return { path: to, files: [basename(to)], ...copied(() => copyEvents(source, to)) };
  makeDirectory(to);
  const names = [logName];
  // Before the events: what was signed is in the log.
  const head = existsSync(logHeadFile) ? readFileSync(logHeadFile) : null;
  const log = copied(() => copyEvents(source, join(to, logName)));
  // After the events: a key is in its file before anything is derived from it.
  const secrets = {
    'secret.key': secretKeyFile,
    'personal.key': personalKeyFile,
    'event.key': eventKeyFile,
    'operator.token': operatorTokenFile,
    'log.key': logKeyFile,
  };
  if (head !== null) {
    writeFileSync(join(to, headName), head, { mode: 0o600 });
    syncFile(join(to, headName));
    names.push(headName);
  }
  // After the events: a key is stored before anything is sealed with it.
  if (existsSync(keysPath(dataDir))) {
    copyKeys(keysPath(dataDir), join(to, keysName));
    names.push(keysName);
  }
  for (const [name, path] of Object.entries(secrets))
    if (existsSync(path)) {
      copyFile(path, join(to, name));
      names.push(name);
    }
  const files = Object.fromEntries(names.map((name) => [name, digestOf(join(to, name))]));
  // Last: a folder without it is no finished backup.
  writeFileSync(join(to, manifestName), `${JSON.stringify({ format: 1, ...log, files })}\n`, { mode: 0o600 });
  syncFile(join(to, manifestName));
  return { path: to, files: names, ...log };
};

/** Says what went wrong with a copy in words for the person who asked for it. */
const copied = (copy: () => CopiedLog): CopiedLog => {
  try {
    return copy();
  } catch (error) {
    throw refused(`The copy is not usable, and was removed: ${messageOf(error)}`);
  }
};

const manifestIn = (folder: string): Manifest => {
  try {
    return Manifest.parse(JSON.parse(readFileSync(join(folder, manifestName), 'utf8')));
  } catch {
    throw refused(`${folder} is no finished backup: its ${manifestName} is missing or not readable.`);
  }
};

/** What stands in a backup, each file as its list says. Throws ServiceRefused. */
const openBackup = (from: string): { readonly log: string; readonly secrets: readonly string[] } => {
  if (!existsSync(from)) throw refused(`There is no backup at ${from}.`);
  if (isFile(from)) return { log: from, secrets: [] };
  const { files } = manifestIn(from);
  for (const [name, digest] of Object.entries(files)) {
    const path = join(from, basename(name));
    if (!existsSync(path) || digestOf(path) !== digest)
      throw refused(`${path} is missing, or not what was backed up.`);
  }
  return { log: join(from, logName), secrets: Object.keys(files).filter((name) => name !== logName) };
};

/**
 * Makes a data directory from a backup, which is read back first. Replaces nothing: DATA_DIR may hold secret
 * files, but no data. Until WEBHOOK_DELIVERY is set, the service delivers no webhook from there. Throws
 * WrongUsage, ServiceRefused.
 */
export const restore = (from: string, environment: Environment): BackedUp => {
  const {
    dataDir,
    secretKeyFile,
    personalKeyFile,
    eventKeyFile,
    operatorTokenFile,
    logKeyFile,
    logHeadFile,
  } = embedded(environment);
  const { log, secrets } = openBackup(from);
  const target = join(dataDir, logName);
  if ([target, join(dataDir, 'read.db')].some((path) => existsSync(path)))
    throw refused(`${dataDir} holds data already. Move it aside, or set DATA_DIR to a new folder.`);
  const places: Readonly<Record<string, string>> = {
    'secret.key': secretKeyFile,
    'personal.key': personalKeyFile,
    'event.key': eventKeyFile,
    'operator.token': operatorTokenFile,
    [keysName]: keysPath(dataDir),
    'log.key': logKeyFile,
    [headName]: logHeadFile,
  };
  for (const name of secrets) {
    const place = places[name];
    // A head that is there was signed later: the start compares it with the log.
    if (name === headName) continue;
    if (place !== undefined && existsSync(place) && digestOf(place) !== digestOf(join(from, name)))
      throw refused(`${place} is another file than the one in the backup. Move one of them aside.`);
  }
  makeDirectory(dataDir);
  copyFile(log, target);
  let whole: CopiedLog;
  try {
    whole = checkCopy(target);
  } catch (error) {
    rmSync(target, { force: true });
    throw refused(`${log} can't be restored: ${messageOf(error)}`);
  }
  for (const name of secrets) {
    const place = places[name];
    if (place !== undefined && !existsSync(place)) copyFile(join(from, name), place);
  }
  markRestored(dataDir, { from, ...whole });
  return { path: dataDir, files: [logName, ...secrets], ...whole };
};
