import { scopes } from '../../domain/api-key.js';
import { reportedStatuses, steps } from '../../domain/card.js';
import { allProjections } from '../../projections/all.js';
import type { Call } from './client.js';
import { WrongUsage } from './client.js';

/** One `--name value`. */
export interface Option {
  readonly name: string;
  readonly about: string;
  readonly required?: boolean;
  readonly kind?: 'text' | 'number' | 'flag' | 'list';
}

/** What was typed: the thing after the verb, and the options by their camel-cased names. */
export interface Typed {
  readonly thing: string;
  readonly text: (name: string) => string | undefined;
  readonly number: (name: string) => number | undefined;
  readonly flag: (name: string) => boolean | undefined;
  readonly list: (name: string) => readonly string[] | undefined;
}

/** `noun verb [thing] --option value`: one call of the operator API. */
export interface Verb {
  readonly noun: string;
  readonly verb: string;
  readonly about: string;
  /** What follows the verb; absent where nothing does. */
  readonly thing?: string;
  readonly options: readonly Option[];
  readonly call: (typed: Typed) => Call;
}

export const org: Option = { name: 'org', about: 'id of the organization', required: true };
const limit: Option = { name: 'limit', about: 'how many rows', kind: 'number' };
const startingAfter: Option = { name: 'starting-after', about: 'the cursor of the page before' };
export const paging = [limit, startingAfter] as const;
const active: Option = { name: 'active', about: 'true or false', required: true, kind: 'flag' };
const reason: Option = { name: 'reason', about: 'why', required: true };

/** A path below the organization that `--org` names. */
export const inOrg = (typed: Typed, path: string): string =>
  `/organizations/${encodeURIComponent(typed.text('org') ?? '')}${path}`;
export const pagingOf = (typed: Typed) => ({
  limit: typed.text('limit'),
  starting_after: typed.text('startingAfter'),
});
export const segment = (text: string): string => encodeURIComponent(text);

const card = (
  verb: string,
  about: string,
  options: readonly Option[] = [],
  body?: (typed: Typed) => object,
): Verb => ({
  noun: 'card',
  verb,
  about,
  thing: 'code',
  options,
  call: (typed) => ({
    method: 'POST',
    path: `/cards/${segment(typed.thing)}/${verb}`,
    ...(body && { body: body(typed) }),
  }),
});

/**
 * Verbs that are one call each. Others live beside this file. (operations.md: a verb for every row of the
 * operator API)
 */
