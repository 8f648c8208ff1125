import { existsSync, readdirSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { parseArgs, type ParseArgsConfig } from 'node:util';

/** What `npm test` is asked for. */
export interface Asked {
  /** Compiled test files, relative to the root of the repository. */
  readonly files: readonly string[];
  /** Whether nothing was named: then every test runs, with everything that belongs to a whole run. */
  readonly isWhole: boolean;
  /** Whether to print what each file took. */
  readonly times: boolean;
  /** Whether everything is repeated, as on continuous integration. */
  readonly thorough: boolean;
  /** Options for mocha. */
  readonly options: readonly string[];
}

/** Its message says what is wrong and what can be given. */
export class WrongArguments extends Error {
  override readonly name = 'WrongArguments';
}

const usage = `Usage: npm test [-- [--times] [--thorough] [test file or folder ...] [options of mocha, such as --grep TEXT]]`;

const text = { type: 'string', multiple: true } as const;
const flag = { type: 'boolean' } as const;

/** The options of mocha that change nothing that this program itself decides. */
const mochaOptions = {
  'allow-uncaught': flag,
  'async-only': { ...flag, short: 'A' },
  bail: { ...flag, short: 'b' },
  color: { ...flag, short: 'c' },
  'dry-run': flag,
  fgrep: { ...text, short: 'f' },
  'forbid-pending': flag,
  'full-trace': flag,
  grep: { ...text, short: 'g' },
  'inline-diffs': flag,
  invert: { ...flag, short: 'i' },
  jobs: { ...text, short: 'j' },
  'no-colors': { ...flag, short: 'C' },
  'node-option': { ...text, short: 'n' },
  parallel: { ...flag, short: 'p' },
  require: { ...text, short: 'r' },
  retries: text,
  slow: { ...text, short: 's' },
  timeout: { ...text, short: 't' },
} as const satisfies ParseArgsConfig['options'];

/** Options of this program itself: print what each file took; repeat everything. */
const ownOptions = { times: flag, thorough: flag } as const;

/** Folders with slow tests come first, so that the others run meanwhile. */
const longFirst = ['faults', 'crash', 'power', 'bin', 'simulation', 'http/console', 'adapters'].map(
  (folder) => join('dist/test', folder) + sep,
);

const compiledTests = (root: string): readonly string[] => {
  const rank = (file: string): number =>
    longFirst.findIndex((folder) => file.startsWith(folder)) + 1 || longFirst.length + 1;
  return readdirSync(join(root, 'dist/test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.js'))
    .map((file) => join('dist/test', file))
    .toSorted((a, b) => rank(a) - rank(b) || a.localeCompare(b));
};

/** The name of the output of a source file or folder; of output, its own. */
const compiledName = (path: string): string =>
  (path.startsWith(`dist${sep}`) || path === 'dist' ? path : join('dist', path)).replace(/\.ts$/, '.js');

/**
 * The tests that an argument names: one file, or all below a folder. Throws WrongArguments if there is none.
 */
const namedBy = (argument: string, root: string, from: string, all: readonly string[]): readonly string[] => {
  const path = relative(root, resolve(from, argument));
  const name = compiledName(path);
  const found = all.filter((file) => file === name || name === 'dist' || file.startsWith(name + sep));
  if (found.length > 0) return found;
  const better = compiledName(join('test', path));
  const hint =
    better.startsWith(`dist${sep}test${sep}`) && all.some((file) => file.startsWith(better + sep))
      ? ` Did you mean test/${path}?`
      : '';
  const why = existsSync(resolve(from, argument))
    ? `There are no tests in ${argument}: tests are files named *.test.ts in the folder test.`
    : `There is no ${argument}.`;
  throw new WrongArguments(`${why}${hint}\n${usage}`);
};

const optionsAndNames = (args: readonly string[]) => {
  try {
    return parseArgs({
      args: [...args],
      options: { ...mochaOptions, ...ownOptions },
      allowPositionals: true,
      tokens: true,
    });
  } catch (error) {
    const known = [...Object.keys(ownOptions), ...Object.keys(mochaOptions)].map((name) => `--${name}`);
    const what = error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error);
    throw new WrongArguments(`${what}.\n${usage}\nOptions: ${known.join(' ')}`);
  }
};

/** Reads the arguments, names relative to `from`. Throws WrongArguments. */
export const readArguments = (args: readonly string[], root: string, from = root): Asked => {
  const { tokens, positionals, values } = optionsAndNames(args);
  const all = compiledTests(root);
  const named = positionals.map((argument) => namedBy(argument, root, from, all));
  const wanted = new Set(named.flat());
  const options = tokens.flatMap((token) =>
    token.kind === 'option' && !Object.hasOwn(ownOptions, token.name)
      ? [token.value === undefined ? `--${token.name}` : `--${token.name}=${token.value}`]
      : [],
  );
  return {
    files: positionals.length === 0 ? all : all.filter((file) => wanted.has(file)),
    isWhole: positionals.length === 0 && options.length === 0,
    times: values.times === true,
    thorough: values.thorough === true,
    options,
  };
};
