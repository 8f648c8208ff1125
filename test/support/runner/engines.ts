import { describe } from 'mocha';

/**
 * The settings that name a running engine, or the program of a browser or promtool. A suite that needs one is
 * skipped if its variable is not set; programs are also looked for on the PATH.
 */
export const engineVariables = [
  'EVENTSTORE_URL',
  'MONGODB_URL',
  'RABBITMQ_URL',
  'CHROMIUM',
  'PROMTOOL',
] as const;
export type EngineVariable = (typeof engineVariables)[number];

export const marker = (variables: readonly EngineVariable[]): string => `[needs ${variables.join(', ')}]`;

/**
 * The variables that a skipped test waits for, read from its full title: empty for a test that is skipped for
 * another reason.
 */
export const neededBy = (fullTitle: string): EngineVariable[] => {
  const named = /\[needs ([A-Z_, ]+)\]/.exec(fullTitle)?.[1]?.split(', ') ?? [];
  return engineVariables.filter((variable) => named.includes(variable));
};

/**
 * A suite against running engines. `body` defines its tests and gets the engines' URLs in the order of
 * `variables`; in a skipped suite they are empty and only hooks and tests may use them. The end of `npm test`
 * names what was skipped and the variable that turns it on.
 */
export const describeWithEngines = (
  variables: readonly EngineVariable[],
  title: string,
  body: (...urls: string[]) => void,
): void => {
  const urls = variables.map((variable) => process.env[variable] ?? '');
  if (urls.every((url) => url !== '')) describe(title, () => body(...urls));
  else describe.skip(`${title} ${marker(variables)}`, () => body(...urls));
};
