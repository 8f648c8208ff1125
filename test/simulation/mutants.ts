import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../support/runner/run-mocha.js';
import type { Mutation } from './mutations.js';

/** The file without the rule. Throws if the text does not stand there exactly once. */
export const mutated = ({ file, text, instead }: Mutation, folder = join(root, 'dist')): string => {
  const whole = readFileSync(join(folder, file), 'utf8');
  const [before = '', after, ...more] = whole.split(text);
  if (after === undefined || more.length > 0)
    throw new Error(`${file} has this ${after === undefined ? 'nowhere' : 'more than once'}: ${text}`);
  return `${before}${instead}${after}`;
};

/** Copies what is built, without a rule; returns the folder of the copy. */
export const buildMutant = (name: string, mutation: Mutation): string => {
  const folder = join(root, 'dist', 'mutants', name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const isCode = (path: string): boolean => !/\.(map|tsbuildinfo.*|lock)$/.test(path);
  for (const part of ['domain', 'application', 'projections', 'adapters', 'bin', 'test'])
    cpSync(join(root, 'dist', part), join(folder, part), { recursive: true, filter: isCode });
  // The version of the service stands there.
  cpSync(join(root, 'package.json'), join(folder, '..', 'package.json'));
  writeFileSync(join(folder, mutation.file), mutated(mutation));
  return folder;
};

export const removeMutant = (folder: string): void => rmSync(folder, { recursive: true, force: true });
