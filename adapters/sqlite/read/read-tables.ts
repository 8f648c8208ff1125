import type { Projection } from '../../../projections/projection.js';

/** The table of all builds. `shape`: the columns of the build's own table. */
export const buildsTable = `
  create table if not exists builds (
    name text not null,
    version integer not null,
    generation integer not null,
    checkpoint integer not null,
    state text not null check (state in ('building', 'active', 'retired')),
    shape text not null,
    event text,
    primary key (name, version, generation)
  ) strict, without rowid;
`;

export const tableOf = (
  { name }: Pick<Projection<unknown>, 'name'>,
  version: number,
  generation: number,
): string => `"${plain(name)}_v${version}_g${generation}"`;

const indexOf = (table: string, ...parts: readonly string[]): string =>
  `"${table.slice(1, -1)}_${parts.join('_')}"`;

/** The fields that lists of a projection can be filtered by, in the order of their columns. */
export const fieldsOf = ({ indexes }: Projection<unknown>): readonly string[] =>
  Object.keys(indexes).map(plain).sort();

/**
 * A text as a parameter or in a column. The library ends a text at its first null character, so a text with
 * one is written as JSON. (docs/engines.md#sqlite)
 */
export const bindable = <T extends string | null>(text: T): T | string =>
  text?.includes('\0') === true ? JSON.stringify(text) : text;

export const columnOf = (field: string): string => `"by_${plain(field)}"`;

/** The columns of a projection's table, as text: builds of equal shape have equal columns. */
export const shapeOf = (projection: Projection<unknown>): string =>
  JSON.stringify([
    ...fieldsOf(projection),
    projection.agenda === undefined ? '' : 'agenda',
    ...(projection.across ?? []).map(acrossIndex),
  ]);

const acrossIndex = (fields: readonly string[]): string => ['all', ...fields.map(plain).sort()].join('_');

const subsets = (fields: readonly string[]): readonly (readonly string[])[] =>
  fields.reduce<readonly (readonly string[])[]>(
    (found, field) => [...found, ...found.map((subset) => [...subset, field])],
    [[]],
  );

/**
 * Makes a build's table. `created` is the row id, and so the last part of every index. Each combination of
 * filters has an index that yields a page in its order, however many rows there are. Two filters need four
 * indexes: think twice before you add a third.
 */
export const createTable = (projection: Projection<unknown>, table: string): string => {
  const fields = fieldsOf(projection);
  const columns = fields.map((field) => `${columnOf(field)} text,`).join(' ');
  const indexes = subsets(fields).map((subset) => {
    const present = subset.map((field) => `${columnOf(field)} is not null`).join(' and ');
    return `create index ${indexOf(table, 'org', ...subset)} on ${table} (${['org', ...subset.map(columnOf)].join(', ')}) ${present && `where ${present}`};`;
  });
  const across = (projection.across ?? []).map((fields) => {
    const columns = fields.toSorted().map(columnOf);
    return `create index "${table.slice(1, -1)}_${acrossIndex(fields)}" on ${table} (${columns.join(', ')}) where ${columns.map((column) => `${column} is not null`).join(' and ')};`;
  });
  const agenda =
    projection.agenda === undefined
      ? ''
      : `create index ${indexOf(table, 'agenda')} on ${table} (agenda) where agenda is not null;`;
  return `
    create table ${table} (
      created integer primary key,
      key text not null unique,
      position integer not null,
      org text,
      ${columns}
      agenda text,
      document text not null
    ) strict;
    ${indexes.join('\n')}
    ${across.join('\n')}
    ${agenda}`;
};

/** The rows of a page of an organization's documents. `fields` in the order of their columns. */
export const ofOwner = (table: string, fields: readonly string[]): string =>
  `${table} where org is ? ${fields.map((field) => `and ${columnOf(field)} = ?`).join(' ')} and created < ? order by created desc limit ?`;

/**
 * The same, of all organizations together. Fails if the table was made without the index: without it, the
 * query would look at every row.
 */
export const ofAll = (table: string, fields: readonly string[]): string =>
  `${table} indexed by "${table.slice(1, -1)}_${acrossIndex(fields)}"
   where ${fields.map((field) => `${columnOf(field)} = ?`).join(' and ')} and created < ? order by created desc limit ?`;

export const pageQuery = (rows: string): string => `select key, created, position, document from ${rows}`;

/** Which documents are in a page, and as of which positions. */
export const marksQuery = (rows: string): string => `select created, position from ${rows}`;
export type MarkRow = readonly [created: number, position: number];

/** The number of documents in a page, and the creation of the last one. */
export const countQuery = (rows: string): string =>
  `select count(*), min(created) from (select created from ${rows})`;

/** Fails if the table was made without an agenda: without the index, it would find nothing. */
export const agendaQuery = (table: string): string =>
  pageQuery(
    `${table} indexed by ${indexOf(table, 'agenda')} where agenda <= ? and (agenda, created) > (?, ?) order by agenda, created limit ?`,
  );

export const lookupQuery = (table: string): string => pageQuery(`${table} where key = ?`);

export type DocumentRow = readonly [key: string, created: number, position: number, document: string];

/** Names become part of table names, so they must mean nothing else to SQL. */
const plainName = /^[a-z][a-z0-9_-]*$/;

const plain = (name: string): string => {
  if (!plainName.test(name)) throw new Error(`${name} can't be part of a table's name`);
  return name;
};
