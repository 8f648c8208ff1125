import { readFileSync } from 'node:fs';

/** The version of the service, as its package.json says it. */
export const { version } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
) as { readonly version: string };
