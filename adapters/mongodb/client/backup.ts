import { closeSync, fsyncSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BSON, type Document } from 'mongodb';
import type { MongoDatabase } from './database.js';
import { unfinished } from '../records/artwork.js';
import { mongoPersonalKeys } from '../records/personal-keys.js';
import { batchSize } from './documents.js';
import { duplicatesIn } from './refusals.js';

const signIns = 'sign_in_records';

/**
 * Collections that can't be rebuilt. All others are made from the log, are short-lived, or belong to others.
 */
const kept = [
  'checkpoints', 'deliveries', 'delivery_targets', 'erased_cards', 'hook_calls', 'hook_uses', 'idempotency_keys', 'key_uses', 'log_checkpoints', 'log_damage', 'redrives', 'relayed_endpoints', 'requests', 'sequences', signIns,
  // A picture is there after its chunks: they are copied the other way round.
  'artwork.files', 'artwork.chunks',
  // Last, so that they are not older than the data that they open.
  'personal_key_state', 'personal_key_uses', 'personal_keys',
]; // prettier-ignore

/** Events that are written after a copy may need newer ones: `onlyKeys` copies them once more. */
const isForLaterEvents = (name: string): boolean => /^(?:personal_key|artwork\.)/.test(name);
/** Without the extension of its file. */
const markName = 'personal_key_state';
const extension = '.bson';
const exact = { promoteValues: false, useBigInt64: false } as const;

/**
 * Copies every collection of ours that can't be rebuilt into a folder, a file each, as mongodump would.
 * Returns the names of the files.
 */
export const dumpRecords = async (
  database: MongoDatabase,
  folder: string,
  { onlyKeys }: { readonly onlyKeys: boolean },
): Promise<readonly string[]> => {
  const there = new Set(await database.collectionNames(''));
  const names = kept.filter((name) => there.has(name) && (!onlyKeys || isForLaterEvents(name)));
  const files: string[] = [];
  for (const name of names) {
    const path = join(folder, `${name}${extension}`);
    const file = openSync(path, 'wx', 0o600);
    try {
      const which = name === 'artwork.files' ? { filename: { $nin: unfinished } } : {};
      for await (const document of database.collection(name).find(which, exact))
        writeFileSync(file, BSON.serialize(document));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    files.push(`${name}${extension}`);
  }
  return files;
};

/** The documents of a file, each of which begins with its length. Throws if the last one is cut off. */
function* documentsIn(path: string): Generator<Document> {
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(4);
    for (let at = 0; readSync(file, head, 0, head.length, at) > 0;) {
      const bytes = Buffer.alloc(head.readInt32LE());
      if (readSync(file, bytes, 0, bytes.length, at) < bytes.length)
        throw new Error(`${path} is cut off. Restore another backup.`);
      at += bytes.length;
      yield BSON.deserialize(bytes, exact);
    }
  } finally {
    closeSync(file);
  }
}

/** Inserts the documents that are missing. */
export const insertMissing = async (
  database: MongoDatabase,
  collection: string,
  documents: Iterable<Document> | AsyncIterable<Document>,
): Promise<void> => {
  let some: Document[] = [];
  const insert = async (): Promise<void> => {
    if (some.length === 0) return;
    await duplicatesIn(database.collection(collection).insertMany(some, { ordered: false }));
    some = [];
  };
  for await (const document of documents) if (some.push(document) === batchSize) await insert();
  await insert();
};

/** Chunks of other files were being written or removed when they were copied: nothing would remove them. */
async function* chunksOfFiles(database: MongoDatabase, chunks: Iterable<Document>): AsyncGenerator<Document> {
  const files = new Set<string>();
  for await (const { _id } of database.collection('artwork.files').find({}, { projection: { _id: 1 } }))
    files.add(String(_id));
  for (const chunk of chunks) if (files.has(String(chunk['files_id']))) yield chunk;
}

/** The passwords of accounts that are not among `changed`: who was locked out since stays out. */
function* stillValid(records: Iterable<Document>, changed: ReadonlySet<string>): Generator<Document> {
  for (const record of records)
    if (record['kind'] === 'password' && !changed.has(String(record['id']))) yield record;
}

/**
 * The relay goes through what the log has gained since, up to `head`, before anything is sent: endpoints may
 * be gone, and cards erased.
 */
function* rebuilding(checkpoints: Iterable<Document>, head: bigint): Generator<Document> {
  for (const row of checkpoints)
    yield row['_id'] === 'relay' ? { ...row, state: JSON.stringify({ rebuiltTo: String(head) }) } : row;
}

/** Names the accounts whose password was changed after a backup, and the head of the log. */
export interface SinceBackup {
  readonly changed: ReadonlySet<string>;
  readonly head: bigint;
}

/** Moves the shredder's position back to one, unless it is there or earlier. */
const moveMarkBack = async (database: MongoDatabase, position: bigint): Promise<void> => {
  const keys = mongoPersonalKeys(database);
  for (;;) {
    const mark = await keys.mark();
    if (mark === null || mark.position <= position) return;
    if (await keys.saveMark({ position, event: null }, mark, [])) return;
  }
};

/**
 * Restores missing records; replaces nothing. The shredder's position goes back to the copy's, so that later
 * erasures are repeated.
 */
export const loadRecords = async (
  database: MongoDatabase,
  folder: string,
  files: readonly string[],
  { changed, head }: SinceBackup,
): Promise<void> => {
  const markFile = files.find((name) => name === `${markName}${extension}`);
  // Before any key is back, so that the shredder destroys it again, wherever the restore is cut off.
  for (const { position } of markFile === undefined ? [] : documentsIn(join(folder, markFile)))
    await moveMarkBack(database, BigInt(String(position ?? 0)));
  for (const file of files.filter((name) => name.endsWith(extension))) {
    const [name, documents] = [file.slice(0, -extension.length), documentsIn(join(folder, file))];
    const whole =
      name === 'artwork.chunks'
        ? chunksOfFiles(database, documents)
        : name === signIns
          ? stillValid(documents, changed)
          : name === 'checkpoints'
            ? rebuilding(documents, head)
            : documents;
    await insertMissing(database, name, whole);
  }
};
