import { NamedError } from '../../../domain/errors.js';
import type { Initiator } from '../../../application/writing/commands.js';
import type { Role } from '../../../domain/permissions.js';
import type { Front } from '../../../domain/artwork.js';
import type { Html } from '../web/prose.js';
import type { ShownRefusal } from '../web/form.js';
import type { Url } from '../web/url.js';
import type { Visit } from '../web/visit.js';
import type { LinesResponse } from '../server/route.js';
import type { FileLimit, Upload } from '../server/upload.js';
import type { AdmittedOrg, Need } from './admit.js';
import type { ConsoleDeps } from './deps.js';
import type { NoticeName } from './notice.js';
import type { Parameter } from '../web/paths.js';
import type { SignedIn, Visitor } from './visitor.js';

type Texts = Readonly<Record<string, string>>;

/** A request for a page, admitted. */
export interface Context<Who extends Visitor = Visitor> extends Visit {
  readonly deps: ConsoleDeps;
  readonly visitor: Who;
  /** The page's place in the table. */
  readonly path: string;
  /** The parameters of the path, as sent. */
  readonly params: Texts;
  /** The page's own query parameters, trimmed; '' for a missing one. */
  readonly query: (name: string) => string;
  /** The address of this page, with the parameters of the query that it knows. */
  readonly self: Url;
  readonly requestId: string;
  /** Whether this is a copy of the service, for rehearsal. */
  readonly isRehearsal: boolean;
  /** The place of the request in a trace. */
  readonly traceparent: string;
  readonly origin: string;
  /** In words. */
  readonly browser: string;
  /** As sent. */
  readonly cookies: string;
  /** The address that the visitor comes from. */
  readonly address: string;
  /** Aborts when the visitor goes away, and when the service stops. */
  readonly signal: AbortSignal;
}

/** A context inside an organization. */
export interface OrgContext extends Context<SignedIn> {
  readonly org: AdmittedOrg;
  readonly role: Role;
  readonly by: Initiator;
}

/** A context inside the house, where the service is run. */
export interface HouseContext extends Context<SignedIn> {
  readonly role: Role;
  readonly by: Initiator;
}

type ContextFor<N extends Need, Path extends string> = N extends 'anyone'
  ? Context
  : Path extends `${string}:org${string}`
    ? OrgContext
    : N extends 'signed-in'
      ? Context<SignedIn> & { readonly by: Initiator }
      : HouseContext;

/** The content of a sent form, by the names of its fields; '' for a missing one. */
export type Sent = (field: string) => string;

/** The result of a sent form: another page, or one whose content is shown only once. */
export type Outcome =
  | { readonly kind: 'go'; readonly to: Url; readonly cookies: readonly string[] }
  | { readonly kind: 'show'; readonly title: string; readonly body: Html };

export const go = (to: Url, cookies: readonly string[] = []): Outcome => ({ kind: 'go', to, cookies });

/** The page of a form, which says what it did. */
export const pageAfter = ({ url, path, params }: Context, done: NoticeName): Url =>
  url(path, params, { done });

export class RedirectTo extends NamedError {
  constructor(readonly to: Url) {
    super('the page is elsewhere');
  }
}

export interface Action<C> {
  readonly may: Need;
  /** False for forms that are idempotent anyway, and for forms of visitors who aren't signed in. */
  readonly once?: boolean;
  /**
   * For a form whose response shows something only once: the page to go to if it is sent again. An attempt
   * that broke off is not repeated either: it may already have taken effect.
   */
  readonly again?: (context: C) => Url;
  readonly run: (context: C, sent: Sent) => Promise<Outcome>;
  /** For a form with a file, of which a page has one at most: runs the action, any number of times. */
  readonly upload?: (context: C, sent: Sent, upload: Upload) => Promise<Outcome>;
  readonly fileLimit?: FileLimit;
}

/** A form that leads back to its page once its work is done. */
export const confirmed = <C extends Context = OrgContext>(
  may: Need,
  done: NoticeName,
  work: (context: NoInfer<C>, sent: Sent) => Promise<unknown>,
): Action<C> => ({
  may,
  run: async (context, sent) => {
    await work(context, sent);
    return go(pageAfter(context, done));
  },
});

/** The sentence and the front of a card that other services show where a public page is linked to. */
export interface Linked {
  readonly description: string;
  readonly front: Front | null;
}

interface Definition<N extends Need, Path extends string, Data> {
  readonly path: Path;
  readonly may: N;
  /** The names of the parameters of the query that it reads. */
  readonly query?: readonly Parameter[];
  readonly load: (context: ContextFor<N, Path>) => Promise<Data>;
  readonly title: (data: Data) => string;
  readonly linked?: (data: Data) => Linked;
  /** The organization whose menu is shown, if the path names none. */
  readonly within?: (data: Data) => { readonly org: AdmittedOrg; readonly role: Role };
  readonly view: (data: Data, context: ContextFor<N, Path>, refused: ShownRefusal | null) => Html;
  readonly actions?: Readonly<Record<string, Action<ContextFor<N, Path>>>>;
}

export interface Shown {
  readonly title: string;
  readonly linked?: Linked;
  readonly body: Html;
  readonly within?: { readonly org: AdmittedOrg; readonly role: Role };
}

/** A page of any kind, for the table and the gate. */
export interface Page {
  readonly path: string;
  readonly may: Need;
  readonly query: readonly string[];
  readonly show: (context: Context, refused: ShownRefusal | null) => Promise<Shown>;
  readonly actions: Readonly<Record<string, Action<Context>>>;
  /** The page is a file, which is all that is answered. */
  readonly file?: (context: Context) => Promise<LinesResponse>;
}

/**
 * Declares a page. Its gate has made the context that its path and its `may` call for before any of its
 * functions is called.
 */
export const page = <const N extends Need, const Path extends string, Data>(
  definition: Definition<N, Path, Data>,
): Page => {
  const { path, may, query = [], load, title, linked, within, view, actions = {} } = definition;
  return {
    path,
    may,
    query,
    show: async (context, refused) => {
      const admitted = context as ContextFor<N, Path>;
      const data = await load(admitted);
      return {
        title: title(data),
        body: view(data, admitted, refused),
        ...(linked !== undefined && { linked: linked(data) }),
        ...(within !== undefined && { within: within(data) }),
      };
    },
    actions: actions as Page['actions'],
  };
};

interface FileDefinition<N extends Need, Path extends string> {
  readonly path: Path;
  readonly may: N;
  readonly query?: readonly string[];
  readonly file: (context: ContextFor<N, Path>) => Promise<LinesResponse>;
}

/** Declares a file that is made on request. It goes through the gate of pages. */
export const filePage = <const N extends Need, const Path extends string>({
  path,
  may,
  query = [],
  file,
}: FileDefinition<N, Path>): Page => ({
  path,
  may,
  query,
  show: () => Promise.reject(new Error('a file is no page')),
  actions: {},
  file: (context) => file(context as ContextFor<N, Path>),
});
