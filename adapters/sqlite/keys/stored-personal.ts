import type { StoredPersonalTexts } from '../../../application/ports/stored-personal.js';
import { erasures } from '../../../domain/erasures.js';
import type { StreamName } from '../../../domain/ids.js';
import { numberFrom, openForWriting } from '../database.js';

type Row = readonly [
  position: number, stream: string, revision: number, id: string, personal: string, metadata: string,
]; // prettier-ignore

/** The texts in events.db. The caller must have the data directory for itself. */
export const openStoredPersonal = (path: string): StoredPersonalTexts & { readonly close: () => void } => {
  const database = openForWriting(path);
  database.exec('pragma secure_delete = on; pragma synchronous = full');
  const clear = database.prepare(`
    select position, stream, revision, id, personal, metadata from events
    where position > ? and personal is not null and personal not like '{"v":2,"key":"%'
    order by position limit ?`);
  clear.setReturnArrays(true);
  const erased = database.prepare(
    `select max(revision) from events where stream = ? and type in (${[...erasures].map((type) => `'${type}'`).join(', ')})`,
  );
  const update = database.prepare('update events set personal = ? where position = ?');
  return {
    inTheClear: (after, limit) => {
      const rows: readonly Row[] = clear.all(after, limit);
      return rows.map(([position, stream, revision, id, personal, metadata]) => ({
        position,
        stream: stream as StreamName,
        revision,
        id,
        personal,
        metadata,
      }));
    },
    erasedAt: (stream) => numberFrom(erased, stream) ?? -1,
    replace: (texts) => {
      database.exec('begin immediate');
      try {
        for (const [position, personal] of texts) update.run(personal, position);
        database.exec('commit');
      } catch (error) {
        if (database.isTransaction) database.exec('rollback');
        throw error;
      }
    },
    close: () => {
      database.exec('pragma wal_checkpoint(truncate)');
      database.close();
    },
  };
};