export const verbs: readonly Verb[] = [
  {
    noun: 'org',
    verb: 'create',
    about: 'Create an organization',
    options: [
      { name: 'name', about: 'its name', required: true },
      { name: 'house-hand', about: 'the handwriting of cards that name none' },
    ],
    call: (typed) => ({
      method: 'POST',
      path: '/organizations',
      body: { name: typed.text('name'), house_hand: typed.text('houseHand') },
    }),
  },
  {
    noun: 'org',
    verb: 'update',
    about: 'Choose the handwriting of cards that name none',
    options: [org, { name: 'house-hand', about: 'a handwriting that is offered', required: true }],
    call: (typed) => ({
      method: 'PATCH',
      path: inOrg(typed, ''),
      body: { house_hand: typed.text('houseHand') },
    }),
  },
  {
    noun: 'credits',
    verb: 'add',
    about: 'Add credits',
    options: [
      org,
      { name: 'amount', about: 'how many', required: true, kind: 'number' },
      { name: 'reason', about: 'why' },
    ],
    call: (typed) => ({
      method: 'POST',
      path: inOrg(typed, '/credits'),
      body: { amount: typed.number('amount'), reason: typed.text('reason') },
    }),
  },
  {
    noun: 'key',
    verb: 'create',
    about: 'Create an API key; it is shown this once',
    options: [
      org,
      {
        name: 'scopes',
        about: `scopes, separated by commas: ${scopes.join(', ')}`,
        required: true,
        kind: 'list',
      },
      { name: 'label', about: 'what it is for' },
      {
        name: 'requests-per-minute',
        about: 'its own rate limit, in place of RATE_LIMIT_PER_MINUTE',
        kind: 'number',
      },
    ],
    call: (typed) => ({
      method: 'POST',
      path: inOrg(typed, '/keys'),
      body: {
        scopes: typed.list('scopes'),
        label: typed.text('label'),
        requests_per_minute: typed.number('requestsPerMinute'),
      },
    }),
  },
  {
    noun: 'key',
    verb: 'list',
    about: 'List API keys',
    options: [org, ...paging],
    call: (typed) => ({ method: 'GET', path: inOrg(typed, '/keys'), query: pagingOf(typed) }),
  },
  {
    noun: 'key',
    verb: 'revoke',
    about: 'Revoke an API key',
    thing: 'id',
    options: [org],
    call: (typed) => ({ method: 'DELETE', path: inOrg(typed, `/keys/${segment(typed.thing)}`) }),
  },
  {
    noun: 'design',
    verb: 'save',
    about: 'Save a design',
    options: [
      org,
      { name: 'name', about: 'its name', required: true },
      { name: 'collection-slug', about: 'the collection card that it is a copy of' },
    ],
    call: (typed) => ({
      method: 'POST',
      path: inOrg(typed, '/designs'),
      body: { name: typed.text('name'), collection_slug: typed.text('collectionSlug') },
    }),
  },
  {
    noun: 'design',
    verb: 'archive',
    about: 'Archive a design',
    thing: 'id',
    options: [org],
    call: (typed) => ({ method: 'DELETE', path: inOrg(typed, `/designs/${segment(typed.thing)}`) }),
  },
  {
    noun: 'do-not-mail',
    verb: 'add',
    about: 'Put an e-mail address on the do-not-mail list',
    thing: 'email',
    options: [org],
    call: (typed) => ({ method: 'POST', path: inOrg(typed, '/do-not-mail'), body: { email: typed.thing } }),
  },
  {
    noun: 'do-not-mail',
    verb: 'remove',
    about: 'Take an e-mail address off the do-not-mail list',
    thing: 'email',
    options: [org],
    call: (typed) => ({ method: 'DELETE', path: inOrg(typed, `/do-not-mail/${segment(typed.thing)}`) }),
  },
  {
    noun: 'card',
    verb: 'show',
    about: 'Show a card',
    thing: 'code',
    options: [],
    call: ({ thing }) => ({ method: 'GET', path: `/cards/${segment(thing)}` }),
  },
  {
    noun: 'card',
    verb: 'history',
    about: 'Every event of a card',
    thing: 'code',
    options: [],
    call: ({ thing }) => ({ method: 'GET', path: `/cards/${segment(thing)}/history` }),
  },
  card('hold', 'Put a card aside for a person', [reason], (typed) => ({ reason: typed.text('reason') })),
  card('release', 'Release a held card'),
  card('queue', 'Send a card to the floor'),
  card('fail', 'Give up a card in production', [reason], (typed) => ({ reason: typed.text('reason') })),
  card('cancel', 'Cancel a card, without a webhook'),
  {
    noun: 'card',
    verb: 'step',
    about: 'Report a production step',
    thing: 'code',
    options: [
      { name: 'step', about: steps.join(', '), required: true },
      { name: 'status', about: reportedStatuses.join(', '), required: true },
      { name: 'machine', about: 'which machine' },
    ],
    call: (typed) => ({
      method: 'POST',
      path: `/cards/${segment(typed.thing)}/steps/${segment(typed.text('step') ?? '')}`,
      body: { status: typed.text('status'), machine: typed.text('machine') },
    }),
  },
  {
    noun: 'collection',
    verb: 'put',
    about: 'Publish or withdraw a collection card',
    thing: 'slug',
    options: [{ name: 'title', about: 'its title', required: true }, active],
    call: (typed) => ({
      method: 'PUT',
      path: `/collection/${segment(typed.thing)}`,
      body: { title: typed.text('title'), active: typed.flag('active') },
    }),
  },
  {
    noun: 'handwriting',
    verb: 'put',
    about: 'Offer a handwriting, or switch one on or off',
    thing: 'name',
    options: [active],
    call: (typed) => ({
      method: 'PUT',
      path: `/handwriting/${segment(typed.thing)}`,
      body: { active: typed.flag('active') },
    }),
  },
  {
    noun: 'anchor',
    verb: 'show',
    about: 'The head of the log, to keep elsewhere',
    options: [],
    call: () => ({ method: 'GET', path: '/anchor' }),
  },
  {
    noun: 'projection',
    verb: 'rebuild',
    about: `Rebuild a projection: ${allProjections.map(({ name }) => name).join(', ')}`,
    thing: 'name',
    options: [],
    call: ({ thing }) => ({ method: 'POST', path: `/projections/${segment(thing)}/rebuild` }),
  },
];

/** Reads what commander parsed. Throws WrongUsage for what is not a number, true or false. */
export const typedFrom = (thing: string, options: Readonly<Record<string, string | undefined>>): Typed => {
  const parsed = <T>(name: string, parse: (text: string) => T | undefined, wanted: string): T | undefined => {
    const text = options[name];
    if (text === undefined) return undefined;
    const value = parse(text);
    if (value === undefined)
      throw new WrongUsage(
        `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} must be ${wanted}.`,
      );
    return value;
  };
  return {
    thing,
    text: (name) => options[name],
    number: (name) =>
      parsed(name, (text) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined), 'a number'),
    flag: (name) =>
      parsed(
        name,
        (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
        'true or false',
      ),
    list: (name) => options[name]?.trim().split(/\s*,\s*|\s+/),
  };
};
