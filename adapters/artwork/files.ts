import { readFileSync, renameSync, statSync, utimesSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  ArtworkUnavailable,
  pictureSizes,
  type Artwork,
  type Pictures,
  type PictureSize,
} from '../../application/ports/artwork.js';
import type { Clock } from '../../application/ports/system.js';
import { attemptAll } from '../../application/timing/attempt-all.js';
import { ArtworkDigest } from '../../domain/artwork.js';
import { codeOf, messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';

const guarded = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw new ArtworkUnavailable(messageOf(error), { cause: error });
  }
};

const orIfMissing = <T, Other>(work: Promise<T>, other: Other): Promise<T | Other> =>
  work.catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return other;
    throw error;
  });

const sync = async (path: string, bytes?: Buffer): Promise<void> => {
  const file = await open(path, bytes === undefined ? 'r' : 'wx', 0o600);
  try {
    if (bytes !== undefined) await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
};

/** Not with `recursive`, which never ends where no directory can be made. */
const makeFolder = async (folder: string): Promise<void> => {
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if (timeOf(folder) === null) throw error;
  });
};

/** The time of a folder; null if it isn't there. */
const timeOf = (folder: string): Milliseconds | null => {
  const found = statSync(folder, { throwIfNoEntry: false });
  return found === undefined ? null : Math.round(found.mtimeMs);
};

const fileOf = (size: PictureSize): string => `${size}.${size === 'master' ? 'jpg' : 'webp'}`;

/** Also where one can't be read, it is to be replaced. */
const isWhole = (folder: string, pictures: Pictures): boolean =>
  pictureSizes.every((size) => {
    try {
      return readFileSync(join(folder, fileOf(size))).equals(pictures[size]);
    } catch {
      return false;
    }
  });

const unfinished = 'unfinished';
/** Ends the name of a folder that another has replaced. */
const damaged = '-damaged';

/**
 * Pictures in a directory of this one process: a folder for each front, `ab/cdef…`, whose time is its
 * `putAt`. It is written below `unfinished` and gets its place by its name. What finds a folder and changes
 * its name or time does so in one go, so that nothing comes in between.
 */
export const fileArtwork = (directory: string, clock: Clock): Artwork => {
  const placeOf = (digest: ArtworkDigest): string => join(directory, digest.slice(0, 2), digest.slice(2));

  const namesIn = (...folder: readonly string[]): Promise<readonly string[]> =>
    guarded(() => orIfMissing(readdir(join(directory, ...folder)), []));

  /** A new folder, on the same file system. Its name begins with the time. */
  const newFolder = async (): Promise<string> => {
    const place = join(directory, unfinished);
    await makeFolder(directory);
    await makeFolder(place);
    return mkdtemp(join(place, `${clock.now()}-`));
  };

  const renewNow = (place: string): void => {
    const now = clock.now() / 1000;
    utimesSync(place, now, now);
  };

  return {
    put: (digest, pictures) =>
      guarded(async () => {
        const place = placeOf(digest);
        const folder = isWhole(place, pictures) ? null : await newFolder();
        try {
          if (folder !== null) {
            for (const size of pictureSizes) await sync(join(folder, fileOf(size)), pictures[size]);
            await sync(folder);
          }
          await makeFolder(dirname(place));
          if (folder !== null && !isWhole(place, pictures)) {
            if (timeOf(place) !== null) renameSync(place, `${folder}${damaged}`);
            renameSync(folder, place);
          }
          renewNow(place);
          for (const above of [dirname(place), directory, dirname(directory)]) await sync(above);
        } finally {
          if (folder !== null)
            for (const rest of ['', damaged]) await rm(`${folder}${rest}`, { recursive: true, force: true });
        }
      }),

    renew: (digest) =>
      guarded(async () => {
        const isThere = timeOf(placeOf(digest)) !== null;
        if (isThere) renewNow(placeOf(digest));
        return isThere;
      }),

    get: (digest, size) => guarded(() => orIfMissing(readFile(join(placeOf(digest), fileOf(size))), null)),

    /** Makes no folder that is not there: on a full disk that would fail. */
    remove: (digest, putBefore) =>
      guarded(async () => {
        const place = placeOf(digest);
        const removed = join(directory, unfinished, `${clock.now()}-${digest}`);
        if (timeOf(place) !== null) await makeFolder(dirname(removed));
        if ((timeOf(place) ?? putBefore) >= putBefore) return;
        renameSync(place, removed);
        await sync(dirname(place));
        await rm(removed, { recursive: true });
      }),

    async *list() {
      for (const start of await namesIn())
        for (const rest of /^[0-9a-f]{2}$/.test(start) ? await namesIn(start) : []) {
          const digest = ArtworkDigest.safeParse(start + rest).data;
          const putAt = digest === undefined ? null : timeOf(placeOf(digest));
          if (digest !== undefined && putAt !== null) yield { digest, putAt };
        }
    },

    removeUnfinished: async (before) => {
      const old = (await namesIn(unfinished)).filter((name) => Number.parseInt(name) < before);
      await guarded(() =>
        attemptAll(old, async (name) => {
          const folder = join(directory, unfinished, name);
          const removed = `${folder}-removed`;
          // So that a put that goes on finds all of its files or none.
          await orIfMissing(rename(folder, removed), undefined);
          await rm(removed, { recursive: true, force: true });
        }),
      );
    },
  };
};
