import { once } from 'node:events';
import { Binary, ObjectId, type Collection, type Document } from 'mongodb';
import {
  ArtworkUnavailable,
  type Artwork,
  type Pictures,
  type PictureSize,
  type StoredArtwork,
} from '../../../application/ports/artwork.js';
import type { Clock } from '../../../application/ports/system.js';
import { ArtworkDigest } from '../../../domain/artwork.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { guarded, type MongoDatabase } from '../client/database.js';

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

/** A file whose chunks are being written or removed. */
interface UnfinishedDocument {
  readonly _id: ObjectId;
  readonly at: Date;
}

/** As the driver makes and names them, but only in an empty bucket: one that was restored has none. */
export const artworkIndexes = {
  'artwork.files': [{ name: 'filename_1_uploadDate_1', key: { filename: 1, uploadDate: 1 } }],
  'artwork.chunks': [{ name: 'files_id_1_n_1', key: { files_id: 1, n: 1 }, unique: true }],
} as const;

const bytesOf = ({ buffer, position }: Binary): Buffer => Buffer.from(buffer).subarray(0, position);

/**
 * Pictures in GridFS. A front is there once its document in `artwork.files` is, which comes last and goes
 * first; puts of one digest at the same time may make two, which are removed together.
 */
export class MongoArtwork implements Artwork {
  constructor(private readonly options: { readonly database: MongoDatabase; readonly clock: Clock }) {}

  put(digest: ArtworkDigest, { master, preview, thumbnail }: Pictures): Promise<void> {
    return this.#guarded(async () => {
      const putAt = new Date(this.options.clock.now());
      const renewed = { $max: { 'metadata.putAt': putAt } };
      const { matchedCount } = await this.#files().updateMany({ filename: { $eq: digest } }, renewed);
      if (matchedCount > 0) return;
      const id = await this.#begin(new ObjectId());
      const metadata = { putAt, preview: new Binary(preview), thumbnail: new Binary(thumbnail) };
      const file = this.options.database.bucket('artwork').openUploadStreamWithId(id, digest, { metadata });
      const written = once(file, 'finish');
      file.end(master);
      await written;
      await this.#end(id);
    });
  }

  get(digest: ArtworkDigest, size: PictureSize): Promise<Buffer | null> {
    return this.#guarded(async () => {
      const projection = { [`metadata.${size}`]: 1 };
      const file = await this.#files().findOne({ filename: { $eq: digest } }, { projection });
      if (file === null) return null;
      if (size !== 'master') return bytesOf(file.metadata[size]);
      const chunks = await this.options.database.bucket('artwork').openDownloadStream(file._id).toArray();
      return Buffer.concat(chunks);
    });
  }

  remove(digest: ArtworkDigest, putBefore: Milliseconds): Promise<boolean> {
    return this.#guarded(async () => {
      const old = { filename: { $eq: digest }, 'metadata.putAt': { $lt: new Date(putBefore) } };
      const files = await this.#files()
        .find(old, { projection: { _id: 1 } })
        .toArray();
      let removed = 0;
      for (const { _id } of files) {
        await this.#begin(_id);
        removed += (await this.#files().deleteOne({ ...old, _id: { $eq: _id } })).deletedCount;
        await this.#end(_id);
      }
      return removed > 0;
    });
  }

  async *list(): AsyncGenerator<StoredArtwork> {
    const files = await this.#guarded(() =>
      this.#files()
        .find({}, { projection: { filename: 1, 'metadata.putAt': 1 } })
        .toArray(),
    );
    for (const { filename, metadata } of files)
      yield { digest: ArtworkDigest.parse(filename), putAt: metadata.putAt.getTime() };
  }

  removeUnfinished(before: Milliseconds): Promise<void> {
    return this.#guarded(async () => {
      const old = await this.#unfinished()
        .find({ at: { $lt: new Date(before) } })
        .toArray();
      for (const { _id } of old) await this.#end(_id);
    });
  }

  async #begin(id: ObjectId): Promise<ObjectId> {
    const at = new Date(this.options.clock.now());
    await this.#unfinished().updateOne({ _id: { $eq: id } }, { $set: { at } }, { upsert: true });
    return id;
  }

  /** Removes the chunks of a file that is not there. */
  async #end(id: ObjectId): Promise<void> {
    const file = await this.#files().findOne({ _id: { $eq: id } }, { projection: { _id: 1 } });
    if (file === null) await this.#of('artwork.chunks').deleteMany({ files_id: { $eq: id } });
    await this.#unfinished().deleteOne({ _id: { $eq: id } });
  }

  #guarded<T>(work: () => Promise<T>): Promise<T> {
    return guarded(ArtworkUnavailable, work);
  }

  #of<Row extends Document>(name: string): Collection<Row> {
    return this.options.database.collection<Row>(name);
  }
  #files = () => this.#of<FileDocument>('artwork.files');
  #unfinished = () => this.#of<UnfinishedDocument>('artwork.unfinished');
}
