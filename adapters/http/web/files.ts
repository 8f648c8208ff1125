import { readFileSync } from 'node:fs';

/** The repository: `dist` is in it in a checkout as in the image. */
const root = new URL('../../../../', import.meta.url);

const texts = new Map<string, string>();

/** A file of the repository that pages show, read when it is first shown. */
export const fileOf = (path: string): string => {
  const text = texts.get(path) ?? readFileSync(new URL(path, root), 'utf8');
  texts.set(path, text);
  return text;
};
