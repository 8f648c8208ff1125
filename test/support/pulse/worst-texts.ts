/** Of a text: repeated until it is as long as wanted, with something before and after it. */
interface Kind {
  readonly unit: string;
  readonly before?: string;
  readonly after?: string;
}

/** Texts on which programs take long: they backtrack, normalise, fold, split, or look for a name. */
const kinds: Readonly<Record<string, Kind>> = {
  letters: { unit: 'a' },
  'marks out of order': { before: 'a', unit: '\u0301\u0316', after: 'x' },
  'marks and then others': { before: `a${'\u0301'.repeat(8_000)}`, unit: '\u0316' },
  'letters of many': { unit: '\ufdfa' },
  'letters that grow in lower case': { unit: '\u0130' },
  'blanks inside': { before: 'x', unit: ' ', after: 'x' },
  'breaks inside': { before: 'x', unit: '\n', after: 'x' },
  'carriage returns': { before: 'x', unit: '\r', after: 'x' },
  'tabs and blanks': { before: 'x', unit: ' \t', after: '\u0000' },
  'invisible ones': { before: 'x', unit: '\u200b', after: 'x' },
  'lone surrogates': { unit: '\ud800' },
  emoji: { unit: '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}' },
  braces: { unit: '{' },
  'open variables': { unit: '{{a' },
  variables: { unit: '{{a.b.c}} ' },
  'words of a variable': { before: '{{', unit: 'a ', after: '}' },
  'angle brackets': { unit: '<' },
  'addresses in brackets': { unit: 'a <', after: '@b.c' },
  'at signs': { before: 'a', unit: '@', after: '.c' },
  domains: { before: 'a@', unit: 'a.', after: '@' },
  'parts of a path': { before: 'https://a.example/', unit: '../', after: '\u0000' },
  'names in a host': { before: 'https://', unit: 'a.', after: '!' },
  digits: { unit: '1', after: 'x' },
  'dates in a row': { unit: '2026-01-01' },
  dashes: { before: 'a', unit: '-', after: '!' },
  quotes: { unit: '"' },
  backslashes: { before: '"', unit: '\\', after: 'x' },
  'commas and blanks': { unit: ', ', after: 'x' },
  semicolons: { unit: ';', after: '\u0000' },
  'percent signs': { unit: '%', after: '2' },
  'a password in disguise': { unit: 'p@$$w0rd' },
  formulas: { unit: '=+-@' },
  markup: { unit: '<a href="&' },
  'words of a language': { unit: 'birthday card ' },
};

export const kindsOfText: readonly string[] = Object.keys(kinds);

/** A text of this kind of at most so many bytes in UTF-8, and characters. */
export const worstText = (kind: string, bytes: number, characters = bytes): string => {
  const { unit, before = '', after = '' } = kinds[kind] ?? { unit: kind };
  const size = Buffer.byteLength(unit);
  const room = Math.min(
    bytes - Buffer.byteLength(before + after),
    (characters - before.length - after.length) * (size / [...unit].length),
  );
  return (before + unit.repeat(Math.max(0, Math.floor(room / size))) + after).slice(
    0,
    Math.max(0, characters),
  );
};
