import {
  closeSync,
  existsSync,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
  type Stats,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { makeDirectory, syncDirectory } from '../../adapters/sqlite/database.js';
import { isForbidden } from '../../adapters/sqlite/errors.js';
import type { Entropy } from '../../application/ports/system.js';
import { codeOf, messageOf, NamedError } from '../../domain/errors.js';
import { eventMacs, type EventMacs } from '../../domain/event-mac.js';
import type { MasterKey, MasterKeys } from '../../domain/webhook-signing.js';
import type { Settings } from './settings.js';

/** A file of secrets is missing, can't be read, or has the wrong content. */
export class UnusableSecretFile extends NamedError {}

const everybodyElse = 0o077;
/** Reading by the group is let pass: it is how a secret that another user owns can be given to a process. */
const everybodyButTheGroup = 0o037;

/** Whether other users may read or write a file. Systems without such permissions have no user ids. */
export const isOpenToOthers = (
  { mode, uid }: Pick<Stats, 'mode' | 'uid'>,
  processUser = process.getuid?.(),
): boolean => {
  if (processUser === undefined) return false;
  return (mode & (uid === processUser ? everybodyElse : everybodyButTheGroup)) !== 0;
};

/** The content of a secret file; null if there is none. Throws UnusableSecretFile. */
export const readIfExists = (path: string): string | null => {
  let file: number | null = null;
  try {
    file = openSync(path, 'r');
    const stats = fstatSync(file);
    if (stats.isFile() && isOpenToOthers(stats))
      throw new UnusableSecretFile(
        `${path} holds a secret, but others may read or write it (mode ${(stats.mode & 0o777).toString(8)}). If nobody else has had it, run: chmod 600 ${path}`,
      );
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof UnusableSecretFile) throw error;
    if (file === null && codeOf(error) === 'ENOENT') {
      if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null;
      throw new UnusableSecretFile(`${path} is a link to a file that is not there. Is it mounted?`);
    }
    const advice = isForbidden(error)
      ? " It must belong to the service's user, or be readable by its group (mode 0440)."
      : '';
    throw new UnusableSecretFile(`${path} can't be read: ${messageOf(error)}.${advice}`);
  } finally {
    if (file !== null) closeSync(file);
  }
};

/** Errors of file systems without hard links. */
const withoutLinks: ReadonlySet<unknown> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/** Gives a file its name, which no file may have. */
const publish = (unnamed: string, path: string): void => {
  try {
    linkSync(unnamed, path);
    unlinkSync(unnamed);
  } catch (error) {
    if (!withoutLinks.has(codeOf(error)) || existsSync(path)) throw error;
    renameSync(unnamed, path);
  }
};

/**
 * Writes a new file that only its owner may read. It has its name only once it is whole, and keeps it if the
 * power fails: half a secret would stop every later start, and without it nothing that was sealed with it
 * could be read.
 */
export const writeSecret = (path: string, content: string): void => {
  makeDirectory(dirname(path));
  const unnamed = `${path}.${process.pid}.unfinished`;
  rmSync(unnamed, { force: true });
  writeFileSync(unnamed, content, { flag: 'wx', mode: 0o600, flush: true });
  try {
    publish(unnamed, path);
  } catch (error) {
    rmSync(unnamed, { force: true });
    throw error;
  }
  syncDirectory(dirname(path));
};

/** The secret files by the names that they have in a backup. */
export const secretFiles = (settings: Settings) => ({
  'secret.key': settings.secretKeyFile,
  'personal.key': settings.personalKeyFile,
  'event.key': settings.eventKeyFile,
  'operator.token': settings.operatorTokenFile,
  'log.key': settings.logKeyFile,
});

/**
 * Throws UnusableSecretFile if the folder of a file, or the notary's of anchors, is missing: what should be
 * mounted there may not be; and if a file is where DATA_DIR should be.
 */
export const assertFolders = (settings: Settings, isNotary: boolean): void => {
  let there = resolve(settings.dataDir);
  while (!existsSync(there)) there = dirname(there);
  if (settings.servers === null && !statSync(there).isDirectory())
    throw new UnusableSecretFile(`DATA_DIR ${settings.dataDir} can't be used: ${there} is no folder.`);
  for (const path of [...Object.values(secretFiles(settings)), settings.logHeadFile])
    if (resolve(dirname(path)) !== resolve(settings.dataDir) && !existsSync(dirname(path)))
      throw new UnusableSecretFile(`The folder of the secret file ${path} does not exist. Is it mounted?`);
  const { logAnchorDir } = settings;
  if (isNotary && logAnchorDir !== null && !existsSync(logAnchorDir))
    throw new UnusableSecretFile(`The folder LOG_ANCHOR_DIR ${logAnchorDir} does not exist. Is it mounted?`);
};

