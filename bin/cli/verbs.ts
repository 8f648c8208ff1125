import { operatorScopes, scopes } from '../../domain/api-key.js';
import { cardStatuses, reportedStatuses, steps } from '../../domain/card.js';
import { allProjections } from '../../projections/all.js';
import type { OperatorCall } from './client.js';
import { WrongUsage } from './client.js';

/** One `--name value`. */
export interface Option {
  readonly name: string;
  readonly description: string;
  readonly required?: boolean;
  /** `switch`: it has no value. */
  readonly kind?: 'text' | 'number' | 'flag' | 'list' | 'switch';
}

/** What was typed: the argument after the verb, and the options by their names in camel case. */
export interface CommandInput {
  readonly argument: string;
  readonly text: (name: string) => string | undefined;
  readonly number: (name: string) => number | undefined;
  readonly flag: (name: string) => boolean | undefined;
  readonly list: (name: string) => readonly string[] | undefined;
}

/** `noun verb [argument] --option value`: one call of the operator API. */
export interface Verb {
  readonly noun: string;
  readonly verb: string;
  readonly description: string;
  /** What the argument after the verb is; absent if there is none. */
  readonly argument?: string;
  readonly options: readonly Option[];
  /** What it does for good, as a question to somebody at a terminal; absent if it can be undone. */
  readonly question?: string;
  readonly call: (input: CommandInput) => OperatorCall;
}

export const org: Option = { name: 'org', description: 'id of the organization', required: true };
const limit: Option = { name: 'limit', description: 'maximum number of rows', kind: 'number' };
const startingAfter: Option = {
  name: 'starting-after',
  description: 'the cursor that the page before ended with',
};
export const paging = [limit, startingAfter] as const;
/** The moment of a response about the past. */
export const at: Option = {
  name: 'at',
  description: 'as it was then: a position of the log or an ISO 8601 time',
};
const active: Option = { name: 'active', description: 'true or false', required: true, kind: 'flag' };
const reason: Option = { name: 'reason', description: 'why', required: true };

/** Instead of an organization: the keys of operators. */
const house: Option = { name: 'house', description: 'the keys of operators instead', kind: 'switch' };
const keyPath = (input: CommandInput, path = ''): string => {
  if (input.text('house') !== undefined) return `/keys${path}`;
  if ((input.text('org') ?? '') === '')
    throw new WrongUsage('Name the organization: --org <id>, or --house.');
  return orgPath(input, `/keys${path}`);
};

/** A path below the organization in `--org`. */
export const orgPath = (input: CommandInput, path: string): string =>
  `/organizations/${encodeURIComponent(input.text('org') ?? '')}${path}`;
export const pagingOf = (input: CommandInput) => ({
  limit: input.text('limit'),
  starting_after: input.text('startingAfter'),
});
export const atOf = (input: CommandInput) => ({ at: input.text('at') });
export const segment = (text: string): string => encodeURIComponent(text);

const card = (
  verb: string,
  description: string,
  options: readonly Option[] = [],
  body?: (input: CommandInput) => object,
): Verb => ({
  noun: 'card',
  verb,
  description,
  argument: 'code',
  options,
  call: (input) => ({
    method: 'POST',
    path: `/cards/${segment(input.argument)}/${verb}`,
    ...(body && { body: body(input) }),
  }),
});

/**
 * Verbs that are one call each. More are in the files beside this one. (docs/operations.md#the-command-line)
 */
