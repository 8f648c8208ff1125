import { writeFileSync } from 'node:fs';
import Mocha from 'mocha';
import { neededBy } from './engines.js';

/**
 * The result of a run of mocha. `skippedFor` lists the skipped suites under the variables that would turn
 * them on, and under no variable each test that is not for this machine or wiring.
 */
export interface Results {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly skippedFor: Readonly<Record<string, readonly string[]>>;
  readonly failures: readonly Failure[];
}

export interface Failure {
  readonly title: string;
  /** The test file's path; empty if it is not known. */
  readonly file: string;
  readonly error: string;
}

/**
 * Mocha's usual list, and the results as JSON in the file that the reporter option `output` names. The option
 * `where` is appended to the names of suites.
 */
export default function reporter(runner: Mocha.Runner, options: Mocha.MochaOptions): void {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const skippedFor: Record<string, Set<string>> = {};
  const failures: Failure[] = [];
  const where = String(options.reporterOptions?.where ?? '');
  // Suites of other processes arrive without their parents: the outermost are those right below a root.
  let depth = 0;
  runner.on('suite', (suite) => {
    if (depth === 1 && where !== '') suite.title = `${suite.title}, ${where}`;
    depth += 1;
  });
  runner.on('suite end', () => (depth -= 1));
  new Mocha.reporters.Spec(runner, options);
  runner.on('pass', () => (counts.passed += 1));
  runner.on('fail', (test: Mocha.Test, error: Error) => {
    counts.failed += 1;
    failures.push({ title: test.fullTitle(), file: test.file ?? '', error: error.stack ?? error.message });
  });
  runner.on('pending', (test) => {
    counts.skipped += 1;
    const title = test.fullTitle();
    const variables = neededBy(title).join(', ');
    const what = variables === '' ? title : title.slice(0, title.indexOf(' [needs '));
    (skippedFor[variables] ??= new Set()).add(what);
  });
  runner.on('end', () => {
    const results: Results = {
      ...counts,
      skippedFor: Object.fromEntries(Object.entries(skippedFor).map(([key, suites]) => [key, [...suites]])),
      failures,
    };
    writeFileSync(String(options.reporterOptions?.output), JSON.stringify(results));
  });
}
