import { messageOf } from '../../domain/errors.js';
import { keyClient, WrongUsage } from './client.js';
import { untilInterrupted, type LongVerb, type VerbContext } from './long-verbs.js';
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
  webhook('test', 'Send a test event'),
  webhook('enable', 'Enable a disabled endpoint'),
  webhook('rotate', 'Rotate the signing secret of an endpoint; the new one is shown only once'),
  webhook(
    'replay',
    'Replay the events since then that the endpoint has not answered with a 2xx',
    [from],
    (input) => ({
      from: input.text('from'),
    }),
  ),
];

/** One server-sent event of the delivery stream. */
interface StreamedChange {
  readonly change: 'made' | 'attempted' | 'changed';
  readonly delivery: {
    readonly id: string;
    readonly type: string;
    readonly card: string;
    readonly status: string;
    readonly drop_reason: string | null;
  };
  readonly attempt: {
    readonly http_status: number | null;
    readonly error: string | null;
    readonly duration_ms: number;
  } | null;
  readonly request: { readonly headers: Readonly<Record<string, string>>; readonly body: string } | null;
}

const describe = ({ delivery, attempt }: StreamedChange): string => {
  const { id, type, card, status, drop_reason: reason } = delivery;
  const result =
    attempt === null ? '' : ` ${attempt.http_status ?? attempt.error ?? ''} in ${attempt.duration_ms} ms`;
  return `${type} ${card} ${id} ${status}${result}${reason === null ? '' : `: ${reason}`}`;
};

/** As long as the service itself waits for a response. (docs/contract.md#retries) */
const forwardTimeout = 10_000;

/** `fetch` only says that it failed; its cause says why. */
const reasonOf = (error: unknown): string => {
  const { cause } = error instanceof Error ? error : { cause: undefined };
  return messageOf(cause instanceof Error && cause.message !== '' ? cause : error);
};

const forward = async (
  url: string,
  { headers, body }: NonNullable<StreamedChange['request']>,
  signal: AbortSignal,
): Promise<string> => {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(forwardTimeout)]),
    });
    await response.body?.cancel();
    return String(response.status);
  } catch (error) {
    return reasonOf(error);
  }
};

const isHttp = (text: string): boolean =>
  URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);

/** The stream of an organization's deliveries: for the operator, or with an API key for its owner. */
const deliveriesOf = (
  { input, client, environment }: VerbContext,
  signal: AbortSignal,
): AsyncIterable<string> => {
  const org = input.text('org') ?? '';
  if (org !== '') return client.stream({ method: 'GET', path: orgPath(input, '/deliveries/stream') }, signal);
  const owner = keyClient(environment);
  if (owner === null)
    throw new WrongUsage(
      'Name the organization: --org <id>. Or put an API key with the scope webhooks:manage into API_KEY.',
    );
  return owner.stream({ method: 'GET', path: '/deliveries/stream' }, signal);
};

const listen = async (context: VerbContext): Promise<void> => {
  const { input, json, print } = context;
  const url = input.text('forwardTo');
  if (url !== undefined && !isHttp(url))
    throw new WrongUsage('--forward-to must be an address such as http://localhost:3000/webhooks.');
  const signal = untilInterrupted();
  for await (const data of deliveriesOf(context, signal)) {
    const change = JSON.parse(data) as StreamedChange;
    print(json ? data : describe(change));
    if (url === undefined || change.change !== 'made' || change.request === null) continue;
    const result = await forward(url, change.request, signal);
    if (!json) print(`  forwarded to ${url}: ${result}`);
  }
};

export const webhookLongVerbs: readonly LongVerb[] = [
  {
    noun: 'webhook',
    verb: 'listen',
    isForOwners: true,
    description:
      'Show deliveries and attempts as they happen, until Ctrl-C; can forward each new delivery to a local program. With an API key in API_KEY, nothing else is needed',
    options: [
      org,
      { name: 'forward-to', description: 'URL of a local program that gets each new delivery, signed' },
    ],
    run: listen,
  },
];
