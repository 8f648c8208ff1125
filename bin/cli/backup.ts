import { createHash } from 'node:crypto';
import {
  copyFileSync,
  createReadStream,
  existsSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { targetOf } from '../../adapters/log-witness/head-file.js';
import {
  checkCopy,
  copyEvents,
  copyKeys,
  firstHash,
  writeWhole,
  type CopiedLog,
} from '../../adapters/sqlite/backup.js';
import {
  isDirectory,
  isThere,
  lockDirectory,
  makeDirectory,
  removeDatabase,
} from '../../adapters/sqlite/database.js';
import { keysPath } from '../../adapters/sqlite/keys/personal-keys.js';
import { DataDirectoryInUse } from '../../adapters/sqlite/errors.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { logPages, type LogReader } from '../../application/ports/event-store.js';
import { codeOf, messageOf } from '../../domain/errors.js';
import { idOf } from '../../domain/ids.js';
import { parseCheckpointText, parseSigner, vkeyOf } from '../../domain/signed-note.js';
import type { RehearsalMark } from '../../application/writing/rehearsal.js';
import { assertStopped, closing, openServers, type OpenedServers } from '../offline/offline-log.js';
import { markDirectory, markOfDirectory, markOfSettings } from '../settings/rehearsal-mark.js';
import { secretFiles } from '../settings/secret-files.js';
import { readSettings, type Environment, type Servers, type Settings } from '../settings/settings.js';
import { explained, ServiceRefused } from './client.js';

/** The description of a backup, and the origin of a restored directory. */
export interface BackedUp extends CopiedLog {
  readonly path: string;
  readonly files: readonly string[];
}

/** `notes`: what to know of files that the backup holds, too. */
export interface Restored extends BackedUp {
  readonly notes: readonly string[];
}

const manifestName = 'backup.json';
const Manifest = z.object({
  format: z.literal(1),
  position: z.string(),
  hash: z.string().nullable(),
  /** The data directory that it was made of. */
  original: z.string().optional(),
  /** SHA-256 of each file by its name. */
  files: z.record(z.string(), z.string()),
});
type Manifest = z.infer<typeof Manifest>;

/** A file may be larger than memory. */
const digestOf = async (path: string): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
};

const refused = (message: string): ServiceRefused => new ServiceRefused(message);

/** On servers the log is backed up later, so its copy holds this head. */
const kept = (settings: Settings) => ({ ...secretFiles(settings), [headName]: settings.logHeadFile });

