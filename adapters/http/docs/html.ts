/** Text that is HTML already. Everything else is escaped on its way into a page. */
export interface Html {
  readonly html: string;
}

type Part = string | number | null | Html | readonly Part[];

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escape = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => escapes[character] ?? character);

const isList = (part: Part): part is readonly Part[] => Array.isArray(part);

const render = (part: Part): string => {
  if (part === null) return '';
  if (isList(part)) return part.map(render).join('');
  return typeof part === 'object' ? part.html : escape(`${part}`);
};

/** A piece of a page. Values are escaped; null is nothing; lists are joined. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html => ({
  html: strings.map((text, at) => text + render(parts[at] ?? null)).join(''),
});

/** A sentence in which `backticks` mark code. */
export const inline = (text: string): Html => ({
  html: escape(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>'),
});

/** Paragraphs divided by blank lines. */
export const prose = (text: string): Html => ({
  html: text
    .split('\n\n')
    .map((paragraph) => `<p>${inline(paragraph).html}</p>`)
    .join('\n'),
});
