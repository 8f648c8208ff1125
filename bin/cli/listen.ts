import { SystemClock } from '../../adapters/system/clock.js';
import { messageOf } from '../../domain/errors.js';
import { deliveryHeaders, type SigningSecret } from '../../domain/webhook-signing.js';
import { ServiceRefused, Unreachable, WrongUsage, type OperatorCall, type OperatorClient } from './client.js';
import { listenSecret } from './listen-secret.js';
import { untilInterrupted, type LongVerb, type VerbContext } from './long-verbs.js';
import {
  endpointsOf,
  eventType,
  webhooksOf,
  wantedEndpoint,
  type ListedEndpoint,
  type Webhooks,
} from './own-webhooks.js';
import { segment, type Option } from './verb.js';

/** A delivery as it is forwarded to a program. */
interface Forwardable {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** One server-sent event of the delivery stream. */
interface StreamedChange {
  readonly change: 'made' | 'attempted' | 'changed';
  readonly delivery: {
    readonly id: string;
    readonly type: string;
    readonly card: string;
    readonly endpoint: string;
    readonly status: string;
    readonly drop_reason: string | null;
  };
  readonly attempt: {
    readonly http_status: number | null;
    readonly error: string | null;
    readonly duration_ms: number;
  } | null;
  readonly request: Forwardable | null;
}

const describe = ({ delivery, attempt }: StreamedChange): string => {
  const { id, type, card, status, drop_reason: reason } = delivery;
  const result =
    attempt === null ? '' : ` ${attempt.http_status ?? attempt.error ?? ''} in ${attempt.duration_ms} ms`;
  return `${type} ${card} ${id} ${status}${result}${reason === null ? '' : `: ${reason}`}`;
};

/** As long as the service itself waits for a response. (docs/contract.md#retries) */
const forwardTimeout = 10_000;

/** The cause of an error of `fetch`, whose own message only says that it failed. */
const reasonOf = (error: unknown): string => {
  const { cause } = error instanceof Error ? error : { cause: undefined };
  return messageOf(cause instanceof Error && cause.message !== '' ? cause : error);
};

const isHttp = (text: string): boolean =>
  URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);

/** Where what is heard goes: to the terminal and, if it was named, to a program. */
interface Output {
  readonly url: string | undefined;
  readonly json: boolean;
  /** Null: all. */
  readonly types: readonly string[] | null;
  /** Null: nothing is signed here. */
  readonly secret: SigningSecret | null;
  readonly print: (text: string) => void;
  /** Says how the listener itself is. */
  readonly tell: (text: string) => void;
  readonly signal: AbortSignal;
}

const clock = new SystemClock();
const retryAfter = 1_000;

/** Whether the service may soon answer otherwise. */
const passes = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof ServiceRefused && error.status >= 429);

/**
 * The data of a stream's events until the signal aborts. While the service is away it is asked again and
 * again. Throws ServiceRefused.
 */
async function* unbroken(
  client: OperatorClient,
  call: () => OperatorCall,
  { tell, signal }: Output,
  ready: string,
): AsyncGenerator<string> {
  let [greeting, isAway] = [ready, false];
  const onOpen = () => {
    tell(greeting);
    [greeting, isAway] = ['The service is back.', false];
  };
  while (!signal.aborted)
    try {
      yield* client.stream(call(), signal, onOpen);
    } catch (error) {
      if (!passes(error)) throw error;
      if (!isAway) tell(`${messageOf(error)} Trying again until Ctrl-C.`);
      isAway = true;
      await clock.sleep(retryAfter, signal);
    }
}

const passOn = async ({ url, json, print, signal }: Output, { headers, body }: Forwardable) => {
  if (url === undefined) return;
  const timeout = AbortSignal.timeout(forwardTimeout);
  const sent = fetch(url, {
    method: 'POST',
    headers,
    body,
    redirect: 'manual',
    signal: AbortSignal.any([signal, timeout]),
  });
  const result = await sent.then(async (response) => {
    await response.body?.cancel();
    return String(response.status);
  }, reasonOf);
  if (!json) print(`  forwarded to ${url}: ${result}`);
};

const isWanted = ({ types }: Output, type: string): boolean => types === null || types.includes(type);

/** The request of a delivery, signed with the secret of the listener, too. */
const alsoSigned = ({ headers, body }: Forwardable, secret: SigningSecret | null): Forwardable => {
  const { 'service-delivery': delivery = '', 'service-event': type = '', 'webhook-timestamp': t } = headers;
  if (secret === null) return { headers, body };
  const own = deliveryHeaders({ delivery, type, body, secrets: [secret], at: Number(t) * 1_000 });
  return {
    body,
    headers: {
      ...headers,
      'service-signature': `${headers['service-signature']},${own['service-signature']?.replace(/^t=\d+,/, '')}`,
      'webhook-signature': `${headers['webhook-signature']} ${own['webhook-signature']}`,
    },
  };
};

const signedWith = ({ secret }: Output, also = ''): string =>
  // On a line of its own, so that it is copied as it is.
  secret === null ? '' : ` What is forwarded is${also} signed with\n${secret}`;

