import type { ComponentChildren } from 'preact';

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
