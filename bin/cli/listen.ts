import type { z } from 'zod';
import type { deliveryChange } from '../../adapters/http/api/deliveries.js';
import type { webhookEvent } from '../../adapters/http/schema/outbound.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { messageOf } from '../../domain/errors.js';
import { deliveryHeaders, type SigningSecret } from '../../domain/webhook-signing.js';
import { ServiceRefused, Unreachable, WrongUsage, type OperatorCall, type OperatorClient } from './client.js';
import { hearTriggers, listenSecret, type Outcome } from './listeners.js';
import { untilInterrupted } from './progress.js';
import { eventType, keyOption, ownerOf } from './trigger.js';
import { longVerb, option, orgPath, type VerbContext } from './verb.js';

/** One server-sent event of the delivery stream. */
type StreamedChange = z.output<typeof deliveryChange>;
type Forwardable = NonNullable<StreamedChange['request']>;

const describe = ({ delivery, attempt }: StreamedChange): string => {
  const { id, type, card, status, drop_reason: reason } = delivery;
  const result =
    attempt === null ? '' : ` ${attempt.http_status ?? attempt.error ?? ''} in ${attempt.duration_ms} ms`;
  return `${type} ${card} ${id} ${status}${result}${reason === null ? '' : `: ${reason}`}`;
};

type Event = z.output<typeof webhookEvent>;

const listed = async <Row>(
  client: OperatorClient,
  path: string,
  query: OperatorCall['query'] = {},
): Promise<readonly Row[]> =>
  (JSON.parse(await client.call({ method: 'GET', path, query })) as { readonly data: readonly Row[] }).data;

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
  readonly url: string | null;
  readonly json: boolean;
  /** Absent: all. */
  readonly types: readonly string[] | undefined;
  /** Null: the operator, who has none. */
  readonly secret: SigningSecret | null;
  readonly print: (text: string) => void;
  /** Says how the run itself is. */
  readonly tell: (text: string) => void;
  readonly signal: AbortSignal;
}

const clock = new SystemClock();

const forward = async ({ url, signal }: Output, { headers, body }: Forwardable): Promise<Outcome> => {
  const began = clock.monotonic();
  const outcome = (http_status: number | null, error: string | null): Outcome => {
    return { url, http_status, error, duration_ms: clock.monotonic() - began };
  };
  if (url === null) return outcome(null, null);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(forwardTimeout)]),
    });
    await response.body?.cancel();
    return outcome(response.status, null);
  } catch (error) {
    return outcome(null, reasonOf(error));
  }
};

const passOn = async (output: Output, request: Forwardable): Promise<Outcome> => {
  const outcome = await forward(output, request);
  if (outcome.url !== null && !output.json)
    output.print(`  forwarded to ${outcome.url}: ${outcome.http_status ?? outcome.error}`);
  return outcome;
};

const isWanted = ({ types }: Output, type: string): boolean => types?.includes(type) !== false;

/** The headers with the listener's signature; none for the operator. */
const ownHeaders = ({ secret }: Output, delivery: string, type: string, body: string) =>
  secret === null ? {} : deliveryHeaders({ delivery, type, body, secrets: [secret], at: clock.now() });

/** Shows and forwards an event; null if it is not wanted. */
const takeEvent = async (output: Output, body: string): Promise<Outcome | null> => {
  const { id, type, data } = JSON.parse(body) as Event;
  if (!isWanted(output, type)) return null;
  output.print(output.json ? body : `${type} ${data.card} ${id}`);
  return passOn(output, { body, headers: ownHeaders(output, id.replace(/^evt_/, 'dlv_'), type, body) });
};

/** Shows a change of a delivery, and forwards the delivery when it was made. */
const takeChange = async (output: Output, data: string, endpoint: string | undefined): Promise<void> => {
  const change = JSON.parse(data) as StreamedChange;
  const { delivery, request } = change;
  if (!isWanted(output, delivery.type) || (endpoint ?? delivery.endpoint) !== delivery.endpoint) return;
  output.print(output.json ? data : describe(change));
  if (change.change === 'made' && request !== null)
    await passOn(output, {
      ...request,
      headers: { ...request.headers, ...ownHeaders(output, delivery.id, delivery.type, request.body) },
    });
};

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
  { secret, tell, signal }: Output,
  what: string,
): AsyncGenerator<string> {
  // The secret is on a line of its own, so that it is copied as it is.
  const signed = secret === null ? '' : ` What is forwarded is signed with\n${secret}`;
  let greeting = `Ready: ${what} are shown as they happen, until Ctrl-C.${signed}`;
  let isAway = false;
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

const listen = async (context: VerbContext): Promise<void> => {
  const { input, json, print, complain } = context;
  const url = input.text('forwardTo') ?? null;
  if (url !== null && !isHttp(url))
    throw new WrongUsage('--forward-to must be an address such as http://localhost:3000/webhooks.');
  const types = input.list('events')?.map(eventType);
  const isOperator = input.text('key') === undefined && (input.text('org') ?? '') !== '';
  const owner = isOperator ? null : ownerOf(context);
  const client = owner?.client ?? context.client;
  const path = (below: string) => (isOperator ? orgPath(input, below) : below);
  const id = input.text('endpoint')?.toLowerCase();
  const endpoints =
    id === undefined
      ? []
      : await listed<{ readonly id: string; readonly url: string }>(client, path('/webhooks'));
  const endpoint = endpoints.find((one) => one.id === id);
  if (id !== undefined && endpoint === undefined)
    throw new WrongUsage(`There is no endpoint ${id}. See webhook list.`);
  const isOfEvents = !isOperator && id === undefined;
  let last = isOfEvents ? (await listed<Event>(client, '/events', { limit: '1' }))[0]?.id : undefined;

  const secret = owner && listenSecret(owner.key, context.environment);
  // Standard output is for JSON alone.
  const tell = json ? (text: string) => complain(`${text}\n`) : print;
  const output = { url, json, types, secret, print, tell, signal: untilInterrupted() };
  const stop = owner && (await hearTriggers(owner.key, (body) => takeEvent(output, body), complain));
  try {
    if (isOfEvents) {
      const call = () => ({ method: 'GET', path: '/events', query: { starting_after: last } }) as const;
      for await (const body of unbroken(client, call, output, 'events')) {
        await takeEvent(output, body);
        last = (JSON.parse(body) as Event).id;
      }
    } else {
      const call = () => ({ method: 'GET', path: path('/deliveries/stream') }) as const;
      const what = `deliveries to ${endpoint?.url ?? 'every endpoint'}`;
      for await (const data of unbroken(client, call, output, what)) await takeChange(output, data, id);
    }
  } finally {
    stop?.();
  }
};

export const listenVerb = longVerb(
  'webhook listen',
  'Show events as they happen, until Ctrl-C, and forward them to a local program, signed with a secret that stays the same. Needs an API key with cards:read, or webhooks:manage with --endpoint; the operator sees deliveries',
  [
    option('org', 'id of the organization, for the operator'),
    keyOption,
    option('endpoint', 'instead of events, deliveries to this endpoint and their attempts'),
    option('events', 'only these types, such as card.mailed,card.held', 'list'),
    option('forward-to', 'URL of a local program that gets each event, signed'),
  ],
  listen,
);