const hearDeliveries = async (
  { client, path }: Webhooks,
  endpoint: ListedEndpoint | null,
  output: Output,
): Promise<void> => {
  const of = endpoint === null ? 'every endpoint' : endpoint.url;
  const ready = `Ready: deliveries to ${of} are shown as they happen, until Ctrl-C.${signedWith(output, ' also')}`;
  const call = { method: 'GET', path: path('/deliveries/stream') } as const;
  for await (const data of unbroken(client, () => call, output, ready)) {
    const change = JSON.parse(data) as StreamedChange;
    const { delivery, request } = change;
    if ((endpoint !== null && delivery.endpoint !== endpoint.id) || !isWanted(output, delivery.type))
      continue;
    output.print(output.json ? data : describe(change));
    if (change.change === 'made' && request !== null)
      await passOn(output, alsoSigned(request, output.secret));
  }
};

/** The body of an event. */
interface StreamedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly card: string };
}

const newestEvent = async (client: OperatorClient): Promise<string | undefined> => {
  const text = await client.call({ method: 'GET', path: '/events', query: { limit: '1' } });
  return (JSON.parse(text) as { readonly data: readonly { readonly id: string }[] }).data[0]?.id;
};

/** Shows an event, and forwards it as a delivery of it, signed with the secret of the listener. */
const takeEvent = async (body: string, secret: SigningSecret, output: Output): Promise<void> => {
  const { id, type, data } = JSON.parse(body) as StreamedEvent;
  if (!isWanted(output, type)) return;
  output.print(output.json ? body : `${type} ${data.card} ${id}`);
  const delivery = id.replace(/^evt_/, 'dlv_');
  const headers = deliveryHeaders({ delivery, type, body, secrets: [secret], at: clock.now() });
  await passOn(output, { headers, body });
};

/** The events themselves: the service attempts nothing, so nothing can fail, and no endpoint is needed. */
const hearEvents = async (
  client: OperatorClient,
  after: string | undefined,
  secret: SigningSecret,
  output: Output,
): Promise<void> => {
  let last = after;
  const call = () => ({ method: 'GET', path: '/events', query: { starting_after: last } }) as const;
  const ready = `Ready: events are shown as they happen, until Ctrl-C.${signedWith(output)}`;
  for await (const body of unbroken(client, call, output, ready)) {
    await takeEvent(body, secret, output);
    last = (JSON.parse(body) as StreamedEvent).id;
  }
};

const listen = async (context: VerbContext): Promise<void> => {
  const { input, json, print, complain, environment } = context;
  const url = input.text('forwardTo');
  if (url !== undefined && !isHttp(url))
    throw new WrongUsage('--forward-to must be an address such as http://localhost:3000/webhooks.');
  const types = input.list('events')?.map(eventType) ?? null;
  const webhooks = webhooksOf(context);
  const endpoint = await wantedEndpoint(webhooks, input.text('endpoint'));
  const { client, key } = webhooks;
  const after = key === null || endpoint !== null ? undefined : await newestEvent(client);
  const secret = key === null ? null : listenSecret(key, environment, complain);
  // Standard output is for JSON alone.
  const tell = json ? (text: string) => complain(`${text}\n`) : print;
  const output = { url, json, types, secret, print, tell, signal: untilInterrupted() };
  await (secret === null || endpoint !== null
    ? hearDeliveries(webhooks, endpoint, output)
    : hearEvents(client, after, secret, output));
};

interface TestResult {
  readonly http_status: number | null;
  readonly error: string | null;
  readonly duration_ms: number;
}

const trigger = async (context: VerbContext): Promise<void> => {
  const { input, json, print } = context;
  const webhooks = webhooksOf(context);
  const endpoints = await endpointsOf(webhooks);
  const one = await wantedEndpoint(webhooks, input.text('endpoint'));
  if (endpoints.length === 0)
    throw new WrongUsage('There is no endpoint to send it to. Register one: POST /api/v1/webhooks.');
  const { client, path } = webhooks;
  for (const { id, url } of one === null ? endpoints : [one]) {
    const query = { type: input.argument };
    const text = await client.call({ method: 'POST', path: path(`/webhooks/${segment(id)}/test`), query });
    const { http_status: status, error, duration_ms: ms } = JSON.parse(text) as TestResult;
    print(json ? text : `${input.argument} to ${url}: ${status ?? error ?? ''} in ${ms} ms`);
  }
};

const owners: readonly Option[] = [
  { name: 'org', description: 'id of the organization, for the operator' },
  { name: 'key', description: 'an API key; else the one in API_KEY' },
];

export const webhookLongVerbs: readonly LongVerb[] = [
  {
    noun: 'webhook',
    verb: 'listen',
    isForOwners: true,
    description:
      'Show events as they happen, until Ctrl-C, and forward them to a local program, signed with a secret that stays the same. Needs an API key with cards:read, or webhooks:manage with --endpoint; the operator sees deliveries',
    options: [
      ...owners,
      { name: 'endpoint', description: 'instead of events, deliveries to this endpoint and their attempts' },
      { name: 'events', description: 'only these types, such as card.mailed,card.held', kind: 'list' },
      { name: 'forward-to', description: 'URL of a local program that gets each event, signed' },
    ],
    run: listen,
  },
  {
    noun: 'webhook',
    verb: 'trigger',
    isForOwners: true,
    description: 'Send a test event (for example, card.mailed) to one endpoint or to all endpoints',
    argument: 'type',
    options: [...owners, { name: 'endpoint', description: 'only this endpoint' }],
    run: trigger,
  },
];
