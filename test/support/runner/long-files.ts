/**
 * Files whose tests take five seconds of a processor or more, below `test` and without `.test.ts`: they start
 * and kill processes, cut the power, open pages in a browser, simulate, or make clients. These 39 take longer
 * than all others together. (`npm test -- --times` shows what each file takes.)
 */
export const longFiles: readonly string[] = [
  'adapters/sqlite/durability',
  'adapters/sqlite/read-file',
  'adapters/sqlite/verification',
  'bin/cli/backup',
  'bin/cli/contacts',
  'bin/cli/listen',
  'bin/cli/log',
  'bin/cli/personal',
  'bin/cli/webhooks',
  'bin/command-line',
  'bin/lost-keys',
  'bin/manipulated',
  'bin/run',
  'bin/serve',
  'crash/console',
  'crash/disk',
  'crash/kill',
  'crash/upgrade',
  'crash/webhooks',
  'differential/differential',
  'examples/clients',
  'http/console/access',
  'http/console/below-a-path',
  'http/console/every-page',
  'http/console/first-minute',
  'http/console/imports',
  'http/console/in-a-browser',
  'http/console/letters',
  'http/console/tasks',
  'http/docs/every-page',
  'http/docs/in-a-browser',
  'http/docs/quick-start',
  'http/docs/reference',
  'http/document-rules',
  'power/power',
  'simulation/money-model',
  'simulation/random-runs',
  'simulation/whole',
  'support/runner/run-mocha',
];

/** How many of them a usual run of everything draws. */
export const longFilesUsually = 8;
