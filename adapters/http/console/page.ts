import type { Initiator } from '../../../application/writing/execute.js';
import type { Front } from '../../../domain/artwork.js';
import type { Command } from '../../../domain/events.js';
import type { LinesResponse } from '../server/route.js';
import type { FileLimit, Upload } from '../server/upload.js';
import { type PageName, type Path, paths, type Texts, type Url } from '../web/paths.js';
import type { Html } from '../web/prose.js';
import type { Visit } from '../web/visit.js';
import type { Admitted, AdmittedOrg, Here, Need } from './admit.js';
import type { ConsoleDeps } from './deps.js';
import type { Heading } from './heading.js';
import type { NoticeName } from './notice.js';
import type { SignedIn, Visitor } from './visitor.js';

/** A request for a page, admitted. */
export interface Context<Who extends Visitor = Visitor> extends Visit {
  readonly deps: ConsoleDeps;
  readonly visitor: Who;
  /** The organization whose menu is shown; null for none. */
  readonly here: Here | null;
  /** The page's place in the table. */
  readonly path: Path;
  /** The parameters of the path, as sent. */
  readonly params: Texts;
  /** The page's own query parameters, trimmed; '' for a missing one. */
  readonly query: (name: string) => string;
  /** The address of this page, with the parameters of the query that it knows. */
  readonly self: Url;
  readonly requestId: string;
  /** When the request came, by the clock by which Idempotency-Keys age. */
  readonly came: number;
  /** Whether this is a copy of the service, for rehearsal. */
  readonly isRehearsal: boolean;
  /** The place of the request in a trace. */
  readonly traceparent: string;
  readonly origin: string;
  /** In words. */
  readonly browser: string;
  readonly cookies: string;
  /** The address that the visitor comes from. */
  readonly address: string;
  /** Aborts when the visitor goes away, and when the service stops. */
  readonly signal: AbortSignal;
}

/** A context of a visitor who is signed in. */
export interface KnownContext extends Context<SignedIn> {
  readonly by: Initiator;
  /** A new command of the visitor, about the organization of the page. */
  readonly command: () => Command;
  /** Notes the organization of a page whose path names none, for the log of requests. */
  readonly concerns: (org: AdmittedOrg) => void;
}

/** A context inside an organization. */
export interface OrgContext extends KnownContext, Admitted {}

type ContextFor<N extends Need, Name extends PageName> = N extends 'anyone'
  ? Context
  : (typeof paths)[Name] extends `${string}:org${string}`
    ? OrgContext
    : KnownContext;

/** The content of a sent form, by the names of its fields; '' for a missing one. */
export type Sent = (field: string) => string;

/** The result of a sent form: another page, or one whose content is shown only once. */
export type Outcome =
  | { readonly kind: 'go'; readonly to: Url; readonly cookies: readonly string[] }
  | ({ readonly kind: 'show' } & Pick<Shown, 'title' | 'heading' | 'body'>);

export const go = (to: Url, cookies: readonly string[] = []): Outcome => ({ kind: 'go', to, cookies });

/** The page of a form, which says what it did. */
export const pageAfter = ({ url, path, params }: Context, done: NoticeName): Url =>
  url(path, params, { done });

/** The work of a form. */
export type Run<C> = (context: C, sent: Sent) => Promise<Outcome>;

/** A form that is special in some way. */
export interface Action<C> {
  /** The permission that its visitor needs, if not the same as for the other actions of the page. */
  readonly may?: Need;
  /** False for forms that are idempotent anyway, and for forms of visitors who aren't signed in. */
  readonly once?: boolean;
  /**
   * For a form whose response shows something only once: the page to go to if it is sent again. An attempt
   * that broke off is not repeated either: it may already have taken effect.
   */
  readonly again?: (context: C) => Url;
  readonly run: Run<C>;
  /** For a form with a file, of which a page has one at most: runs the action, any number of times. */
  readonly upload?: (context: C, sent: Sent, upload: Upload) => Promise<Outcome>;
  readonly fileLimit?: FileLimit;
}

