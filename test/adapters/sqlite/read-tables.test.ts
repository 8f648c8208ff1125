import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import {
  agendaQuery,
  countQuery,
  createTable,
  fieldsOf,
  lookupQuery,
  ofAll,
  ofOwner,
  pageQuery,
  tableOf,
} from '../../../adapters/sqlite/read/read-tables.js';
import { allProjections } from '../../../projections/all.js';
import type { Projection } from '../../../projections/projection.js';
import { notes } from '../../support/fixtures/notes.js';

const subsets = (fields: readonly string[]): readonly (readonly string[])[] => {
  const [first, ...rest] = fields;
  return first === undefined ? [[]] : subsets(rest).flatMap((subset) => [subset, [first, ...subset]]);
};

/** SQLite's plan for a query, one line per step. */
const planOf = (projection: Projection<unknown>, query: (table: string) => string): readonly string[] => {
  const database = new DatabaseSync(':memory:');
  try {
    const table = tableOf(projection, projection.version, 1);
    database.exec(createTable(projection, table));
    const steps: readonly { readonly detail: string }[] = database
      .prepare(`explain query plan ${query(table)}`)
      .all();
    return steps.map(({ detail }) => detail);
  } finally {
    database.close();
  }
};

describe('the tables of the read models', () => {
  for (const projection of [notes, ...allProjections]) {
    for (const fields of subsets(fieldsOf(projection))) {
      it(`yields a page of ${projection.name} by ${fields.join(' and ') || 'organization alone'} from one index, in its order`, () => {
        const table = tableOf(projection, projection.version, 1).slice(1, -1);
        const columns = ['org', ...fields.map((field) => `by_${field}`)]
          .map((column) => `${column}=?`)
          .join(' AND ');
        expect(planOf(projection, (name) => pageQuery(ofOwner(name, fields)))).to.deep.equal([
          `SEARCH ${table} USING INDEX ${table}_${['org', ...fields].join('_')} (${columns} AND rowid<?)`,
        ]);
      });
    }

    for (const fields of projection.across ?? [])
      it(`yields a page of ${projection.name} of all organizations by ${fields.join(' and ')} from one index, in its order`, () => {
        const table = tableOf(projection, projection.version, 1).slice(1, -1);
        const sorted = fields.toSorted();
        const columns = sorted.map((field) => `by_${field}=?`).join(' AND ');
        expect(planOf(projection, (name) => pageQuery(ofAll(name, sorted)))).to.deep.equal([
          `SEARCH ${table} USING INDEX ${table}_all_${sorted.join('_')} (${columns} AND rowid<?)`,
        ]);
      });

    for (const fields of subsets(fieldsOf(projection)))
      it(`counts ${projection.name} by ${fields.join(' and ') || 'organization alone'} in one index, without a look at the rows`, () => {
        const table = tableOf(projection, projection.version, 1).slice(1, -1);
        expect(planOf(projection, (name) => countQuery(ofOwner(name, fields))).join()).to.match(
          new RegExp(`SEARCH ${table} USING COVERING INDEX ${table}_${['org', ...fields].join('_')} `),
        );
      });

    it(`looks up a document of ${projection.name} by the index of keys`, () => {
      const table = tableOf(projection, projection.version, 1).slice(1, -1);
      expect(planOf(projection, lookupQuery)).to.deep.equal([
        `SEARCH ${table} USING INDEX sqlite_autoindex_${table}_1 (key=?)`,
      ]);
    });
  }

  it('yields an agenda from its index, in its order', () => {
    expect(planOf(notes, agendaQuery)).to.deep.equal([
      'SEARCH notes_v1_g1 USING INDEX notes_v1_g1_agenda ((agenda,rowid)>(?,?) AND agenda<?)',
    ]);
  });

  it('refuses names that could mean something to SQL', () => {
    expect(() => tableOf({ ...notes, name: 'notes"; drop table builds; --' }, 1, 1)).to.throw(
      "can't be part of a table's name",
    );
    expect(() => createTable({ ...notes, indexes: { 'a b': () => null } }, 't')).to.throw(
      "can't be part of a table's name",
    );
  });
});