/** As many characters as a token of 128 random bits has in base 16. */
const shortestToken = 32;

/**
 * The operator's bearer token from its file, which is made if there is none. Throws UnusableSecretFile.
 * (docs/operations.md#settings)
 */
export const operatorToken = (path: string, entropy: Entropy): string => {
  const known = readIfExists(path)?.trim();
  if (known === '') throw new UnusableSecretFile(`OPERATOR_TOKEN_FILE ${path} is empty.`);
  if (known !== undefined && known.length < shortestToken)
    throw new UnusableSecretFile(
      `OPERATOR_TOKEN_FILE ${path} holds a token of ${known.length} characters. It must have ${shortestToken} or more, drawn at random: delete the file, and the next start makes one.`,
    );
  if (known !== undefined && !/^[\x21-\x7e]+$/.test(known))
    throw new UnusableSecretFile(
      `OPERATOR_TOKEN_FILE ${path} holds what no request can send: the token must be one line of visible ASCII characters, without spaces.`,
    );
  if (known !== undefined) return known;
  const token = entropy.bytes(32).toString('base64url');
  writeSecret(path, `${token}\n`);
  return token;
};

const masterKeyBytes = 32;

type KeyFile = 'SECRET_KEY_FILE' | 'PERSONAL_KEY_FILE' | 'EVENT_KEY_FILE';

const whatForgersCould: Readonly<Record<KeyFile, string>> = {
  SECRET_KEY_FILE: 'Anybody could sign webhooks with it',
  PERSONAL_KEY_FILE: 'Anybody could read personal data with it',
  EVENT_KEY_FILE: 'Anybody could write events with it',
};

const parseMasterKey = (file: KeyFile, path: string, line: string): MasterKey => {
  const [id = '', encoded = '', ...marks] = line.split(':').map((part) => part.trim());
  const isRetired = file === 'EVENT_KEY_FILE' && marks.join() === 'retired';
  const key = Buffer.from(encoded, 'base64');
  if (!/^[\w.-]{1,40}$/.test(id) || key.length !== masterKeyBytes || (marks.length > 0 && !isRetired)) {
    throw new UnusableSecretFile(
      `${file} ${path}: each line is an id (at most 40 letters, digits and . _ -), a colon and base64 of ${masterKeyBytes} random bytes.`,
    );
  }
  if (key.every((byte) => byte === 0))
    throw new UnusableSecretFile(`${file} ${path}: the key ${id} is all zeros. ${whatForgersCould[file]}.`);
  return { id, key, ...(isRetired && { isRetired }) };
};

/**
 * The master keys from their file, newest first. If there is no file, `make` decides whether to make one.
 * Throws UnusableSecretFile. (docs/operations.md#settings)
 */
export const masterKeys = (
  path: string,
  entropy: Entropy,
  make: boolean,
  file: KeyFile = 'SECRET_KEY_FILE',
): MasterKeys => {
  const known = readIfExists(path);
  if (known === null && !make)
    throw new UnusableSecretFile(
      file === 'EVENT_KEY_FILE'
        ? `EVENT_KEY_FILE ${path} does not exist. Where the log holds events, restore the file from a backup: a new one would not do. Processes on servers share one, which make-secrets makes for a new log.`
        : `${file} ${path} does not exist. Restore it from a backup. Processes on servers share one, which make-secrets makes for a new service.`,
    );
  const content =
    known ?? `${entropy.bytes(4).toString('hex')}:${entropy.bytes(masterKeyBytes).toString('base64')}\n`;
  const [newest, ...older] = content
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => parseMasterKey(file, path, line));
  if (newest === undefined || newest.isRetired)
    throw new UnusableSecretFile(`${file} ${path} holds no key that is in use on its first line.`);
  const ids = [newest, ...older].map(({ id }) => id);
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
  if (repeated !== undefined)
    throw new UnusableSecretFile(
      `${file} ${path} has two lines with the id ${repeated}, so it is unknown which of them is in use.`,
    );
  if (known === null) writeSecret(path, content);
  return [newest, ...older];
};

/** The MACs of the events of a log, for work that is done beside the service. Throws UnusableSecretFile. */
export const macsOfLog = ({ eventKeyFile }: Pick<Settings, 'eventKeyFile'>, entropy: Entropy): EventMacs =>
  eventMacs(masterKeys(eventKeyFile, entropy, false, 'EVENT_KEY_FILE'));
