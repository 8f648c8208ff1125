import type { Html } from '../web/prose.js';
import type { Group } from './groups.js';
import {
  errorsPlace,
  eventsPlace,
  guideNames,
  guidePlace,
  homePlace,
  operatorPlace,
  recordedPlace,
  type Place,
} from './places.js';

/** The service that serves the pages. */
export interface Context {
  /** The address that clients see. */
  readonly baseUrl: string;
  /** The address of customers' pages, if this listener serves operators alone; else null. */
  readonly customersAt: string | null;
  /** Whether there are pages of the console to lead to. */
  readonly hasConsole: boolean;
  readonly customers: readonly Group[];
  readonly operators: readonly Group[];
}

/** The section of pages for all readers: customers', where these are served. */
export const audienceOfShared = ({ customersAt }: Context): 'customers' | 'operators' =>
  customersAt === null ? 'customers' : 'operators';

/** The pages in the order in which they are read. */
export const orderOf = (
  { customers, operators, customersAt }: Context,
  kind: DocsPage['for'],
): readonly Place[] =>
  kind === 'customers'
    ? [homePlace, ...guideNames.map(guidePlace), ...customers, errorsPlace, eventsPlace]
    : [operatorPlace, ...operators, recordedPlace, ...(customersAt === null ? [] : [errorsPlace])];

/** A part of a page with a heading, to which links lead. */
export interface Part {
  readonly id: string;
  readonly title: string;
  readonly body: Html;
  /** Its text in the search index; by default, the first words of its text. */
  readonly words?: string;
}

/** A page of the documentation, before the frame is put around it. */
export interface DocsPage extends Place {
  /** The audience, which decides about the navigation beside it. */
  readonly for: 'customers' | 'operators';
  /** True if the title is a word of the API. */
  readonly isCode?: boolean;
  /** Precedes the first part. */
  readonly lead?: Html;
  readonly parts: readonly Part[];
  /** `reference`: text and samples side by side, without a list of the parts at the right. */
  readonly shape: 'guide' | 'reference' | 'home' | 'plain';
}

/** A heading that is a link to itself. */
const Heading = ({ id, title }: { readonly id: string; readonly title: string }) => (
  <h2>
    <a class="anchor" href={`#${id}`}>
      {title}
    </a>
  </h2>
);

export const Section = ({ id, title, body }: Part) => (
  <section id={id}>
    <Heading id={id} title={title} />
    {body}
  </section>
);
