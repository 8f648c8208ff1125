import { readFileSync } from 'node:fs';

/** The version of the service, from its package.json. */
export const { version } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
) as { readonly version: string };
