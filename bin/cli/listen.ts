import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { messageOf } from '../../domain/errors.js';
import { deliveryHeaders, type SigningSecret } from '../../domain/webhook-signing.js';
import { keyClient, ServiceRefused, WrongUsage, type OperatorClient } from './client.js';
import { untilInterrupted, type LongVerb, type VerbContext } from './long-verbs.js';
import { orgPath, segment, type Option } from './verb.js';

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

const forward = async (url: string, { headers, body }: Forwardable, signal: AbortSignal): Promise<string> => {
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

/** The webhooks of an organization: as the operator sees them, or their owner with an API key. */
interface Webhooks {
  readonly client: OperatorClient;
  readonly path: (below: string) => string;
  readonly isOwners: boolean;
}

const webhooksOf = ({ input, client, environment }: VerbContext): Webhooks => {
  const key = input.text('key');
  if (key === undefined && (input.text('org') ?? '') !== '')
    return { client, path: (below) => orgPath(input, below), isOwners: false };
  const owner = keyClient(environment, key);
  if (owner === null)
    throw new WrongUsage(
      'Name the organization: --org <id>. Or give an API key with the scope webhooks:manage: --key <key>, or API_KEY.',
    );
  return { client: owner, path: (below) => below, isOwners: true };
};

interface ListedEndpoint {
  readonly id: string;
  readonly url: string;
}

const endpointsOf = async ({ client, path }: Webhooks): Promise<readonly ListedEndpoint[]> => {
  const text = await client.call({ method: 'GET', path: path('/webhooks') });
  return (JSON.parse(text) as { readonly data: readonly ListedEndpoint[] }).data;
};

/** The endpoint that was asked for; null if none was. Throws WrongUsage. */
const wanted = (endpoints: readonly ListedEndpoint[], id: string | undefined): ListedEndpoint | null => {
  if (id === undefined) return null;
  const found = endpoints.find((endpoint) => endpoint.id === id.toLowerCase());
  if (found === undefined) throw new WrongUsage(`There is no endpoint ${id}. See webhook list.`);
  return found;
};

interface Output {
  readonly url: string | undefined;
  readonly json: boolean;
  readonly print: (text: string) => void;
  readonly ready: (text: string) => void;
  readonly signal: AbortSignal;
}

const passOn = async ({ url, json, print, signal }: Output, request: Forwardable): Promise<void> => {
  if (url === undefined) return;
  const result = await forward(url, request, signal);
  if (!json) print(`  forwarded to ${url}: ${result}`);
};

const hearDeliveries = async (
  { client, path }: Webhooks,
  endpoint: ListedEndpoint | null,
  output: Output,
): Promise<void> => {
  const of = endpoint === null ? 'every endpoint' : endpoint.url;
  const ready = () => output.ready(`Ready: deliveries to ${of} are shown as they happen, until Ctrl-C.`);
  const call = { method: 'GET', path: path('/deliveries/stream') } as const;
  for await (const data of client.stream(call, output.signal, ready)) {
    const change = JSON.parse(data) as StreamedChange;
    if (endpoint !== null && change.delivery.endpoint !== endpoint.id) continue;
    output.print(output.json ? data : describe(change));
    if (change.change === 'made' && change.request !== null) await passOn(output, change.request);
  }
};

/** One server-sent event of the feed of events. */
interface StreamedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly card: string };
}

const newestEvent = async (client: OperatorClient): Promise<string | undefined> => {
  const text = await client.call({ method: 'GET', path: '/events', query: { limit: '1' } });
  return (JSON.parse(text) as { readonly data: readonly { readonly id: string }[] }).data[0]?.id;
};

/** How long an owner's lack of endpoints is taken for granted while events come in. */
const endpointsKnownFor = 1_000;

/**
 * For an owner without an endpoint: the events themselves, signed here with a secret that is made for this
 * run. The service attempts nothing, so that nothing can fail and be disabled. It ends when an endpoint is
 * registered.
 */
const hearEvents = async (webhooks: Webhooks, output: Output): Promise<void> => {
  const { client } = webhooks;
  const entropy = new SystemEntropy();
  const clock = new SystemClock();
  const secret = `whsec_${entropy.bytes(32).toString('base64')}` as SigningSecret;
  // On a line of its own, so that it is copied as it is.
  const signed =
    output.url === undefined ? '' : ` Until it ends, what is forwarded is signed with\n${secret}`;
  const ready = () =>
    output.ready(`Ready: there is no endpoint, so events are shown as they happen, until Ctrl-C.${signed}`);
  const query = { starting_after: await newestEvent(client) };
  const call = { method: 'GET', path: '/events', query } as const;
  let checkedAt = clock.monotonic();
  for await (const body of client.stream(call, output.signal, ready)) {
    const event = JSON.parse(body) as StreamedEvent;
    output.print(output.json ? body : `${event.type} ${event.data.card} ${event.id}`);
    const delivery = event.id.replace(/^evt_/, 'dlv_');
    const headers = deliveryHeaders({
      delivery,
      type: event.type,
      body,
      secrets: [secret],
      at: clock.now(),
    });
    await passOn(output, { headers, body });
    if (clock.monotonic() - checkedAt < endpointsKnownFor) continue;
    checkedAt = clock.monotonic();
    if ((await endpointsOf(webhooks)).length > 0) {
      output.ready(
        'An endpoint was registered: from now on its deliveries are shown, signed with its secret.',
      );
      return;
    }
  }
};

/** The events as far as the key may read them; then, or once there is an endpoint, deliveries. */
const hearOwners = async (webhooks: Webhooks, output: Output): Promise<void> => {
  try {
    await hearEvents(webhooks, output);
  } catch (error) {
    if (!(error instanceof ServiceRefused && error.status === 403)) throw error;
    output.ready(
      'There is no endpoint, and without the scope cards:read the key may not see the events themselves.',
    );
  }
  if (!output.signal.aborted) await hearDeliveries(webhooks, null, output);
};

const listen = async (context: VerbContext): Promise<void> => {
  const { input, json, print, complain } = context;
  const url = input.text('forwardTo');
  if (url !== undefined && !isHttp(url))
    throw new WrongUsage('--forward-to must be an address such as http://localhost:3000/webhooks.');
  const webhooks = webhooksOf(context);
  const endpoints = await endpointsOf(webhooks);
  const endpoint = wanted(endpoints, input.text('endpoint'));
  // Standard output is for JSON alone.
  const ready = json ? (text: string) => complain(`${text}\n`) : print;
  const output = { url, json, print, ready, signal: untilInterrupted() };
  await (webhooks.isOwners && endpoints.length === 0
    ? hearOwners(webhooks, output)
    : hearDeliveries(webhooks, endpoint, output));
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
  const one = wanted(endpoints, input.text('endpoint'));
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
  { name: 'key', description: 'an API key with the scope webhooks:manage; else the one in API_KEY' },
];

export const webhookLongVerbs: readonly LongVerb[] = [
  {
    noun: 'webhook',
    verb: 'listen',
    isForOwners: true,
    description:
      'Show deliveries and attempts as they happen, until Ctrl-C; can forward each to a local program. Requires an API key with webhooks:manage. If you have no endpoint, it shows card events directly; the key then also needs cards:read',
    options: [
      ...owners,
      { name: 'endpoint', description: 'only deliveries to this endpoint' },
      { name: 'forward-to', description: 'URL of a local program that gets each new delivery, signed' },
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
