import { expect } from 'chai';
import { Binary, ObjectId } from 'mongodb';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dumpRecords, loadRecords } from '../../../../adapters/mongodb/client/backup.js';
import { mongoArtwork } from '../../../../adapters/mongodb/records/artwork.js';
import { mongoCheckpoints } from '../../../../adapters/mongodb/records/checkpoints.js';
import { mongoPersonalKeys } from '../../../../adapters/mongodb/records/personal-keys.js';
import { mongoSignInRecords } from '../../../../adapters/mongodb/records/records.js';
import { SystemClock } from '../../../../adapters/system/clock.js';
import { isRebuilt } from '../../../../application/webhooks/relay.js';
import { signInKinds } from '../../../../application/ports/records.js';
import { ArtworkDigest } from '../../../../domain/artwork.js';
import { withShortWrites } from '../../../support/fixtures/short-writes.js';
import { describeWithEngines } from '../../../support/runner/engines.js';
import { freshDatabase } from '../support.js';

const sources = join(import.meta.dirname, '../../../../adapters/mongodb');

/** Every collection that the adapters name. */
const named = [
  ...new Set(
    readdirSync(sources, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.js'))
      .flatMap((file) =>
        [
          ...readFileSync(join(sources, file), 'utf8').matchAll(
            /(?:collection|indexed|#of)(?:<[^()]*?>)?\(\s*'([\w.]+)'/g,
          ),
        ].map(([, name = '']) => name),
      ),
  ),
].toSorted();
/** They are made of the log, hold for moments, or are about this copy alone. */
const notKept = [
  'builds',
  'leases',
  'log_tiles',
  'log_tree',
  'probe',
  'rate_counters',
  'rebuild_requests',
  'rehearsal',
  'releases',
];

describeWithEngines(['MONGODB_URL'], 'a copy of what lies in MongoDB', (url) => {
  it('holds every collection of ours that can not be made again, and none of others', async () => {
    const { database, end } = freshDatabase(url);
    const folder = mkdtempSync(join(tmpdir(), 'cards-'));
    try {
      for (const name of [...named, 'documents_cards_v1_g1', 'orders', 'personal_key_photos'])
        await database.collection(name).insertOne({ name });
      const files = await dumpRecords(database, folder, { onlyKeys: false });
      const wanted = named.filter((name) => !notKept.includes(name));
      expect(files.toSorted()).to.deep.equal(wanted.map((name) => `${name}.bson`));
      expect(named).to.include.members(notKept);
      await database.collection('orders').deleteMany({});
      await loadRecords(database, folder, files, { changed: new Set(), head: 0n });
      expect(await database.collection('orders').countDocuments({})).to.equal(0);
    } finally {
      rmSync(folder, { recursive: true });
      await end();
    }
  });

  it('brings back no session, no link and no password that was changed since', async () => {
    const [from, to] = [freshDatabase(url), freshDatabase(url)];
    const folder = mkdtempSync(join(tmpdir(), 'cards-'));
    try {
      const clock = new SystemClock();
      const record = { owner: 'a mailbox', data: {}, ends: null };
      const records = mongoSignInRecords({ database: from.database, clock });
      for (const kind of signInKinds)
        for (const id of ['ada', 'bo']) await records.add({ ...record, kind, id });
      const files = await dumpRecords(from.database, folder, { onlyKeys: false });
      await loadRecords(to.database, folder, files, { changed: new Set(['bo']), head: 0n });
      const restored = await to.database.collection('sign_in_records').find({}).toArray();
      expect(restored.map(({ kind, id }) => [kind, id])).to.deep.equal([['password', 'ada']]);
    } finally {
      rmSync(folder, { recursive: true });
      await from.end();
      await to.end();
    }
  });

  it('lets the relay go through all that came since before anything is sent', async () => {
    const [from, to] = [freshDatabase(url), freshDatabase(url)];
    const folder = mkdtempSync(join(tmpdir(), 'cards-'));
    try {
      const saved = { position: 7n, state: { rebuiltTo: '3' } };
      for (const name of ['relay', 'reconciler']) await mongoCheckpoints(from.database).save(name, saved);
      const files = await dumpRecords(from.database, folder, { onlyKeys: false });
      await loadRecords(to.database, folder, files, { changed: new Set(), head: 90n });
      const restored = mongoCheckpoints(to.database);
      expect(await isRebuilt({ checkpoints: restored })).to.equal(false);
      expect(await restored.load('relay')).to.deep.equal({ ...saved, state: { rebuiltTo: '90' } });
      expect(await restored.load('reconciler')).to.deep.equal(saved);
    } finally {
      rmSync(folder, { recursive: true });
      await from.end();
      await to.end();
    }
  });

  it('is whole where the system writes less at once, and refused where it is cut off', async () => {
    const [from, to] = [freshDatabase(url), freshDatabase(url)];
    const folder = mkdtempSync(join(tmpdir(), 'cards-'));
    try {
      const requests = from.database.collection<{ readonly _id: string; readonly text: string }>('requests');
      for (const _id of ['first', 'last']) await requests.insertOne({ _id, text: 'a'.repeat(500) });
      const files = await withShortWrites(() => dumpRecords(from.database, folder, { onlyKeys: false }));
      const since = { changed: new Set<string>(), head: 0n };
      await loadRecords(to.database, folder, files, since);
      expect(await to.database.collection('requests').countDocuments({})).to.equal(2);
      const path = join(folder, 'requests.bson');
      const { size } = statSync(path);
      for (const left of [size - 1, 2]) {
        truncateSync(path, left);
        const error = await loadRecords(to.database, folder, files, since).catch(String);
        expect(error).to.equal(`Error: ${path} is cut off. Restore another backup.`);
      }
    } finally {
      rmSync(folder, { recursive: true });
      await from.end();
      await to.end();
    }
  });

  it('lets the shredder destroy again what comes back, even if the restore is cut off', async () => {
    const [from, to] = [freshDatabase(url), freshDatabase(url)];
    const folder = mkdtempSync(join(tmpdir(), 'cards-'));
    try {
      const [copied, later] = [mongoPersonalKeys(from.database), mongoPersonalKeys(to.database)];
      await copied.saveMark({ position: 3n, event: null }, null, []);
      await later.saveMark({ position: 9n, event: null }, null, []);
      const files = await dumpRecords(from.database, folder, { onlyKeys: false });
      const since = { changed: new Set<string>(), head: 0n };
      const cutOff = loadRecords(to.database, folder, ['missing.bson', ...files], since);
      expect(await cutOff.catch(String)).to.include('missing.bson');
      expect((await later.mark())?.position).to.equal(3n);
    } finally {
      rmSync(folder, { recursive: true });
      await from.end();
      await to.end();
    }
  });

  it('has, beside the keys alone, pictures that were saved since the records were copied', async () => {
    const { database, end } = freshDatabase(url);
    const folder = mkdtempSync(join(tmpdir(), 'cards-'));
    try {
      for (const name of named) await database.collection(name).insertOne({ name });
      expect(await dumpRecords(database, folder, { onlyKeys: true })).to.deep.equal(
        ['artwork.files', 'artwork.chunks', 'personal_key_state', 'personal_key_uses', 'personal_keys'].map(
          (name) => `${name}.bson`,
        ),
      );
    } finally {
      rmSync(folder, { recursive: true });
      await end();
    }
  });

  it('holds the fronts of cards, which come back with every byte', async () => {
    const [from, to] = [freshDatabase(url), freshDatabase(url)];
    const folder = mkdtempSync(join(tmpdir(), 'cards-'));
    try {
      const clock = new SystemClock();
      const digest = ArtworkDigest.parse('ab'.repeat(32));
      // A picture in several pieces of GridFS.
      const master = Buffer.alloc(600_000, 'dots of a front');
      const [preview, thumbnail] = [Buffer.from('preview'), Buffer.from('thumbnail')];
      await mongoArtwork(from.database, clock).put(digest, { master, preview, thumbnail });
      const unfinished = { files_id: new ObjectId(), n: 0, data: new Binary(master) };
      await from.database.collection('artwork.chunks').insertOne(unfinished);
      const file = { _id: unfinished.files_id, filename: 'being put' };
      await from.database.collection('artwork.files').insertOne(file);
      const files = await dumpRecords(from.database, folder, { onlyKeys: false });
      await loadRecords(to.database, folder, files, { changed: new Set(), head: 0n });
      const restored = mongoArtwork(to.database, clock);
      expect((await restored.get(digest, 'master'))?.equals(master)).to.equal(true);
      expect((await restored.get(digest, 'thumbnail'))?.equals(thumbnail)).to.equal(true);
      const chunks = to.database.collection('artwork.chunks');
      expect(await chunks.countDocuments({ files_id: unfinished.files_id })).to.equal(0);
      expect(await to.database.collection('artwork.files').countDocuments({})).to.equal(1);
      await to.database.prepareAll(() => undefined);
      for (const name of ['artwork.files', 'artwork.chunks'])
        expect(await to.database.collection(name).indexes(), name).to.have.length(2);
    } finally {
      rmSync(folder, { recursive: true });
      await from.end();
      await to.end();
    }
  });
});
