import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import files, {
  mkdir,
  mkdtemp,
  open as openFile,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileArtwork } from '../../../adapters/artwork/files.js';
import { ArtworkUnavailable, type Pictures } from '../../../application/ports/artwork.js';
import { ArtworkDigest } from '../../../domain/artwork.js';
import { artworkContract } from '../../contract/artwork.js';
import { leftoversInFiles } from '../../support/artwork/leftovers.js';
import { MemoryArtwork } from '../../support/memory/artwork.js';
import { VirtualClock } from '../../support/memory/clock.js';

const alter = async (path: string): Promise<void> => {
  const bytes = await readFile(path);
  await writeFile(path, bytes.fill(7, 3, 9));
};

const handlesOf = async (): Promise<{ sync: () => Promise<void> }> => {
  const file = await openFile(import.meta.filename);
  await file.close();
  return Object.getPrototypeOf(file);
};

/** Has the next file whose bytes get to the disk wait for a promise. */
const onFirstSync = async (wait: () => Promise<void>): Promise<void> => {
  const handles = await handlesOf();
  const { sync } = handles;
  handles.sync = async function () {
    handles.sync = sync;
    await wait();
    await sync.call(this);
  };
};

const open = async () => {
  const directory = await mkdtemp(join(tmpdir(), 'cards-artwork-'));
  const clock = new VirtualClock();
  const place = join(directory, 'artwork');
  return {
    place,
    artwork: fileArtwork(place, clock),
    clock,
    reopen: () => fileArtwork(place, clock),
    // As a process leaves it that dies.
    breakOff: async (_: ArtworkDigest, { master }: Pictures) => {
      const folder = join(place, 'unfinished', `${clock.now()}-broken`);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'master.jpg'), master);
    },
    halt: async (digest: ArtworkDigest, pictures: Pictures) => {
      const artwork = fileArtwork(place, clock);
      const put = () =>
        artwork.put(digest, pictures).then(
          () => null,
          (error: unknown) => error,
        );
      return new Promise<() => Promise<unknown>>((isHalted, reject) => {
        const synced = onFirstSync(() => new Promise<void>((goOn) => isHalted(() => (goOn(), settled))));
        const settled = synced.then(put);
        settled.catch(reject);
      });
    },
    damages: [(path: string) => truncate(path, 3), alter].map(
      (damage) => (digest: ArtworkDigest) =>
        damage(join(place, digest.slice(0, 2), digest.slice(2), 'master.jpg')),
    ),
    leftovers: () => leftoversInFiles(place),
    close: () => rm(directory, { recursive: true, force: true }),
  };
};

artworkContract('files', open);

describe('pictures in files', () => {
  it('lie below the first two letters of their digests, for the service alone', async () => {
    const { artwork, place, close } = await open();
    const master = Buffer.from('a front');
    const hex = createHash('sha256').update(master).digest('hex');
    await artwork.put(ArtworkDigest.parse(hex), { master, preview: master, thumbnail: master });
    const folder = join(place, hex.slice(0, 2), hex.slice(2));
    expect((await readdir(folder)).sort()).to.deep.equal(['master.jpg', 'preview.webp', 'thumbnail.webp']);
    const modes = await Promise.all(
      [place, folder, join(folder, 'master.jpg')].map(async (path) => (await stat(path)).mode & 0o777),
    );
    expect(modes).to.deep.equal([0o700, 0o700, 0o600]);
    await close();
  });

  it('get their place when the disk has them, which is on the disk before they count', async () => {
    const { artwork, place, close } = await open();
    const master = Buffer.from('a front');
    const digest = ArtworkDigest.parse('0'.repeat(64));
    const handles = await handlesOf();
    const { sync } = handles;
    const hadPlace: boolean[] = [];
    handles.sync = function () {
      hadPlace.push(existsSync(join(place, digest.slice(0, 2), digest.slice(2))));
      return sync.call(this);
    };
    await artwork.put(digest, { master, preview: master, thumbnail: master });
    handles.sync = sync;
    // Three files and their folder; then the folders of its name.
    expect(hadPlace).to.deep.equal([false, false, false, false, true, true, true]);
    await close();
  });

  it('need no room to be removed', async () => {
    const { artwork, place, clock, close } = await open();
    const master = Buffer.from('a front');
    const digest = ArtworkDigest.parse('0'.repeat(64));
    await artwork.remove(digest, clock.now() + 1);
    expect(existsSync(place)).to.equal(false);
    await artwork.put(digest, { master, preview: master, thumbnail: master });
    const before = await stat(join(place, 'unfinished'));
    await artwork.remove(digest, clock.now());
    expect((await stat(join(place, 'unfinished'))).mtimeMs).to.equal(before.mtimeMs);
    await close();
  });

  it('are not there if a put goes on while its bytes are being cleared away', async () => {
    const { artwork, place, clock, halt, close } = await open();
    const master = Buffer.from('a front');
    const digest = ArtworkDigest.parse('0'.repeat(64));
    const goOn = await halt(digest, { master, preview: master, thumbnail: master });
    const { rm: remove } = files;
    const ends: unknown[] = [];
    files.rm = async (path, options) => {
      files.rm = remove;
      syncBuiltinESMExports();
      await unlink(join(String(path), 'master.jpg'));
      ends.push(await goOn());
      await remove(path, options);
    };
    syncBuiltinESMExports();
    await artwork.removeUnfinished(clock.now() + 1);
    expect(ends[0]).to.be.instanceOf(ArtworkUnavailable);
    expect([await artwork.get(digest, 'thumbnail'), await leftoversInFiles(place)]).to.deep.equal([null, 0]);
    await close();
  });

  it('leave nothing of a put that failed', async () => {
    const { artwork, place, close } = await open();
    const master = Buffer.alloc(700_000);
    const pictures: Pictures = Object.assign({ master, preview: master }, { thumbnail: 7 as never });
    const failed = await artwork.put(ArtworkDigest.parse('0'.repeat(64)), pictures).catch(String);
    expect(failed).to.include('ArtworkUnavailable');
    expect(await leftoversInFiles(place)).to.equal(0);
    await close();
  });

  it('are listed beside files that others have put there', async () => {
    const { artwork, place, close } = await open();
    const master = Buffer.from('a front');
    const digest = ArtworkDigest.parse('0'.repeat(64));
    await artwork.put(digest, { master, preview: master, thumbnail: master });
    await writeFile(join(place, '.DS_Store'), 'not ours');
    const digests: string[] = [];
    for await (const each of artwork.list()) digests.push(each.digest);
    expect(digests).to.deep.equal([digest]);
    await close();
  });

  it('are unavailable where the directory can’t be made', async () => {
    const artwork = fileArtwork('/proc/artwork', new VirtualClock());
    const master = Buffer.from('a front');
    const digest = ArtworkDigest.parse('0'.repeat(64));
    const failed = await artwork
      .put(digest, { master, preview: master, thumbnail: master })
      .catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(ArtworkUnavailable);
  });
});

artworkContract('memory', async () => {
  const clock = new VirtualClock();
  return {
    artwork: new MemoryArtwork(clock),
    clock,
    leftovers: () => Promise.resolve(0),
    close: () => Promise.resolve(),
  };
});
