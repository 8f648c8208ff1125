import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { numberFrom, reading } from '../../adapters/sqlite/database.js';
import type { Notarizing } from '../../application/log/notarize.js';
import type { Entropy } from '../../application/ports/system.js';
import { messageOf } from '../../domain/errors.js';
import { emptyFrontier, rootOf } from '../../domain/merkle.js';
import {
  checkpointText,
  parseSigner,
  parseVkey,
  signerFrom,
  signerText,
  signNote,
  vkeyOf,
  type NoteSigner,
} from '../../domain/signed-note.js';
import { readIfExists, UnusableSecretFile, writeSecret } from './secret-files.js';
import { reachable, type Settings } from './settings.js';

export interface LogKeys {
  /** The log's name forever, by which its keys and checkpoints are known. */
  readonly origin: string;
  /** All of them sign, the newest first. */
  readonly signers: readonly NoteSigner[];
  /** The keys that verify checkpoints: first the signers', then keys that no longer sign. */
  readonly vkeys: readonly string[];
}

const seedBytes = 32;
const privateHead = 'PRIVATE+KEY+';

/** The key on a line: one that signs, or the vkey of one that no longer does; none on an empty line. */
const keysOn = (line: string): readonly (NoteSigner | string)[] => {
  if (line === '') return [];
  return [line.startsWith(privateHead) ? parseSigner(line) : vkeyOf(parseVkey(line))];
};

/** The origin of a log that is new: LOG_ORIGIN, or the host that clients know with `/log`. */
const newOrigin = ({ logOrigin, baseUrl, host, port }: Settings): string => {
  if (logOrigin !== null) return logOrigin;
  if (baseUrl !== null) return `${new URL(baseUrl).host}/log`;
  const name = reachable(host);
  return `${name.includes(':') ? `[${name}]` : name}${port === 0 ? '' : `:${port}`}/log`;
};

const loopback = /^(127\.|localhost\b|\[::1\])/;

/** Whether the service has an address in the world, and its log the name of a machine of its own. */
export const isNamedByNewcomer = ({ baseUrl, logOrigin }: Settings, origin: string): boolean =>
  logOrigin === null && baseUrl !== null && loopback.test(origin) && !loopback.test(new URL(baseUrl).host);

/** Signs heads of the log's tree; null without a key. */
export const signingWith = (keys: Pick<LogKeys, 'origin' | 'signers'> | null): Notarizing['sign'] =>
  keys && ((head) => signNote(checkpointText({ origin: keys.origin, ...head }), keys.signers));

export const holdsEvents = (dataDir: string): boolean => {
  const path = join(dataDir, 'events.db');
  if (!existsSync(path)) return false;
  return reading(path, (database) => {
    const hasTable = database.prepare("select 1 from sqlite_master where name = 'events'");
    return (
      numberFrom(hasTable) !== null && numberFrom(database.prepare('select 1 from events limit 1')) !== null
    );
  });
};

/** Evidence that a log was signed with a missing key; null if there is none. */
const signOfLog = ({ dataDir, servers, logHeadFile }: Settings): string | null => {
  if (existsSync(logHeadFile)) return `LOG_HEAD_FILE ${logHeadFile} is there`;
  return servers === null && holdsEvents(dataDir) ? `DATA_DIR ${dataDir} holds a log` : null;
};

/**
 * The keys of the log from LOG_KEY_FILE: a signing key per line, the newest first, and below them the vkeys
 * of keys that no longer sign. If there is no file, `make` decides whether to make one, together with the
 * head of the empty tree; null if not. A key is never made for an existing log. Throws UnusableSecretFile.
 */
export const logKeys = (settings: Settings, entropy: Entropy, make: boolean): LogKeys | null => {
  const { logKeyFile: path, logOrigin } = settings;
  const known = readIfExists(path);
  if (known === null && !make) return null;
  const sign = known === null ? signOfLog(settings) : null;
  if (sign !== null)
    throw new UnusableSecretFile(
      `LOG_KEY_FILE ${path} is missing, but ${sign}. Restore it from its backup: another key would be that of another log. Where it is lost: docs/incidents.md, "log.key is lost".`,
    );
  const text = known ?? `${signerText(signerFrom(newOrigin(settings), 'note', entropy.bytes(seedBytes)))}\n`;
  const all = text.split('\n').flatMap((line, at) => {
    try {
      return keysOn(line.trim());
    } catch (error) {
      throw new UnusableSecretFile(`LOG_KEY_FILE ${path}, line ${at + 1}: ${messageOf(error)}`);
    }
  });
  const signers = all.filter((key) => typeof key !== 'string');
  const retired = all.filter((key) => typeof key === 'string');
  const [newest] = signers;
  if (newest === undefined) throw new UnusableSecretFile(`LOG_KEY_FILE ${path} holds no signing key.`);
  const other = signers.find(({ name, kind }) => name !== newest.name || kind !== 'note');
  if (other !== undefined)
    throw new UnusableSecretFile(
      `LOG_KEY_FILE ${path}: all keys must sign notes for one origin; ${other.name} is not ${newest.name}.`,
    );
  if (logOrigin !== null && logOrigin !== newest.name)
    throw new UnusableSecretFile(
      `LOG_ORIGIN is ${logOrigin}, but the key in LOG_KEY_FILE ${path} is that of ${newest.name}. A log keeps its name forever: take LOG_ORIGIN back.`,
    );
  const keys = { origin: newest.name, signers, vkeys: [...signers.map(vkeyOf), ...retired] };
  if (known === null) {
    writeSecret(path, text);
    const empty = signingWith(keys)?.({ size: 0, root: rootOf(emptyFrontier) }) ?? '';
    writeSecret(settings.logHeadFile, empty);
  }
  return keys;
};
