import { countTries } from '../../../application/access/count-tries.js';
import { claimForm, completeForm, releaseForm } from '../../../application/access/forms.js';
import { TooManySignIns } from '../../../application/ports/passwords.js';
import { DomainError } from '../../../domain/errors.js';
import { refusalOf } from '../server/errors.js';
import type { Url } from '../web/url.js';
import { NotAllowed } from './admit.js';
import { PageRefusal } from './gates.js';
import { go, type Context, type Outcome, type Page, type Sent } from './page.js';

export const sentBy =
  (fields: ReadonlyMap<string, string>): Sent =>
  (name) =>
    fields.get(name) ?? '';

/** The id of a form, as its page gave it. Throws PageRefusal for any other text. */
export const formIn = (sent: Sent): string => {
  const form = sent('form');
  if (!/^[\w-]{43}$/.test(form))
    throw new PageRefusal(
      422,
      'Refused',
      'This form has no id of its own. Load its page again, and send that.',
    );
  return form;
};

/** How many forms an account may send in a clock minute: as many as a key may send requests. */
const formsPerMinute = 120;

/** Throws `rate_limited` if the owner of a session has sent too many. */
export const countForm = (deps: Context['deps'], owner: string): Promise<unknown> =>
  countTries(
    deps,
    { [`forms of ${owner}`]: formsPerMinute },
    `Within a minute, ${formsPerMinute} forms may be sent. Wait a minute.`,
  );

/** Runs an action once for its form, however often that is sent. Throws `invalid_transition`. */
export const runOnce = async (
  context: Context,
  owner: string,
  fields: ReadonlyMap<string, string>,
  { run, again }: Page['actions'][string],
): Promise<Outcome> => {
  const sent = sentBy(fields);
  const claim = await claimForm(context.deps, formIn(sent), owner, JSON.stringify([...fields]));
  if (claim.kind === 'done') return go(claim.to as Url);
  if (claim.kind === 'other')
    throw new DomainError(
      'invalid_transition',
      'This form was sent before, with other content. Nothing was done this time: check what is there, then send it again.',
    );
  if (claim.kind === 'running')
    throw new PageRefusal(
      409,
      'Still at work',
      'This form was sent twice, and the first time is still at work.',
    );
  const leadsTo = again?.(context) ?? context.url('start');
  try {
    const outcome = claim.tookOver && again !== undefined ? go(leadsTo) : await run(context, sent);
    await completeForm(context.deps, claim.held, outcome.kind === 'go' ? outcome.to : leadsTo);
    return outcome;
  } catch (error) {
    const isRefused = error instanceof NotAllowed || error instanceof TooManySignIns;
    if (isRefused || refusalOf(error) !== null)
      // It ends by itself; the refusal counts.
      await releaseForm(context.deps, claim.held).catch(() => undefined);
    throw error;
  }
};
