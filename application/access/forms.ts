import { z } from 'zod';
import { DomainError } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { FoundSignInRecord } from '../ports/records.js';
import { hashOf, type SessionsDeps } from './sessions.js';

const hour: Milliseconds = 60 * 60 * 1000;
/** How long a form that was sent is remembered. */
const formTtl: Milliseconds = 24 * hour;
/** A form that came longer ago may have been done and forgotten since. An upload takes less. */
const maxWait: Milliseconds = hour;

const Kept = z.object({
  /** Distinguishes the tries of one form. */
  try: z.string(),
  since: z.number(),
  /** Where the form led; null while it is at work. */
  to: z.string().nullable(),
  /** A hash of the content that only those who have the form can check. */
  content: z.string(),
});

export interface FormDeps extends SessionsDeps {
  /** How long a try may be at work before another one takes it over. */
  readonly claimTimeout: Milliseconds;
}

/**
 * `claimed`: this try goes on; `tookOver` if it does so after one that broke off. `done`: an earlier one was
 * done, and led there. `running`: another one is at work. `other`: it was sent before with other content.
 */
export type FormClaim =
  | { readonly kind: 'claimed'; readonly held: FoundSignInRecord; readonly tookOver: boolean }
  | { readonly kind: 'done'; readonly to: string }
  | { readonly kind: 'running' }
  | { readonly kind: 'other' };

const recordOf = (owner: string, form: string): string => hashOf(`${owner} ${form}`);

/** Whether a form was done: one that broke off may be sent again. Throws SignInUnavailable. */
export const isSpent = async (
  { signInRecords }: Pick<FormDeps, 'signInRecords'>,
  form: string,
  owner: string,
): Promise<boolean> => {
  const found = await signInRecords.find('form', recordOf(owner, form));
  return found !== null && Kept.parse(found.data).to !== null;
};

/**
 * Claims a form for one try, so that a double click has one effect. `waited`: since it came. Throws
 * `invalid_transition` if that is long, and SignInUnavailable.
 */
export const claimForm = async (
  { signInRecords, clock, entropy, claimTimeout }: FormDeps,
  form: string,
  owner: string,
  sent: string,
  waited: Milliseconds,
): Promise<FormClaim> => {
  if (waited > maxWait)
    throw new DomainError(
      'invalid_transition',
      'This form waited here for over an hour, and nothing was done. Load its page again, and send that.',
    );
  const now = clock.now();
  const id = recordOf(owner, form);
  const content = hashOf(`${form} ${sent}`);
  const data = { try: entropy.uuid(), since: now, to: null, content };
  const ends = now + formTtl;
  if (await signInRecords.add({ kind: 'form', id, owner, data, ends }))
    return { kind: 'claimed', held: { kind: 'form', id, owner, data, ends, version: 0 }, tookOver: false };
  const found = await signInRecords.find('form', id);
  if (found === null) return { kind: 'running' };
  const before = Kept.parse(found.data);
  if (before.content !== content) return { kind: 'other' };
  if (before.to !== null) return { kind: 'done', to: before.to };
  if (now - before.since < claimTimeout || !(await signInRecords.change(found, { data, ends })))
    return { kind: 'running' };
  return { kind: 'claimed', held: { ...found, data, ends, version: found.version + 1 }, tookOver: true };
};

/** Notes the result of the form. If that fails, a repeat runs the action again, which every action allows. */
export const completeForm = async (
  { signInRecords }: Pick<FormDeps, 'signInRecords'>,
  held: FoundSignInRecord,
  to: string,
): Promise<void> => {
  await signInRecords.change(held, { data: { ...held.data, to }, ends: held.ends });
};

/** Nothing happened: the form may be sent again. Leaves the claim of a try that took over meanwhile. */
export const releaseForm = async (
  { signInRecords, clock }: Pick<FormDeps, 'signInRecords' | 'clock'>,
  held: FoundSignInRecord,
): Promise<void> => {
  const data = { ...held.data, since: clock.now() };
  if (await signInRecords.change(held, { data, ends: held.ends }))
    await signInRecords.remove('form', held.id);
};