/** The names that the work finds; none if its file or folder is not there. */
const ifThere = (work: () => readonly string[]): readonly string[] => {
  try {
    return work();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
};

/** A file of the service as the settings name it. */
const called = (name: string, path: string): string =>
  isPicture(name)
    ? path
    : `${name === keysName ? 'DATA_DIR' : `${name.toUpperCase().replace('.', '_')}_FILE`} ${path}`;

/** Copies files that are there to a folder, under their names in it. Returns these. Throws ServiceRefused. */
const copyAll = (
  to: string,
  places: Readonly<Record<string, string>>,
  copy: (from: string, to: string) => void = copyFile,
): readonly string[] =>
  Object.entries(places).flatMap(([name, path]) => {
    makeDirectory(dirname(join(to, name)));
    return explained(ServiceRefused, `${called(name, path)} can't be copied`, () =>
      ifThere(() => {
        // SQLite would not say that there is none.
        statSync(path);
        copy(path, join(to, name));
        return [name];
      }),
    );
  });

/** Throws ServiceRefused if a copy lacks a file without which the service can't go on with the log. */
const assertComplete = (
  names: readonly string[],
  { position }: CopiedLog,
  places: Readonly<Record<string, string>>,
): void => {
  const lacking = Object.entries(places).find(([name]) => name !== 'operator.token' && !names.includes(name));
  if (lacking !== undefined && position !== '0')
    throw refused(
      `${called(...lacking)} is not there, and without it a copy of this log can't take its place. Set what the service is started with, or restore it; a name that ends in .db backs up the events alone.`,
    );
};

export const isPicture = (name: string): boolean =>
  /^artwork\/[0-9a-f]{2}\/[0-9a-f]{62}\/[a-z]+\.[a-z]+$/.test(name);

/** Only folders of pictures are read, which may be removed meanwhile. */
const picturesIn = (folder: string): readonly string[] => {
  const below = (path: string, pattern: RegExp): readonly string[] =>
    ifThere(() => readdirSync(join(folder, path)))
      .filter((name) => pattern.test(name))
      .map((name) => `${path}/${name}`);
  const starts = below('artwork', /^[0-9a-f]{2}$/);
  const fronts = starts.flatMap((path) => below(path, /^[0-9a-f]{62}$/));
  return fronts.flatMap((path) => below(path, /^[a-z]+\.[a-z]+$/));
};

/** A picture that is removed meanwhile is one that nothing uses. Returns the names of the others. */
const copyPictures = (from: string, to: string, names: readonly string[]): readonly string[] =>
  copyAll(to, Object.fromEntries(names.map((name) => [name, join(from, name)])));

/** Whether a line of a secret file is still in it: as it was, retired, or as the vkey that took its place. */
const holdsLine = (lines: readonly string[], line: string): boolean =>
  lines.some((each) => each === line || each.startsWith(`${line}:`)) ||
  (line.startsWith('PRIVATE+KEY+') && lines.includes(vkeyOf(parseSigner(line))));

const linesOf = (path: string): readonly string[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

interface Placed {
  readonly name: string;
  readonly copy: string;
  readonly place: string;
}

const placedIn = (from: string, places: Readonly<Record<string, string>>): readonly Placed[] =>
  Object.entries(places)
    .map(([name, place]) => ({ name, place, copy: join(from, name) }))
    .filter(({ copy }) => existsSync(copy));

/**
 * The files that have another one in their place. A head that is there may be a later one, and is kept: the
 * start compares it with the log.
 */
const differing = async (files: readonly Placed[]): Promise<readonly Placed[]> => {
  const there = files.filter(({ name, place }) => name !== headName && existsSync(place));
  const differs = there.map(async ({ copy, place }) => (await digestOf(place)) !== (await digestOf(copy)));
  const found = await Promise.all(differs);
  return there.filter((_, at) => found[at]);
};

/** Throws ServiceRefused if a file that is there can't do what the backup's could. */
const assertUsable = (others: readonly Placed[]): void => {
  for (const { name, copy, place } of others) {
    if (name === keysName)
      throw refused(`${place} is another file than the one in the backup. Move it aside.`);
    const lines = linesOf(place);
    if (name !== 'operator.token' && !linesOf(copy).every((line) => holdsLine(lines, line)))
      throw refused(
        `${place} lacks lines of the one in the backup. Keep the newer one; it must still hold the older lines.`,
      );
  }
};

/** Copies the files of a backup to their places, except for existing ones. Returns what to know of them. */
const putBack = (files: readonly Placed[], others: readonly Placed[]): readonly string[] => {
  const missing: Placed[] = [];
  for (const file of files)
    if (!existsSync(file.place)) {
      copyFile(file.copy, file.place);
      missing.push(file);
    }
  return [
    ...others.map(({ place }) => `${place} is not the backup's, and was kept.`),
    ...missing.flatMap(({ name, place }) =>
      name === headName ? [`${place} is the backup's. If you have a newer one, put that in its place.`] : [],
    ),
  ];
};

const alreadyExists = (to: string): ServiceRefused =>
  refused(`${to} already exists. Name a new one: a backup never replaces another.`);

const assertNew = (to: string): void => {
  if (existsSync(to) && (!isDirectory(to) || readdirSync(to).length > 0)) throw alreadyExists(to);
};

/** In a folder that is being filled, by one process alone. */
const claimName = 'unfinished';

/** Takes a folder for this process, which has nothing in it: another may have filled it meanwhile. */
const claim = (to: string): void => {
  const path = join(to, claimName);
  try {
    writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw codeOf(error) === 'EEXIST' ? alreadyExists(to) : error;
  }
  if (readdirSync(to).length === 1) return;
  rmSync(path);
  throw alreadyExists(to);
};

/** Fills a new or empty folder. What fails leaves nothing in it. */
const filled = async (to: string, fill: () => Promise<BackedUp>): Promise<BackedUp> => {
  const isNew = !existsSync(to);
  makeDirectory(to);
  claim(to);
  try {
    const made = await fill();
    rmSync(join(to, claimName));
    return made;
  } catch (error) {
    for (const name of readdirSync(to)) rmSync(join(to, name), { recursive: true });
    if (isNew) rmdirSync(to);
    throw error;
  }
};

/** Last: a folder without its list is no finished backup. */
const finished = async (
  to: string,
  names: readonly string[],
  log: CopiedLog & Pick<Manifest, 'original'>,
): Promise<BackedUp> => {
  const files: Record<string, string> = {};
  for (const name of names) files[name] = await digestOf(join(to, name));
  writeWhole(join(to, manifestName), (path) =>
    writeFileSync(path, `${JSON.stringify({ format: 1, ...log, files })}\n`, { mode: 0o600 }),
  );
  return { path: to, files: names, ...log };
};

/** Works with the servers that the settings name. */
const withServers = async <T>(
  servers: Servers,
  settings: Settings,
  work: (opened: OpenedServers) => Promise<T>,
): Promise<T> =>
  closing(await openServers(servers, settings), async (opened) => {
    await opened.database.ping();
    return work(opened);
  });

/** Throws ServiceRefused for a copy, whose backup would pass for one of the service. */
const assertOriginal = (mark: RehearsalMark | null, place: string): void => {
  if (mark !== null)
    throw refused(
      `${place}: this is a rehearsal: ${mark.why}. Nothing was backed up: name the place of the service itself.`,
    );
};

/** Copies the records in MongoDB that can't be rebuilt; for a name that ends in `.keys` the keys alone. */
const backUpServers = (to: string, servers: Servers, settings: Settings): Promise<BackedUp> =>
  withServers(servers, settings, async ({ log, database }) => {
    const [{ dumpRecords }, { markIn }] = await Promise.all([
      import('../../adapters/mongodb/client/backup.js'),
      import('../../adapters/mongodb/records/rehearsal.js'),
    ]);
    assertOriginal(markOfSettings(settings) ?? (await markIn(database)), 'MONGODB_URL');
    assertNew(to);
    const { position, event } = await log.head();
    const copied = { position: String(position), hash: event?.hash ?? null };
    const onlyKeys = to.endsWith('.keys');
    return filled(to, async () => {
      const files = await dumpRecords(database, to, { onlyKeys });
      const secrets = onlyKeys ? [] : copyAll(to, kept(settings));
      if (!onlyKeys) assertComplete(secrets, copied, kept(settings));
      return finished(to, [...files, ...secrets], copied);
    });
  });

const passwordsChanged = async (log: Pick<LogReader, 'readLog'>, after: bigint) => {
  const changed = new Set<string>();
  for await (const page of logPages(log, after))
    for (const { type, stream } of page) if (type === 'PasswordChanged') changed.add(idOf(stream));
  return changed;
};

const restoredFrom = (from: string): string => `it was restored from ${from}`;

const unfinishedRestore = 'its restore is unfinished';

const restoreServers = (from: string, servers: Servers, settings: Settings): Promise<Restored> =>
  withServers(servers, settings, async ({ log, database }) => {
    const [{ loadRecords }, { setMark }, { whoRuns }] = await Promise.all([
      import('../../adapters/mongodb/client/backup.js'),
      import('../../adapters/mongodb/records/rehearsal.js'),
      import('../../adapters/mongodb/read/releases.js'),
    ]);
    const { files } = await openBackup(from);
    const { position, hash } = manifestIn(from);
    const [end, head] = [BigInt(position), (await log.head()).position];
    if (end <= head && ((await log.markAt(end))?.hash ?? null) !== hash)
      throw refused(
        `${from} was made beside another log: the one of EVENTSTORE_URL has another event at position ${position}, or none. Name a backup that was made beside this log, or set EVENTSTORE_URL to the other one.`,
      );
    await assertStopped(() => whoRuns(database, new SystemClock()));
    await setMark(database, { why: unfinishedRestore, state: 'unfinished' });
    const changed = await passwordsChanged(log, end);
    await loadRecords(database, from, files, { changed, head });
    const placed = placedIn(from, kept(settings));
    const notes = putBack(placed, await differing(placed));
    await setMark(database, { why: restoredFrom(from) });
    return { path: 'MONGODB_URL', files, position, hash, notes };
  });

/** The file of the log in a data directory, and in a backup. */
const logName = 'events.db';
const keysName = 'keys.db';
const headName = 'log.head';

/** Whether a backup is, or will be, a file with the events alone. */
const isFile = (path: string): boolean => path.endsWith('.db') && !isDirectory(path);

/** To where a link leads, if it is one. */
const copyFile = (from: string, to: string): void =>
  writeWhole(targetOf(to), (unnamed) => copyFileSync(from, unnamed));

/**
 * Copies the embedded engine's data that can't be rebuilt, also while the service runs. `to`: a new or empty
 * folder, which gets the secret files, too; or a name that ends in `.db`, for the events without them. The
 * copy has been read back when this returns. Throws WrongUsage, ServiceRefused.
 */
const backUpFiles = async (to: string, settings: Settings): Promise<BackedUp> => {
  const { dataDir } = settings;
  const source = join(dataDir, logName);
  if (!isThere(source)) throw refused(`There is no ${source} to back up. Set DATA_DIR.`);
  assertOriginal(markOfSettings(settings) ?? markOfDirectory(dataDir), dataDir);
  assertNew(to);
  if (`${resolve(to)}${sep}`.startsWith(`${resolve(dataDir)}${sep}`))
    throw refused(`${to} is in DATA_DIR ${dataDir}, and would be lost with it. Name a place elsewhere.`);
  if (!isFile(to)) return filled(to, () => backUpFolder(to, settings));
  return { path: to, files: [basename(to)], ...copyLog(source, to) };
};

const backUpFolder = async (to: string, settings: Settings): Promise<BackedUp> => {
  const { dataDir, logHeadFile } = settings;
  // Before the events, so that everything signed is in the log.
  const head = { [headName]: logHeadFile };
  const heads = copyAll(to, head);
  const log = copyLog(join(dataDir, logName), join(to, logName));
  // After the events: a key is stored before anything is sealed with it.
  const keys = { [keysName]: keysPath(dataDir) };
  const sealing = copyAll(to, keys, copyKeys);
  // After the events: a key is in its file before anything is derived from it.
  const secrets = copyAll(to, secretFiles(settings));
  const names = [...heads, ...sealing, ...secrets];
  assertComplete(names, log, { ...head, ...keys, ...secretFiles(settings) });
  // After the events, too: pictures are put before an event names them.
  const pictures = copyPictures(dataDir, to, picturesIn(dataDir));
  return finished(to, [logName, ...names, ...pictures], { ...log, original: resolve(dataDir) });
};

/**
 * Backs up data that can't be rebuilt, also while the service runs: with files everything, on servers the
 * records in MongoDB. Throws WrongUsage, ServiceRefused.
 */
export const backUp = async (name: string, environment: Environment): Promise<BackedUp> => {
  const settings = readSettings(environment);
  const { servers } = settings;
  // `x.keys/` is `x.keys`.
  const to = join(dirname(name), basename(name));
  return servers === null ? backUpFiles(to, settings) : backUpServers(to, servers, settings);
};

const copyLog = (from: string, to: string): CopiedLog =>
  explained(ServiceRefused, 'The copy is not usable, and was removed', () => copyEvents(from, to));

const manifestIn = (folder: string): Manifest => {
  try {
    return Manifest.parse(JSON.parse(readFileSync(join(folder, manifestName), 'utf8')));
  } catch {
    throw refused(`${folder} is no finished backup: its ${manifestName} is missing or not readable.`);
  }
};

/** Does the work while no other process can take the data directory. Throws DataDirectoryInUse. */
const whileLocked = <T>(directory: string, work: () => Promise<T>): Promise<T> =>
  closing({ close: lockDirectory(directory).release }, work);

/** The files of a backup, verified against its list. Throws ServiceRefused. */
const openBackup = async (from: string) => {
  if (!existsSync(from)) throw refused(`There is no backup at ${from}.`);
  if (isFile(from)) return { log: from, files: [basename(from)] };
  const { files } = manifestIn(from);
  for (const [name, digest] of Object.entries(files)) {
    const path = join(from, isPicture(name) ? name : basename(name));
    if (!existsSync(path) || (await digestOf(path)) !== digest)
      throw refused(`${path} is missing, or not what was backed up.`);
  }
  return { log: join(from, logName), files: Object.keys(files) };
};

/**
 * Makes a data directory from a backup, which is read back first. Replaces nothing: DATA_DIR may hold secret
 * files, but no data, except for those of a restore that was cut off. The copy is a rehearsal until it is
 * promoted. Throws WrongUsage, ServiceRefused, DataDirectoryInUse.
 */
const restoreFiles = async (from: string, settings: Settings): Promise<Restored> => {
  const { dataDir } = settings;
  const { log, files } = await openBackup(from);
  if (!existsSync(log))
    throw refused(
      `${from} holds no ${logName}: it is a backup of servers. Set EVENTSTORE_URL, MONGODB_URL and RABBITMQ_URL.`,
    );
  makeDirectory(dataDir);
  return whileLocked(dataDir, () => restoreLocked(from, { log, files }, settings));
};

const restoreLocked = async (
  from: string,
  { log, files }: Awaited<ReturnType<typeof openBackup>>,
  settings: Settings,
): Promise<Restored> => {
  const { dataDir, logHeadFile } = settings;
  const target = join(dataDir, logName);
  const isAgain = markOfDirectory(dataDir)?.why === unfinishedRestore;
  if (!isAgain && [target, join(dataDir, 'read.db')].some((path) => existsSync(path)))
    throw refused(`${dataDir} holds data already. Move it aside, or set DATA_DIR to a new folder.`);
  const places = { ...secretFiles(settings), [keysName]: keysPath(dataDir), [headName]: logHeadFile };
  const placed = placedIn(from, places);
  const others = await differing(placed);
  assertUsable(others);
  const original = isFile(from) ? undefined : manifestIn(from).original;
  markDirectory(dataDir, { why: unfinishedRestore, state: 'unfinished', original });
  for (const name of [logName, 'read.db']) removeDatabase(join(dataDir, name));
  copyFile(log, target);
  let whole: CopiedLog;
  try {
    whole = checkCopy(target);
  } catch (error) {
    rmSync(target, { force: true });
    throw refused(`${log} can't be restored: ${messageOf(error)}`);
  }
  const notes = putBack(placed, others);
  copyPictures(from, dataDir, files.filter(isPicture));
  markDirectory(dataDir, { why: restoredFrom(from), original });
  return { path: dataDir, files, ...whole, notes };
};

/** The number of events in a signed head; less than in any if it can't be read. */
const sizeIn = (path: string): number => {
  try {
    return parseCheckpointText(readFileSync(path, 'utf8').split(/(?<=\n)\n/)[0] ?? '').size;
  } catch {
    return -1;
  }
};

/** Whether two directories hold different logs. One that can't be read may be why the other was restored. */
const areDifferent = (one: string, other: string): boolean => {
  try {
    return firstHash(join(one, logName)) !== firstHash(join(other, logName));
  } catch {
    return false;
  }
};

/**
 * Tells the original, or what took its place since, that it is replaced, if it is a directory of this machine
 * that can be written, and takes over its head: without it, another history would be signed under the same
 * name. Another service may have its data there now. Returns the directory that was told; null if none was.
 */
const tellOriginal = (
  original: string,
  settings: Settings,
  passed: readonly string[] = [],
): string | null => {
  const { dataDir, logHeadFile } = settings;
  const by = resolve(dataDir);
  if ([by, ...passed].includes(original) || !existsSync(join(original, logName))) return null;
  if (areDifferent(original, by)) return null;
  const follow = ({ why, state, original: next }: RehearsalMark): string | null => {
    if (state === 'moved')
      throw refused(
        `${original}, of which this is a copy, is not the service: ${why}. That one would go on beside this. If it never starts again, put its newest log.head at LOG_HEAD_FILE ${logHeadFile}, move ${original} aside, and promote this again.`,
      );
    const told =
      next === undefined || next === by ? null : tellOriginal(next, settings, [...passed, original]);
    takeHead();
    return next === by ? original : told;
  };
  const takeHead = (): void => {
    const head = join(original, headName);
    if (resolve(logHeadFile) === join(by, headName) && sizeIn(head) > sizeIn(logHeadFile))
      copyFile(head, logHeadFile);
  };
  const mark = markOfDirectory(original);
  if (mark !== null) return follow(mark);
  let lock: ReturnType<typeof lockDirectory> | null = null;
  try {
    lock = lockDirectory(original);
  } catch (error) {
    if (error instanceof DataDirectoryInUse)
      throw refused(
        `${original}, of which this is a copy, is in use by another process. Stop that process first.`,
      );
  }
  try {
    const since = markOfDirectory(original);
    if (since !== null) return follow(since);
    takeHead();
    if (lock === null) return null;
    markDirectory(original, { why: `it was replaced by ${by}`, original: by });
    return original;
  } finally {
    lock?.release();
  }
};

/** Throws ServiceRefused unless a place is marked as a whole copy. Returns its mark. */
const wholeCopy = (mark: RehearsalMark | null, place: string): RehearsalMark => {
  if (mark === null) throw refused(`${place} is no rehearsal: nothing was done.`);
  if (mark.state !== 'unfinished') return mark;
  throw refused('This is an unfinished copy. Run `log copy`, or `restore`, again first.');
};

/**
 * Makes a rehearsal the service. Returns its place, and that of the service before if it is a rehearsal from
 * now on. Throws ServiceRefused, and DataDirectoryInUse while one of them runs.
 */
export const promote = async (
  environment: Environment,
): Promise<{ readonly path: string; readonly original: string | null }> => {
  const settings = readSettings(environment);
  const { servers, dataDir } = settings;
  if (settings.rehearsal)
    throw refused('REHEARSAL is on. Take it out of the settings of every process first.');
  if (servers !== null)
    return withServers(servers, settings, async ({ database }) => {
      const { markIn, setMark } = await import('../../adapters/mongodb/records/rehearsal.js');
      wholeCopy(await markIn(database), 'MONGODB_URL');
      await setMark(database, null);
      return { path: 'MONGODB_URL', original: null };
    });
  wholeCopy(markOfDirectory(dataDir), dataDir);
  return whileLocked(dataDir, async () => {
    const { original } = wholeCopy(markOfDirectory(dataDir), dataDir);
    const told = original === undefined ? null : tellOriginal(original, settings);
    markDirectory(dataDir, null);
    return { path: dataDir, original: told };
  });
};

/**
 * Restores a backup; on servers, the records that are missing in MongoDB. Throws WrongUsage, ServiceRefused.
 */
export const restore = async (from: string, environment: Environment): Promise<Restored> => {
  const settings = readSettings(environment);
  const { servers } = settings;
  return servers === null ? restoreFiles(from, settings) : restoreServers(from, servers, settings);
};
