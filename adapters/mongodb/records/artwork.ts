import { Binary, ObjectId, type Collection, type Filter } from 'mongodb';
import { ArtworkUnavailable, type Artwork, type Pictures } from '../../../application/ports/artwork.js';
import type { Clock } from '../../../application/ports/system.js';
import { attemptAll } from '../../../application/timing/attempt-all.js';
import { ArtworkDigest } from '../../../domain/artwork.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { guardedPort, type MongoDatabase } from '../client/database.js';
import { bytesOf, findAll } from '../client/documents.js';

const [beingPut, beingRemoved] = ['being put', 'being removed'];
/** The names of files whose chunks are not all there. The name of any other is its digest. */
export const unfinished: readonly string[] = [beingPut, beingRemoved];
/** In bytes, as the driver has it. */
const chunkSize = 255 * 1024;

/** As GridFS keeps it. Its chunks are the print master. */
interface FileDocument {
  readonly _id: ObjectId;
  readonly filename: string;
  readonly length: number;
  readonly chunkSize: number;
  readonly uploadDate: Date;
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

/**
 * Pictures in GridFS. A front is there while its document in `artwork.files` is named by the digest. It gets
 * that name last, unless its removal has begun, and loses it first. Puts of one digest at the same time may
 * make two files, which are removed together.
 */
export const mongoArtwork = (database: MongoDatabase, clock: Clock): Artwork => {
  const files = (): Collection<FileDocument> => database.collection('artwork.files');
  const chunks = (): Collection<ChunkDocument> => database.collection('artwork.chunks');

  const removeFile = async (id: ObjectId, which: Filter<FileDocument> = {}): Promise<void> => {
    const removing = { $set: { filename: beingRemoved } };
    const { matchedCount } = await files().updateOne({ ...which, _id: { $eq: id } }, removing);
    if (matchedCount === 0) return;
    await chunks().deleteMany({ files_id: { $eq: id } });
    await files().deleteOne({ _id: { $eq: id } });
  };

  const removeOld = async (which: Filter<FileDocument>, before: Milliseconds): Promise<void> => {
    const old = { ...which, 'metadata.putAt': { $lt: new Date(before) } };
    const found = await findAll(files(), old, { projection: { _id: 1 } });
    await attemptAll(found, ({ _id }) => removeFile(_id, old));
  };

  /** Gives how many files the digest has. */
  const renew = async (digest: ArtworkDigest): Promise<number> => {
    const renewed = { $max: { 'metadata.putAt': new Date(clock.now()) } };
    return (await files().updateMany({ filename: { $eq: digest } }, renewed)).matchedCount;
  };

  const putFile = async (digest: ArtworkDigest, { master, preview, thumbnail }: Pictures): Promise<void> => {
    const [id, began] = [new ObjectId(), new Date(clock.now())];
    const metadata = { putAt: began, preview: new Binary(preview), thumbnail: new Binary(thumbnail) };
    const { length } = master;
    await files().insertOne({ _id: id, filename: beingPut, length, chunkSize, uploadDate: began, metadata });
    for (let n = 0; n * chunkSize < length; n++) {
      const data = new Binary(master.subarray(n * chunkSize, (n + 1) * chunkSize));
      await chunks().insertOne({ files_id: id, n, data });
    }
    // With the digest, too, so that it finds itself where it is repeated.
    const { matchedCount } = await files().updateOne(
      { _id: { $eq: id }, filename: { $in: [beingPut, digest] } },
      { $set: { filename: digest, 'metadata.putAt': new Date(clock.now()) } },
    );
    if (matchedCount > 0) return;
    await chunks().deleteMany({ files_id: { $eq: id } });
    throw new ArtworkUnavailable('A picture took so long to be put that it was removed as unfinished');
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
    all: async () =>
      findAll(
        files(),
        { filename: { $nin: unfinished } },
        { projection: { filename: 1, 'metadata.putAt': 1 } },
      ),
  });

  return guardedPort<Artwork>(ArtworkUnavailable, {
    put: async (digest, pictures) => {
      const damaged = await damagedOf(digest, pictures);
      if ((await renew(digest)) <= damaged.length) await putFile(digest, pictures);
      for (const each of damaged) await removeFile(each);
    },

    renew: async (digest) => (await renew(digest)) > 0,

    get: async (digest, size) => {
      const projection = { [`metadata.${size}`]: 1 };
      const file = await files().findOne({ filename: { $eq: digest } }, { projection });
      if (file === null) return null;
      if (size !== 'master') return bytesOf(file.metadata[size]);
      return Buffer.concat(await database.bucket('artwork').openDownloadStream(file._id).toArray());
    },

    remove: (digest, putBefore) => removeOld({ filename: { $eq: digest } }, putBefore),

    async *list() {
      for (const { filename, metadata } of await listing.all())
        yield { digest: ArtworkDigest.parse(filename), putAt: metadata.putAt.getTime() };
    },

    removeUnfinished: (before) => removeOld({ filename: { $in: unfinished } }, before),
  });
};
