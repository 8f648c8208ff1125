import type { Html } from '../web/prose.js';
import type { Groups } from './groups.js';
import type { Place } from './places.js';

/** The service that serves the pages. */
export interface Context extends Groups {
  /** The address that clients see. */
  readonly baseUrl: string;
  /** The address of customers' pages, if this listener serves operators alone; else null. */
  readonly customersAt: string | null;
  /** The audience of pages for all readers: customers, where these have pages. */
  readonly shared: keyof Groups;
  /** Whether there are pages of the console to lead to. */
  readonly hasConsole: boolean;
}

/** A part of a page with a heading, to which links lead. */
export interface Part {
  readonly id: string;
  readonly title: string;
  readonly body: Html;
  /** Its text in the search index; by default, the first words of its text. */
  readonly words?: string;
}

/** The parts of a guide by their ids, on a service at a certain address: each a title and its text. */
export type Guide = (
  context: Context,
) => Readonly<Record<string, readonly [title: string, ...blocks: Html[]]>>;

/** A page of the documentation, before the frame is put around it. */
export interface DocsPage extends Place {
  /** The audience, which decides about the navigation beside it. */
  readonly for: keyof Groups;
  /** True if the title is a word of the API. */
  readonly isCode?: boolean;
  /** Precedes the first part. */
  readonly lead?: Html;
  readonly parts: readonly Part[];
  /** `reference`: text and samples side by side, without a list of the parts at the right. */
  readonly shape: 'guide' | 'reference' | 'home' | 'plain';
}
