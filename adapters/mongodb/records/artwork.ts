import { once } from 'node:events';
import { Binary, ObjectId, type Collection, type Filter } from 'mongodb';
import { ArtworkUnavailable, type Artwork, type Pictures } from '../../../application/ports/artwork.js';
import type { Clock } from '../../../application/ports/system.js';
import { attemptAll } from '../../../application/timing/attempt-all.js';
import { ArtworkDigest } from '../../../domain/artwork.js';
import { guardedPort, type MongoDatabase } from '../client/database.js';
import { bytesOf, findAll } from '../client/documents.js';

/** As GridFS keeps it. Its chunks are the print master. */
interface FileDocument {
  readonly _id: ObjectId;
  /** The digest. */
  readonly filename: string;
  readonly metadata: {
    readonly putAt: Date;
    readonly preview: Binary;
    readonly thumbnail: Binary;
  };
}

interface ChunkDocument {
  readonly files_id: ObjectId;
  readonly n: number;
  readonly data: Binary;
}

/** A file whose chunks are being written or removed. */
interface UnfinishedDocument {
  readonly _id: ObjectId;
  readonly at: Date;
}

/**
 * Pictures in GridFS. A front is there once its document in `artwork.files` is, which comes last and goes
 * first; puts of one digest at the same time may make two, which are removed together.
 */
export const mongoArtwork = (database: MongoDatabase, clock: Clock): Artwork => {
  const files = (): Collection<FileDocument> => database.collection('artwork.files');
  const chunks = (): Collection<ChunkDocument> => database.collection('artwork.chunks');
  const unfinished = (): Collection<UnfinishedDocument> => database.collection('artwork.unfinished');

  const begin = async (id: ObjectId): Promise<ObjectId> => {
    const at = new Date(clock.now());
    await unfinished().updateOne({ _id: { $eq: id } }, { $set: { at } }, { upsert: true });
    return id;
  };

  /** Removes the chunks of a file that is not there. */
  const end = async (id: ObjectId): Promise<void> => {
    const file = await files().findOne({ _id: { $eq: id } }, { projection: { _id: 1 } });
    if (file === null) await chunks().deleteMany({ files_id: { $eq: id } });
    await unfinished().deleteOne({ _id: { $eq: id } });
  };

  const removeFile = async (id: ObjectId, which: Filter<FileDocument> = {}): Promise<void> => {
    await begin(id);
    await files().deleteOne({ ...which, _id: { $eq: id } });
    await end(id);
  };

  const isWhole = async ({ _id, metadata }: FileDocument, pictures: Pictures): Promise<boolean> => {
    const screens = (['preview', 'thumbnail'] as const).every((size) =>
      pictures[size].equals(bytesOf(metadata[size])),
    );
    const found = chunks().find({ files_id: { $eq: _id } }, { sort: { n: 1 } });
    return (
      screens && pictures.master.equals(Buffer.concat(await found.map(({ data }) => bytesOf(data)).toArray()))
    );
  };

  /** The files of a digest that have other bytes. */
  const damagedOf = async (digest: ArtworkDigest, pictures: Pictures): Promise<readonly ObjectId[]> => {
    const damaged: ObjectId[] = [];
    for (const file of await findAll(files(), { filename: { $eq: digest } }))
      if (!(await isWhole(file, pictures))) damaged.push(file._id);
    return damaged;
  };

  const listing = guardedPort(ArtworkUnavailable, {
    all: async () => findAll(files(), {}, { projection: { filename: 1, 'metadata.putAt': 1 } }),
  });

  return guardedPort<Artwork>(ArtworkUnavailable, {
    put: async (digest, pictures) => {
      const { master, preview, thumbnail } = pictures;
      const putAt = new Date(clock.now());
      const renewed = { $max: { 'metadata.putAt': putAt } };
      const damaged = await damagedOf(digest, pictures);
      const { matchedCount } = await files().updateMany({ filename: { $eq: digest } }, renewed);
      if (matchedCount <= damaged.length) {
        const id = await begin(new ObjectId());
        const metadata = { putAt, preview: new Binary(preview), thumbnail: new Binary(thumbnail) };
        const file = database.bucket('artwork').openUploadStreamWithId(id, digest, { metadata });
        const written = once(file, 'finish');
        file.end(master);
        await written;
        await end(id);
      }
      for (const each of damaged) await removeFile(each);
    },

    get: async (digest, size) => {
      const projection = { [`metadata.${size}`]: 1 };
      const file = await files().findOne({ filename: { $eq: digest } }, { projection });
      if (file === null) return null;
      if (size !== 'master') return bytesOf(file.metadata[size]);
      return Buffer.concat(await database.bucket('artwork').openDownloadStream(file._id).toArray());
    },

    remove: async (digest, putBefore) => {
      const old = { filename: { $eq: digest }, 'metadata.putAt': { $lt: new Date(putBefore) } };
      const found = await findAll(files(), old, { projection: { _id: 1 } });
      for (const { _id } of found) await removeFile(_id, old);
    },

    async *list() {
      for (const { filename, metadata } of await listing.all())
        yield { digest: ArtworkDigest.parse(filename), putAt: metadata.putAt.getTime() };
    },

    removeUnfinished: async (before) => {
      const old = await findAll(unfinished(), { at: { $lt: new Date(before) } });
      await attemptAll(old, ({ _id }) => end(_id));
    },
  });
};
