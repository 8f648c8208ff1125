import type { Entropy } from '../application/ports/system.js';
import { messageOf } from '../domain/errors.js';
import {
  parseSigner,
  parseVkey,
  signerFrom,
  signerText,
  vkeyOf,
  type NoteSigner,
} from '../domain/signed-note.js';
import { readIfExists, UnusableSecretFile, writeSecret } from './secret-files.js';
import type { Settings } from './settings.js';

/** The keys of the log. */
export interface LogKeys {
  /** The log's name forever, by which its keys and checkpoints are known. */
  readonly origin: string;
  /** All of them sign, the newest first. */
  readonly signers: readonly NoteSigner[];
  /** What checkpoints are checked with: those of the signers, then those that no longer sign. */
  readonly vkeys: readonly string[];
}

const seedBytes = 32;
const privateHead = 'PRIVATE+KEY+';

const parsed = <Key>(path: string, number: number, parse: () => Key): Key => {
  try {
    return parse();
  } catch (error) {
    throw new UnusableSecretFile(`LOG_KEY_FILE ${path}, line ${number}: ${messageOf(error)}`);
  }
};

/** The origin of a log that is new: LOG_ORIGIN, or the host that clients know with `/log`. */
const newOrigin = ({ logOrigin, baseUrl, host, port }: Settings): string => {
  if (logOrigin !== null) return logOrigin;
  if (baseUrl !== null) return `${new URL(baseUrl).host}/log`;
  return `${host.includes(':') ? `[${host}]` : host}${port === 0 ? '' : `:${port}`}/log`;
};

/**
 * The keys of the log from LOG_KEY_FILE: a signing key per line, the newest first, and below them the vkeys
 * of those that no longer sign. If there is no file, `make` says whether to make one; null if not. Throws
 * UnusableSecretFile.
 */
export const logKeys = (settings: Settings, entropy: Entropy, make: boolean): LogKeys | null => {
  const { logKeyFile: path, logOrigin } = settings;
  const known = readIfExists(path);
  if (known === null && !make) return null;
  const text = known ?? `${signerText(signerFrom(newOrigin(settings), 'note', entropy.bytes(seedBytes)))}\n`;
  const lines = text.split('\n').map((line) => line.trim());
  const numbered = lines.map((line, at) => ({ line, number: at + 1 })).filter(({ line }) => line !== '');
  const signers = numbered
    .filter(({ line }) => line.startsWith(privateHead))
    .map(({ line, number }) => parsed(path, number, () => parseSigner(line)));
  const retired = numbered
    .filter(({ line }) => !line.startsWith(privateHead))
    .map(({ line, number }) => vkeyOf(parsed(path, number, () => parseVkey(line))));
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
  if (known === null) writeSecret(path, text);
  return { origin: newest.name, signers, vkeys: [...signers.map(vkeyOf), ...retired] };
};
