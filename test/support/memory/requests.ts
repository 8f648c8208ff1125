import type { RequestRecord, RequestRows } from '../../../application/ports/requests.js';

/** The request log in memory. */
export const memoryRequests = (): RequestRows => {
  const rows = new Map<string, RequestRecord>();
  return {
    save: async (records) => {
      for (const record of records) if (!rows.has(record.id)) rows.set(record.id, record);
    },
    find: async (id) => rows.get(id) ?? null,
    about: async (subject, wanted, after, limit) =>
      [...rows.values()]
        .filter(({ subjects, org }) => subjects.includes(subject) && (wanted === null || org === wanted))
        .toSorted((a, b) => (b.at + b.id < a.at + a.id ? -1 : 1))
        .filter(({ at, id }) => after === null || at + id < after.at + after.id)
        .slice(0, limit),
    removeOld: async (before) => {
      for (const { id, at } of rows.values()) if (Date.parse(at) < before) rows.delete(id);
    },
  };
};