/** A form whose response shows something only once; if it is sent again, its page says so. */
export const shownOnce = <C extends Context = OrgContext>(
  again: NoticeName,
  run: Run<NoInfer<C>>,
): Action<C> => ({ again: (context) => pageAfter(context, again), run });

/** A form that leads back to its page once its work is done. */
export const confirmed =
  <C extends Context = OrgContext>(
    done: NoticeName,
    work: (context: NoInfer<C>, sent: Sent) => Promise<unknown>,
  ): Run<C> =>
  async (context, sent) => {
    await work(context, sent);
    return go(pageAfter(context, done));
  };

/** The forms of a page, by their names. */
export type Actions<C> = Readonly<Record<string, Run<C> | Action<C>>>;

interface Definition<N extends Need, Name extends PageName, Data> {
  readonly path: Name;
  readonly may: N;
  /** The permission that its actions need, if that is more. */
  readonly mayAct?: Need;
  /** The names of the parameters of the query that it reads. */
  readonly query?: readonly string[];
  readonly load: (context: ContextFor<N, Name>) => Promise<Data>;
  readonly title: (data: Data) => string;
  /** More about its heading; null if its view has a heading of its own. */
  readonly heading?: ((data: Data, context: ContextFor<N, Name>) => Heading) | null;
  readonly around?: (data: Data) => Pick<Shown, 'linked' | 'within'>;
  readonly view: (data: Data, context: ContextFor<N, Name>) => Html;
  readonly actions?: Actions<ContextFor<N, Name>>;
}

export interface Shown {
  readonly title: string;
  /** Left out if the body has a heading of its own. */
  readonly heading?: Heading;
  readonly body: Html;
  /** A sentence and the front of a card, which other services show where the page is linked to. */
  readonly linked?: { readonly description: string; readonly front: Front | null };
  /** The organization whose menu is shown, if the path names none. */
  readonly within?: Admitted;
}

/** A page of any kind, for the table and the gate. */
export interface Page {
  readonly path: Path;
  readonly may: Need;
  readonly mayAct: Need;
  readonly query: readonly string[];
  readonly show: (context: Context) => Promise<Shown>;
  readonly actions: Readonly<Record<string, Action<Context> & { readonly may: Need }>>;
  /** The page is a file, which is all that is answered. */
  readonly file?: (context: Context) => Promise<LinesResponse>;
}

/**
 * Declares a page. Its gate has made the context that its path and its `may` call for before any of its
 * functions is called.
 */
export const page = <const N extends Need, const Name extends PageName, Data>(
  definition: Definition<N, Name, Data>,
): Page => {
  const { path, may, mayAct = may, query = [], load, title, heading, around, view } = definition;
  const actions = Object.entries((definition.actions ?? {}) as Actions<Context>).map(
    ([name, action]) =>
      [name, { may: mayAct, ...(typeof action === 'function' ? { run: action } : action) }] as const,
  );
  return {
    path: paths[path],
    may,
    mayAct,
    query,
    show: async (context) => {
      const admitted = context as ContextFor<N, Name>;
      const data = await load(admitted);
      const shown = { title: title(data), body: view(data, admitted), ...around?.(data) };
      return heading === null ? shown : { ...shown, heading: heading?.(data, admitted) ?? {} };
    },
    actions: Object.fromEntries(actions),
  };
};

/** Declares a file that is made on request. It goes through the gate of pages. */
export const filePage = <const N extends Need, const Name extends PageName>(
  about: Pick<Definition<N, Name, never>, 'path' | 'may' | 'query'>,
  file: (context: ContextFor<N, Name>) => Promise<LinesResponse>,
): Page => ({
  ...page({ ...about, load: () => Promise.resolve(), title: () => '', view: () => null }),
  file: (context) => file(context as ContextFor<N, Name>),
});
