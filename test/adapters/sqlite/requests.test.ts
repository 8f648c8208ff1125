import { expect } from 'chai';
import { join } from 'node:path';
import { replaceRows } from '../../../adapters/sqlite/records/table-rows.js';
import { requestsContract } from '../../contract/requests.js';
import { openNew } from './setup.js';
import { sqliteRequests } from '../../../adapters/sqlite/records/records.js';

requestsContract('SQLite', async () => {
  const file = await openNew();
  return { rows: sqliteRequests(file), close: () => file.close() };
});

describe('requests in SQLite', () => {
  it('are found by their subject and organization after they have replaced others', async () => {
    const file = await openNew();
    const at = '2026-03-01T12:00:00.000Z';
    const record = { id: 'req_1', at, org: 'acme', subjects: ['HC-1'] };
    const rows = async function* () {
      yield { id: record.id, at, record };
    };
    await replaceRows(join(file.directory, 'events.db'), [['requests', rows()]]);
    const requests = sqliteRequests(file);
    const found = ['acme', null, 'other'].map((org) => requests.about('HC-1', org, null, 10));
    expect(await Promise.all(found)).to.deep.equal([[record], [record], []]);
    await file.close();
  });
});
