import type { RequestRecord, RequestRows } from '../../../application/ports/requests.js';

/** The request log in memory. */
export const memoryRequests = (): RequestRows => {
  const rows = new Map<string, RequestRecord>();
  return {
    save: async (records) => {
      for (const record of records) if (!rows.has(record.id)) rows.set(record.id, record);
    },
    find: async (id) => rows.get(id) ?? null,
    removeOld: async (before) => {
      for (const { id, at } of rows.values()) if (Date.parse(at) < before) rows.delete(id);
    },
  };
};
