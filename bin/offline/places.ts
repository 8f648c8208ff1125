import { join } from 'node:path';
import { fileArtwork } from '../../adapters/artwork/files.js';
import type { Database } from '../../adapters/sqlite/database.js';
import { keysPath, openPersonalKeys } from '../../adapters/sqlite/keys/personal-keys.js';
import { replaceRows, tableRows } from '../../adapters/sqlite/records/table-rows.js';
import { SystemClock } from '../../adapters/system/clock.js';
import type { RehearsalMark } from '../../application/writing/rehearsal.js';
import { markDirectory } from '../settings/rehearsal-mark.js';
import type { Settings } from '../settings/settings.js';
import type { Engine } from '../wiring/engine.js';
import { documentsOf, kinds, rowsOf, type Fields, type Kind } from './moved-records.js';
import { openLog, type OpenedLog, type OpenedServers } from './offline-log.js';

const clock = new SystemClock();

interface Records extends Pick<Engine, 'artwork' | 'personalKeyStore'> {
  readonly setMark: (mark: RehearsalMark | null) => Promise<void>;
  readonly hasRecords: () => Promise<boolean>;
  /** Removes records that an earlier copy has left; everything else is gone on with. */
  readonly clear: () => Promise<void>;
  readonly read: (name: string) => AsyncIterable<Fields>;
  readonly write: (records: readonly (readonly [Kind, AsyncIterable<Fields>])[]) => Promise<void>;
}

/** Where a service has its data: in files, or on servers. Records have the form that they have there. */
export type Place = OpenedLog & Records;

/** `makes`: it is to be copied to. Throws the errors of `openLog`. */
export const openPlace = async (settings: Settings, makes: boolean): Promise<Place> => {
  const log = await openLog(settings, { makes });
  const { records } = log;
  try {
    return 'files' in records ? inFiles(settings, log, records.files) : await onServers(log, records);
  } catch (error) {
    await log.close();
    throw error;
  }
};

const inFiles = ({ dataDir, webhooks }: Settings, log: OpenedLog, database: Database): Place => {
  const keys = openPersonalKeys(keysPath(dataDir));
  return {
    ...log,
    personalKeyStore: keys,
    artwork: fileArtwork(join(dataDir, 'artwork'), clock),
    setMark: async (mark) => markDirectory(dataDir, mark),
    hasRecords: async () => false,
    clear: async () => undefined,
    async *read(name) {
      const kind = kinds.find((each) => each.name === name) ?? { name, id: 'id' };
      yield* documentsOf(kind, tableRows(database, name), webhooks.keep);
    },
    write: (records) =>
      replaceRows(
        join(dataDir, 'events.db'),
        records.map(([kind, documents]) => [kind.name, rowsOf(kind, documents, webhooks.keep)]),
      ),
    close: async () => {
      keys.close();
      await log.close();
    },
  };
};

/** The numbers of rows that go on from the largest. */
const numbered = { deliveries: 'seq', hook_calls: 'number' };

const onServers = async (log: OpenedLog, { log: store, database }: OpenedServers): Promise<Place> => {
  const [{ insertMissing }, marks, { mongoPersonalKeys }, { mongoArtwork }] = await Promise.all([
    import('../../adapters/mongodb/client/backup.js'),
    import('../../adapters/mongodb/records/rehearsal.js'),
    import('../../adapters/mongodb/records/personal-keys.js'),
    import('../../adapters/mongodb/records/artwork.js'),
  ]);
  return {
    ...log,
    personalKeyStore: mongoPersonalKeys(database),
    artwork: mongoArtwork(database, clock),
    setMark: (mark) => marks.setMark(database, mark),
    hasRecords: async () => (await database.collectionNames('')).length > 0,
    clear: async () => {
      const ours = new Set(['sequences', ...kinds.map(({ name }) => name)]);
      for (const name of await database.collectionNames('')) if (ours.has(name)) await database.drop(name);
      await store.assertFormat(true);
    },
    read: (name) => database.collection(name).find({}),
    write: async (records) => {
      await Promise.all(records.map(([{ name }, documents]) => insertMissing(database, name, documents)));
      for (const [_id, field] of Object.entries(numbered)) {
        const newest = await database.collection(_id).findOne({}, { sort: { [field]: -1 } });
        await insertMissing(database, 'sequences', [{ _id, last: Number(newest?.[field] ?? 0) }]);
      }
    },
  };
};
