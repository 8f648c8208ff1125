import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Permission } from '../../../domain/permissions.js';
import type { PageName, Path, Texts, Url } from './paths.js';

/** A form that was refused, and is shown again. */
export interface ShownRefusal {
  /** The action of the form. */
  readonly action: string;
  readonly message: string;
  /** The field at fault, if it is one. */
  readonly field: string | null;
  /** The documentation of the refusal. */
  readonly meaning: Url;
  /** The content of its fields; '' for a missing one. */
  readonly sent: (field: string) => string;
}

/** The request for a page, as far as every part of the page knows it. */
export interface Visit {
  /** The address of a page of the console, by its name, or of another path of this service. */
  readonly url: (to: PageName | Path, params?: Texts, query?: Texts) => Url;
  /** A date or a time as people of this service read it. */
  readonly timeZone: string;
  /** The present year in that time zone. */
  readonly year: string;
  /** An id for a form that is about to be shown. */
  readonly newForm: () => string;
  /** Whether the visitor has a permission in the organization of the page; false where it has none. */
  readonly mayDo: (what: Permission) => boolean;
  /** Whether the visitor may send the forms of the page. Where it has no organization, all who see it may. */
  readonly mayAct: boolean;
  /** Confirms the form that was sent last. */
  readonly notice: string | null;
  readonly refused: ShownRefusal | null;
  /** The labels of the fields, by their names: each field adds its own. */
  readonly labels: Map<string, string>;
}

const Visits = createContext<Visit | null>(null);

/** Wraps a page, so that its parts find their way. */
export const WithVisit = Visits.Provider;

export const useVisit = (): Visit => {
  const visit = useContext(Visits);
  if (visit === null) throw new Error('This is shown on pages of the console alone.');
  return visit;
};
