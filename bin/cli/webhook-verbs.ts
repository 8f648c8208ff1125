import { messageOf } from '../../domain/errors.js';
import { WrongUsage } from './client.js';
import { untilInterrupted, type LongVerb, type Running } from './long-verbs.js';
import { inOrg, org, paging, pagingOf, segment, type Option, type Typed, type Verb } from './verbs.js';

const webhookPath = (typed: Typed, verb: string): string =>
  inOrg(typed, `/webhooks/${segment(typed.thing)}/${verb}`);

const webhook = (
  verb: string,
  about: string,
  options: readonly Option[] = [],
  body?: (typed: Typed) => object,
): Verb => ({
  noun: 'webhook',
  verb,
  about,
  thing: 'id',
  options: [org, ...options],
  call: (typed) => ({ method: 'POST', path: webhookPath(typed, verb), ...(body && { body: body(typed) }) }),
});

const from: Option = { name: 'from', about: 'a position of the log, or an ISO 8601 time', required: true };

export const webhookVerbs: readonly Verb[] = [
  {
    noun: 'delivery',
    verb: 'list',
    about: 'The delivery log, newest first',
    options: [
      org,
      ...paging,
      { name: 'endpoint', about: 'only deliveries to this endpoint' },
      { name: 'status', about: 'pending, delivered, exhausted or dropped' },
      { name: 'type', about: 'only events of this type' },
      { name: 'card', about: 'only events of this card' },
    ],
    call: (typed) => ({
      method: 'GET',
      path: inOrg(typed, '/deliveries'),
      query: {
        ...pagingOf(typed),
        endpoint: typed.text('endpoint'),
        status: typed.text('status'),
        type: typed.text('type'),
        card: typed.text('card'),
      },
    }),
  },
  {
    noun: 'delivery',
    verb: 'retry',
    about: 'Make a delivery due now',
    thing: 'id',
    options: [org],
    call: (typed) => ({ method: 'POST', path: inOrg(typed, `/deliveries/${segment(typed.thing)}/retry`) }),
  },
  {
    noun: 'delivery',
    verb: 'redrive',
    about: 'Send the dead letters of a time again',
    options: [
      org,
      from,
      { name: 'to', about: 'a position or a time' },
      { name: 'endpoint', about: 'only those of this endpoint' },
    ],
    call: (typed) => ({
      method: 'POST',
      path: inOrg(typed, '/deliveries/redrive'),
      body: { from: typed.text('from'), to: typed.text('to'), endpoint: typed.text('endpoint') },
    }),
  },
  {
    noun: 'webhook',
    verb: 'list',
    about: 'List webhook endpoints',
    options: [org],
    call: (typed) => ({ method: 'GET', path: inOrg(typed, '/webhooks') }),
  },
  webhook('test', 'Send a made-up event once'),
  webhook('enable', 'Switch an endpoint on again'),
  webhook('rotate', 'Give an endpoint a new signing secret; it is shown this once'),
  webhook('replay', 'Send what the endpoint has not answered with a 2xx since then', [from], (typed) => ({
    from: typed.text('from'),
  })),
];

/** One server-sent event of the delivery stream. */
interface Change {
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

const describe = ({ delivery, attempt }: Change): string => {
  const { id, type, card, status, drop_reason: reason } = delivery;
  const answer =
    attempt === null ? '' : ` ${attempt.http_status ?? attempt.error ?? ''} in ${attempt.duration_ms} ms`;
  return `${type} ${card} ${id} ${status}${answer}${reason === null ? '' : `: ${reason}`}`;
};

/** As long as the service itself waits for an answer. (spec: Retries) */
const patience = 10_000;

/** `fetch` says only that it failed; why, its cause knows. */
const reasonOf = (error: unknown): string => {
  const { cause } = error instanceof Error ? error : { cause: undefined };
  return messageOf(cause instanceof Error && cause.message !== '' ? cause : error);
};

const forward = async (
  url: string,
  { headers, body }: NonNullable<Change['request']>,
  signal: AbortSignal,
): Promise<string> => {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(patience)]),
    });
    await response.body?.cancel();
    return String(response.status);
  } catch (error) {
    return reasonOf(error);
  }
};

const isHttp = (text: string): boolean =>
  URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);

const listen = async ({ typed, client, json, print }: Running): Promise<void> => {
  const url = typed.text('forwardTo');
  if (url !== undefined && !isHttp(url))
    throw new WrongUsage('--forward-to must be an address such as http://localhost:3000/webhooks.');
  const signal = untilInterrupted();
  for await (const data of client.stream(
    { method: 'GET', path: inOrg(typed, '/deliveries/stream') },
    signal,
  )) {
    const change = JSON.parse(data) as Change;
    print(json ? data : describe(change));
    if (url === undefined || change.change !== 'made' || change.request === null) continue;
    const answer = await forward(url, change.request, signal);
    if (!json) print(`  forwarded to ${url}: ${answer}`);
  }
};

export const webhookLongVerbs: readonly LongVerb[] = [
  {
    noun: 'webhook',
    verb: 'listen',
    about:
      'Deliveries and attempts as they happen, until Ctrl-C; each new delivery can be passed on to a local program',
    options: [org, { name: 'forward-to', about: 'URL of the program that gets each new delivery, signed' }],
    run: listen,
  },
];
