import type { ComponentChildren } from 'preact';
import { readFileSync } from 'node:fs';

/** A part of a page: elements, text, lists of both, nothing. */
export type Html = ComponentChildren;

/** A sentence in which `backticks` mark code. */
export const inline = (text: string): Html =>
  text.split('`').map((part, at) => (at % 2 === 1 ? <code>{part}</code> : part));

/** A sample of code or JSON, which the keyboard can scroll. */
export const block = (text: string): Html => (
  <pre tabindex={0}>
    <code>{text}</code>
  </pre>
);

/** The repository: `dist` is in it in a checkout as in the image. */
const root = new URL('../../../../', import.meta.url);

const texts = new Map<string, string>();

/** A file of the repository that pages show, read when it is first shown. */
export const fileOf = (path: string): string => {
  const text = texts.get(path) ?? readFileSync(new URL(path, root), 'utf8');
  texts.set(path, text);
  return text;
};
