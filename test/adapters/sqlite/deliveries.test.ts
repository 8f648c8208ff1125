import { sqliteDeliveries } from '../../../adapters/sqlite/records/deliveries.js';
import { rowsPerStep } from '../../../adapters/sqlite/records/delivery-rows.js';
import type { SqliteWriter } from '../../../adapters/sqlite/writer/writer.js';
import { deliveriesContract } from '../../contract/deliveries.js';
import { openNew } from './setup.js';

/** The same writer; `written` is called after every write, before whoever asked for it goes on. */
const hearing = (writer: SqliteWriter, written: () => void): SqliteWriter =>
  new Proxy(writer, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, given);
        return property === 'run' ? Promise.resolve(result).finally(written) : result;
      };
    },
  });

deliveriesContract('SQLite', async () => {
  const file = await openNew();
  const pending: number[] = [];
  const counted = file.database.prepare("select count(*) as count from deliveries where status = 'pending'");
  const writer = hearing(file.writer, () => {
    const row: { readonly count: number | null } | undefined = counted.get();
    pending.push(row?.count ?? 0);
  });
  const open = () => sqliteDeliveries({ writer, database: file.database });
  return {
    deliveries: open(),
    restarted: async () => open(),
    restartedLater: async () => open(),
    steps: { rows: rowsPerStep, pending },
    close: file.close,
  };
});