export const verbs: readonly Verb[] = [
  {
    noun: 'org',
    verb: 'create',
    description: 'Create an organization',
    options: [
      { name: 'name', description: 'its name', required: true },
      { name: 'house-hand', description: 'handwriting of cards that name none' },
    ],
    call: (input) => ({
      method: 'POST',
      path: '/organizations',
      body: { name: input.text('name'), house_hand: input.text('houseHand') },
    }),
  },
  {
    noun: 'org',
    verb: 'list',
    description: 'List organizations',
    options: [{ name: 'name', description: 'how its name begins, in any case' }, ...paging],
    call: (input) => ({
      method: 'GET',
      path: '/organizations',
      query: { name: input.text('name'), ...pagingOf(input) },
    }),
  },
  {
    noun: 'org',
    verb: 'show',
    description: 'Show an organization and its balance',
    options: [org],
    call: (input) => ({ method: 'GET', path: orgPath(input, '') }),
  },
  {
    noun: 'org',
    verb: 'update',
    description: 'Rename an organization, or choose the handwriting of cards that name none',
    options: [
      org,
      { name: 'name', description: 'its new name' },
      { name: 'house-hand', description: 'a handwriting that is offered' },
    ],
    call: (input) => ({
      method: 'PATCH',
      path: orgPath(input, ''),
      body: { name: input.text('name'), house_hand: input.text('houseHand') },
    }),
  },
  {
    noun: 'org',
    verb: 'suspend',
    description: 'Refuse its keys and hooks, and let its webhooks wait',
    options: [org],
    call: (input) => ({ method: 'PATCH', path: orgPath(input, ''), body: { suspended: true } }),
  },
  {
    noun: 'org',
    verb: 'reinstate',
    description: 'End a suspension',
    options: [org],
    call: (input) => ({ method: 'PATCH', path: orgPath(input, ''), body: { suspended: false } }),
  },
  {
    noun: 'credits',
    verb: 'add',
    description: 'Add credits to an organization',
    options: [
      org,
      { name: 'amount', description: 'how many credits', required: true, kind: 'number' },
      { name: 'reason', description: 'why' },
      { name: 'reference', description: 'such as an invoice number; a reference buys once' },
    ],
    call: (input) => ({
      method: 'POST',
      path: orgPath(input, '/credits'),
      body: {
        amount: input.number('amount'),
        reason: input.text('reason'),
        reference: input.text('reference'),
      },
    }),
  },
  {
    noun: 'credits',
    verb: 'show',
    description: 'Show the balance, now or at an earlier time',
    options: [org, at],
    call: (input) => ({
      method: 'GET',
      path: orgPath(input, '/credits'),
      query: atOf(input),
    }),
  },
  {
    noun: 'credits',
    verb: 'movements',
    description: 'List the movements of the credits, newest first',
    options: [org, ...paging],
    call: (input) => ({
      method: 'GET',
      path: orgPath(input, '/credits/movements'),
      query: pagingOf(input),
    }),
  },
  {
    noun: 'credits',
    verb: 'reconcile',
    description: 'Add up the credits, and find what is wrong',
    options: [
      org,
      { name: 'from', description: 'where the period begins: a position or an ISO 8601 time' },
      { name: 'to', description: 'where it ends' },
    ],
    call: (input) => ({
      method: 'GET',
      path: orgPath(input, '/reconciliation'),
      query: { from: input.text('from'), to: input.text('to') },
    }),
  },
  {
    noun: 'credits',
    verb: 'withdraw',
    description: 'Take credits back',
    options: [
      org,
      { name: 'amount', description: 'how many credits', required: true, kind: 'number' },
      reason,
    ],
    call: (input) => ({
      method: 'POST',
      path: orgPath(input, '/credits/withdraw'),
      body: { amount: input.number('amount'), reason: input.text('reason') },
    }),
  },
  {
    noun: 'key',
    verb: 'create',
    description: 'Create an API key; it is shown only once',
    options: [
      org,
      house,
      {
        name: 'scopes',
        description: `scopes, separated by commas: ${scopes.join(', ')}; with --house ${operatorScopes.join(', ')}`,
        required: true,
        kind: 'list',
      },
      { name: 'label', description: 'what it is for' },
      {
        name: 'requests-per-minute',
        description: 'a rate limit of its own, instead of RATE_LIMIT_PER_MINUTE',
        kind: 'number',
      },
      { name: 'expires-at', description: 'an ISO 8601 time; with --house' },
    ],
    call: (input) => ({
      method: 'POST',
      path: keyPath(input),
      body: {
        scopes: input.list('scopes'),
        label: input.text('label'),
        requests_per_minute: input.number('requestsPerMinute'),
        expires_at: input.text('expiresAt'),
      },
    }),
  },
  {
    noun: 'key',
    verb: 'list',
    description: 'List API keys',
    options: [org, house, at, ...paging],
    call: (input) => ({
      method: 'GET',
      path: keyPath(input),
      query: { ...pagingOf(input), ...atOf(input) },
    }),
  },
  {
    noun: 'key',
    verb: 'revoke',
    description: 'Revoke an API key',
    argument: 'id',
    question: 'Revoke this key for good?',
    options: [{ ...org, required: false }, house],
    call: (input) => ({ method: 'DELETE', path: keyPath(input, `/${segment(input.argument)}`) }),
  },
  {
    noun: 'design',
    verb: 'list',
    description: 'List saved designs',
    options: [org, at],
    call: (input) => ({ method: 'GET', path: orgPath(input, '/designs'), query: atOf(input) }),
  },
  {
    noun: 'design',
    verb: 'save',
    description: 'Save a design',
    options: [
      org,
      { name: 'name', description: 'its name', required: true },
      { name: 'collection-slug', description: 'slug of the collection card that it is a copy of' },
    ],
    call: (input) => ({
      method: 'POST',
      path: orgPath(input, '/designs'),
      body: { name: input.text('name'), collection_slug: input.text('collectionSlug') },
    }),
  },
  {
    noun: 'design',
    verb: 'archive',
    description: 'Archive a design',
    argument: 'id',
    question: 'Archive this design for good?',
    options: [org],
    call: (input) => ({ method: 'DELETE', path: orgPath(input, `/designs/${segment(input.argument)}`) }),
  },
  {
    noun: 'do-not-mail',
    verb: 'list',
    description: 'List the e-mail addresses that must not be mailed',
    options: [org, ...paging],
    call: (input) => ({ method: 'GET', path: orgPath(input, '/do-not-mail'), query: pagingOf(input) }),
  },
  {
    noun: 'do-not-mail',
    verb: 'add',
    description: 'Add an e-mail address to the do-not-mail list',
    argument: 'email',
    options: [org],
    call: (input) => ({
      method: 'POST',
      path: orgPath(input, '/do-not-mail'),
      body: { email: input.argument },
    }),
  },
  {
    noun: 'do-not-mail',
    verb: 'remove',
    description: 'Remove an e-mail address from the do-not-mail list',
    argument: 'email',
    options: [org],
    call: (input) => ({ method: 'DELETE', path: orgPath(input, `/do-not-mail/${segment(input.argument)}`) }),
  },
  {
    noun: 'card',
    verb: 'list',
    description: 'List cards of all organizations, those that need a person first',
    options: [
      { name: 'status', description: cardStatuses.join(', ') },
      { name: 'organization', description: 'only cards of the organization with this id' },
      { name: 'reference', description: 'only cards with exactly this reference' },
      ...paging,
    ],
    call: (input) => ({
      method: 'GET',
      path: '/cards',
      query: {
        status: input.text('status'),
        organization: input.text('organization'),
        reference: input.text('reference'),
        ...pagingOf(input),
      },
    }),
  },
  {
    noun: 'card',
    verb: 'show',
    description: 'Show a card',
    argument: 'code',
    options: [at],
    call: (input) => ({ method: 'GET', path: `/cards/${segment(input.argument)}`, query: atOf(input) }),
  },
  {
    noun: 'card',
    verb: 'history',
    description: 'List every event of a card',
    argument: 'code',
    options: [at],
    call: (input) => ({
      method: 'GET',
      path: `/cards/${segment(input.argument)}/history`,
      query: atOf(input),
    }),
  },
  card('hold', 'Hold a card until a person releases it', [reason], (input) => ({
    reason: input.text('reason'),
  })),
  card('release', 'Release a held card'),
  card('queue', 'Queue a card for production'),
  {
    ...card('fail', 'Mark a card in production as failed', [reason], (input) => ({
      reason: input.text('reason'),
    })),
    question: 'Give this card up for good?',
  },
  {
    ...card('cancel', 'Cancel a card without sending a webhook'),
    question: 'Cancel this card for good?',
  },
  {
    noun: 'card',
    verb: 'step',
    description: 'Report the status of a production step',
    argument: 'code',
    options: [
      { name: 'step', description: steps.join(', '), required: true },
      { name: 'status', description: reportedStatuses.join(', '), required: true },
      { name: 'machine', description: 'name of the machine' },
    ],
    call: (input) => ({
      method: 'POST',
      path: `/cards/${segment(input.argument)}/steps/${segment(input.text('step') ?? '')}`,
      body: { status: input.text('status'), machine: input.text('machine') },
    }),
  },
  {
    noun: 'collection',
    verb: 'list',
    description: 'List collection cards, withdrawn ones too',
    options: [...paging],
    call: (input) => ({ method: 'GET', path: '/collection', query: pagingOf(input) }),
  },
  {
    noun: 'collection',
    verb: 'put',
    description: 'Publish or withdraw a collection card',
    argument: 'slug',
    options: [{ name: 'title', description: 'its title', required: true }, active],
    call: (input) => ({
      method: 'PUT',
      path: `/collection/${segment(input.argument)}`,
      body: { title: input.text('title'), active: input.flag('active') },
    }),
  },
  {
    noun: 'handwriting',
    verb: 'list',
    description: 'List handwritings, withdrawn ones too',
    options: [...paging],
    call: (input) => ({ method: 'GET', path: '/handwriting', query: pagingOf(input) }),
  },
  {
    noun: 'handwriting',
    verb: 'put',
    description: 'Offer or withdraw a handwriting',
    argument: 'name',
    options: [active],
    call: (input) => ({
      method: 'PUT',
      path: `/handwriting/${segment(input.argument)}`,
      body: { active: input.flag('active') },
    }),
  },
  {
    noun: 'anchor',
    verb: 'show',
    description: 'Show position and hash of the newest event, to keep on another system',
    options: [],
    call: () => ({ method: 'GET', path: '/anchor' }),
  },
  {
    noun: 'request',
    verb: 'list',
    description: 'List who has asked for a card, a contact, an account or an organization',
    options: [{ name: 'subject', description: 'the code of a card, or an id', required: true }, ...paging],
    call: (input) => ({
      method: 'GET',
      path: '/requests',
      query: { subject: input.text('subject'), ...pagingOf(input) },
    }),
  },
  {
    noun: 'request',
    verb: 'show',
    description: 'Show a request, and the events that it wrote',
    argument: 'id',
    options: [],
    call: ({ argument }) => ({ method: 'GET', path: `/requests/${segment(argument)}` }),
  },
  {
    noun: 'projection',
    verb: 'rebuild',
    description: `Rebuild a projection: ${allProjections.map(({ name }) => name).join(', ')}`,
    argument: 'name',
    options: [],
    call: ({ argument }) => ({ method: 'POST', path: `/projections/${segment(argument)}/rebuild` }),
  },
];

/**
 * Turns what commander parsed into a CommandInput, whose members throw WrongUsage for a value of the wrong
 * kind.
 */
export const parseInput = (
  argument: string,
  options: Readonly<Record<string, string | undefined>>,
): CommandInput => {
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
    argument,
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
