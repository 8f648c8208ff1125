import type { Projection } from '../../../projections/projection.js';

/**
 * The file's own table: every build, its checkpoint and what it is good for. `shape` names the columns that
 * the build's table has.
 */
export const buildsTable = `
  create table if not exists builds (
    name text not null,
    version integer not null,
    generation integer not null,
    checkpoint integer not null,
    state text not null check (state in ('building', 'active', 'retired')),
    shape text not null,
    primary key (name, version, generation)
  ) strict, without rowid;
`;

/** Names become part of table names. */
const plainName = /^[a-z][a-z0-9_-]*$/;

const plain = (name: string): string => {
  if (!plainName.test(name)) throw new Error(`${name} can't be part of a table's name`);
  return name;
};

export const tableOf = ({ name }: Projection<unknown>, version: number, generation: number): string =>
  `"${plain(name)}_v${version}_g${generation}"`;

const indexOf = (table: string, ...parts: readonly string[]): string =>
  `"${table.slice(1, -1)}_${parts.join('_')}"`;

/** The fields that a projection's lists filter by, in the order of their columns. */
export const fieldsOf = ({ indexes }: Projection<unknown>): readonly string[] =>
  Object.keys(indexes).map(plain).sort();

/**
 * A text as a parameter or a column: the library ends a text at its first null character, so one that has
 * such is written as JSON.
 */
export const bindable = <T extends string | null>(text: T): T | string =>
  text?.includes('\0') === true ? JSON.stringify(text) : text;

export const columnOf = (field: string): string => `"by_${plain(field)}"`;

/** Two projections of one shape can have the same table. */
export const shapeOf = (projection: Projection<unknown>): string =>
  JSON.stringify([...fieldsOf(projection), projection.agenda === undefined ? '' : 'agenda']);

const subsets = (fields: readonly string[]): readonly (readonly string[])[] =>
  fields.reduce<readonly (readonly string[])[]>(
    (found, field) => [...found, ...found.map((subset) => [...subset, field])],
    [[]],
  );

/**
 * `created` is the row's id and thus the last part of every index: each combination of filters has an index
 * that answers a page in its order, however many rows there are. Two filters need four of them, so mind what
 * you add.
 */
export const createTable = (projection: Projection<unknown>, table: string): string => {
  const fields = fieldsOf(projection);
  const columns = fields.map((field) => `${columnOf(field)} text,`).join(' ');
  const indexes = subsets(fields).map((subset) => {
    const present = subset.map((field) => `${columnOf(field)} is not null`).join(' and ');
    return `create index ${indexOf(table, 'org', ...subset)} on ${table} (${['org', ...subset.map(columnOf)].join(', ')}) ${present && `where ${present}`};`;
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
    ${agenda}`;
};

/** `fields` in the order of their columns. */
export const pageQuery = (table: string, fields: readonly string[]): string =>
  `select key, created, position, document from ${table}
   where org is ? ${fields.map((field) => `and ${columnOf(field)} = ?`).join(' ')} and created < ? order by created desc limit ?`;

export const agendaQuery = (table: string): string =>
  `select key, created, position, document from ${table} where agenda <= ? and (agenda, created) > (?, ?) order by agenda, created limit ?`;

export const lookupQuery = (table: string): string =>
  `select key, created, position, document from ${table} where key = ?`;

export type DocumentRow = readonly [key: string, created: number, position: number, document: string];
