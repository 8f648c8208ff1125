import { readFileSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, type ParseResult } from 'oxc-parser';

export const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** A file of the repository as text. Paths are relative to the top and have slashes. */
export const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const ignored = read('.gitignore')
  .split('\n')
  .filter((line) => line !== '');
const isIgnored = (name: string): boolean =>
  name === '.git' ||
  ignored.includes(`${name}/`) ||
  ignored.some((line) => line.startsWith('*') && name.endsWith(line.slice(1)));

const filesBelow = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => !isIgnored(entry.name))
    .flatMap((entry) => {
      const path = posix.join(folder, entry.name);
      return entry.isDirectory() ? filesBelow(path) : [path];
    });

/**
 * Every file of the repository, without what `.gitignore` names. Works in a copy of the files without Git.
 */
export const files: readonly string[] = filesBelow('.');

type Node = Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

const walk = (value: unknown, visit: (node: Node) => void): void => {
  if (Array.isArray(value)) for (const item of value) walk(item, visit);
  else if (isNode(value)) {
    if (typeof value['type'] === 'string') visit(value);
    for (const child of Object.values(value)) walk(child, visit);
  }
};

export interface Source {
  /** In their order, as places in the text. */
  readonly comments: ParseResult['comments'];
  /** Hands every node of the syntax tree to `visit`, outer ones first. */
  walk(visit: (node: Node) => void): void;
}

/** Parses a source. Throws if it can't be parsed. */
export const parseSource = (path: string, text: string): Source => {
  const parsed = parseSync(path, text);
  const [error] = parsed.errors;
  if (error !== undefined) throw new Error(`${path}: ${error.message}`);
  return { comments: parsed.comments, walk: (visit) => walk(parsed.program, visit) };
};

/** A property of a syntax tree's node; undefined if there is none. */
export const property = (value: unknown, name: string): unknown => (isNode(value) ? value[name] : undefined);
