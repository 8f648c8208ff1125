import {
  at,
  atOf,
  orgPath,
  org,
  paging,
  pagingOf,
  segment,
  type Option,
  type CommandInput,
  type Verb,
} from './verbs.js';

const webhookPath = (input: CommandInput, verb: string): string =>
  orgPath(input, `/webhooks/${segment(input.argument)}/${verb}`);

const webhook = (
  verb: string,
  description: string,
  options: readonly Option[] = [],
  body?: (input: CommandInput) => object,
): Verb => ({
  noun: 'webhook',
  verb,
  description,
  argument: 'id',
  options: [org, ...options],
  call: (input) => ({ method: 'POST', path: webhookPath(input, verb), ...(body && { body: body(input) }) }),
});

const type: Option = { name: 'type', description: 'the type of the event; card.created if it is left out' };

const test: Verb = {
  ...webhook('test', 'Send a test event', [type]),
  call: (input) => ({
    method: 'POST',
    path: webhookPath(input, 'test'),
    query: { type: input.text('type') },
  }),
};

const from: Option = {
  name: 'from',
  description: 'a position in the log, or an ISO 8601 time',
  required: true,
};

export const webhookVerbs: readonly Verb[] = [
  {
    noun: 'delivery',
    verb: 'list',
    description: 'List deliveries, newest first',
    options: [
      org,
      ...paging,
      { name: 'endpoint', description: 'only deliveries to this endpoint' },
      { name: 'status', description: 'pending, delivered, exhausted or dropped' },
      { name: 'type', description: 'only events of this type' },
      { name: 'card', description: 'only events of this card' },
    ],
    call: (input) => ({
      method: 'GET',
      path: orgPath(input, '/deliveries'),
      query: {
        ...pagingOf(input),
        endpoint: input.text('endpoint'),
        status: input.text('status'),
        type: input.text('type'),
        card: input.text('card'),
      },
    }),
  },
  {
    noun: 'delivery',
    verb: 'show',
    description: 'Show a delivery, with every attempt',
    argument: 'id',
    options: [org],
    call: (input) => ({ method: 'GET', path: orgPath(input, `/deliveries/${segment(input.argument)}`) }),
  },
  {
    noun: 'delivery',
    verb: 'retry',
    description: 'Retry a delivery now',
    argument: 'id',
    options: [org],
    call: (input) => ({
      method: 'POST',
      path: orgPath(input, `/deliveries/${segment(input.argument)}/retry`),
    }),
  },
  {
    noun: 'delivery',
    verb: 'redrive',
    description: 'Redrive dead letters: send the deliveries again that are out of attempts',
    options: [
      org,
      from,
      { name: 'to', description: 'a position in the log, or an ISO 8601 time; the end of the log if absent' },
      { name: 'endpoint', description: 'only dead letters of this endpoint' },
    ],
    call: (input) => ({
      method: 'POST',
      path: orgPath(input, '/deliveries/redrive'),
      body: { from: input.text('from'), to: input.text('to'), endpoint: input.text('endpoint') },
    }),
  },
  {
    noun: 'webhook',
    verb: 'list',
    description: 'List webhook endpoints',
    options: [org, at],
    call: (input) => ({ method: 'GET', path: orgPath(input, '/webhooks'), query: atOf(input) }),
  },
  test,
  webhook('enable', 'Enable a disabled endpoint'),
  {
    ...webhook('rotate', 'Rotate the signing secret of an endpoint; the new one is shown only once'),
    question: 'Rotate the secret? The old one signs for 24 hours more, and then never again.',
  },
  webhook(
    'replay',
    'Replay the events since then that the endpoint has not answered with a 2xx',
    [from],
    (input) => ({
      from: input.text('from'),
    }),
  ),
];
