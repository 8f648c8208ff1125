import {
  errorsPlace,
  eventsPlace,
  guideNames,
  guidePlace,
  homePlace,
  operatorPlace,
} from '../../../adapters/http/docs/places.js';

/** The pages with samples besides the reference and the page about clients, which have tests of their own. */
export const pagesWithSamples: readonly string[] = [
  homePlace,
  ...guideNames.filter((name) => name !== 'clients').map(guidePlace),
  errorsPlace,
  eventsPlace,
  operatorPlace,
].map(({ path }) => path);

/** A sample of code as it stands on a page of the documentation. */
export interface PageSample {
  readonly language: string;
  /** Which of the reader's terminals it is typed into; null if the page doesn't say. */
  readonly terminal: number | null;
  readonly text: string;
}

const entities: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' };

/** What a reader sees of a piece of HTML. */
export const shownText = (html: string): string =>
  html.replaceAll(/<[^>]*>/g, '').replaceAll(/&\w+;/g, (entity) => entities[entity] ?? entity);

/** The samples of a page, from top to bottom. */
export const samplesOn = (html: string): readonly PageSample[] =>
  [...html.matchAll(/<pre([^>]*)><code>([^]*?)<\/code><\/pre>/g)].map(([, attributes = '', code = '']) => {
    const [, terminal] = /data-terminal="(\d+)"/.exec(attributes) ?? [];
    return {
      language: /data-language="(\w+)"/.exec(attributes)?.[1] ?? '',
      terminal: terminal === undefined ? null : Number(terminal),
      text: shownText(code),
    };
  });

/** Where a shell that runs samples finds its programs; it has no other setting of this machine. */
export const programsOnPath: Readonly<Record<string, string>> = { PATH: process.env['PATH'] ?? '' };
