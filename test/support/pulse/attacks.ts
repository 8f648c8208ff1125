import { Agent, fetch } from 'undici';
import { pages } from '../http/console-pages.js';
import { operationsOf, readDocument, type Document } from '../http/document.js';
import type { Beating } from './beating.js';
import type { WorstInput } from './worst-inputs.js';

/** In milliseconds: for so long the thread that answers may be at work without a pause. */
export const maxPause = 50;

/** Pages lead to where a visitor was going, however long its address is. */
const patient = new Agent({ maxHeaderSize: 1024 * 1024 });

/** Instead of a status, if the caller has gone away. */
export const gaveUp = 0;

/** Something that a caller can send, and how to send it. */
export interface Attack {
  readonly name: string;
  readonly send: () => Promise<unknown>;
}

/** Requests to a service of which only some of the parts are named, and what stops its pulse. */
export interface Attacks {
  readonly document: Document;
  readonly addressOf: (path: string) => string;
  readonly send: (method: string, path: string, input: Omit<WorstInput, 'name'>) => Promise<number>;
  readonly asAttacks: (method: string, path: string, inputs: readonly WorstInput[]) => readonly Attack[];
  readonly parametersOf: (path: string, place: 'query' | 'header') => readonly string[];
  readonly stopping: (attacks: readonly Attack[]) => Promise<readonly string[]>;
}

/** `patience`: after so many milliseconds the caller of a request goes away. */
export const attacksOn = async (beating: Beating, patience?: number): Promise<Attacks> => {
  const { service, tenant, cards, hook, endpoints } = beating.lively;
  const document = await readDocument(service.baseUrl);
  const hooks = `/operator/v1/organizations/${tenant.org}/hooks`;
  const made = await service.operator(hooks, { body: { template: 'Dear {{name}}' } });
  const known: Readonly<Record<string, string>> = {
    org: tenant.org,
    card_code: cards.pending,
    code: cards.pending,
    token: String(made.body['token']),
    hooks: hook,
    webhooks: endpoints.working,
    designs: tenant.design,
    step: 'card_stock_prepared',
  };

  /** A path with things that there are. */
  const addressOf = (path: string): string =>
    path
      .replaceAll(/(\w+)\/(?:\{id\}|:id)/g, (_, noun: string) => `${noun}/${known[noun] ?? known['org']}`)
      .replaceAll(/\{(\w+)\}|:(\w+)/g, (_, one?: string, other?: string) => known[one ?? other ?? ''] ?? 'x');

  /** Sends a request, and reads its response, of a stream only the beginning. */
  const send: Attacks['send'] = async (...request) => {
    try {
      return await answerTo(...request);
    } catch (error) {
      if (error instanceof Error && error.name === 'TimeoutError') return gaveUp;
      throw error;
    }
  };

  const answerTo = async (
    method: string,
    path: string,
    { body, search, headers }: Omit<WorstInput, 'name'>,
  ): Promise<number> => {
    const token = path.startsWith('/operator') ? service.operatorToken : tenant.key;
    const query = search === undefined ? '' : `?${search}`;
    const response = await fetch(`${service.baseUrl}${path}${query}`, {
      dispatcher: patient,
      method,
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body }),
      ...(patience !== undefined && { signal: AbortSignal.timeout(patience) }),
    });
    if (response.headers.get('content-type')?.startsWith('text/event-stream') === true)
      await response.body?.cancel();
    else await response.arrayBuffer();
    return response.status;
  };

  const pauseIn = async (attacks: readonly Attack[]): Promise<number> => {
    const { longest } = await beating.during(async () => {
      for (const attack of attacks) await attack.send();
    });
    return longest;
  };

  /**
   * What of this stops the pulse, each of three times: what stops it once is what a process does only once,
   * such as loading a program, or other work that came in between.
   */
  const stopping = async (attacks: readonly Attack[]): Promise<readonly string[]> => {
    if ((await pauseIn(attacks)) <= maxPause) return [];
    const found: string[] = [];
    for (const attack of attacks) {
      let least = Infinity;
      for (let times = 0; times < 3 && least > maxPause; times += 1)
        least = Math.min(least, await pauseIn([attack]));
      if (least > maxPause) found.push(`${attack.name}: ${least.toFixed(0)} ms`);
    }
    return found;
  };

  const asAttacks = (method: string, path: string, inputs: readonly WorstInput[]): readonly Attack[] =>
    inputs.map((input) => ({
      name: `${method} ${path}: ${input.name}`,
      send: () => send(method, addressOf(path), input),
    }));

  /** What an operation or a page reads besides its path. */
  const parametersOf = (path: string, place: 'query' | 'header'): readonly string[] => {
    const inDocument = operationsOf(document)
      .filter((each) => each.path.replaceAll(/\{\w+\}/g, ':') === path.replaceAll(/:\w+/g, ':'))
      .flatMap(({ parameters = [] }) => parameters.filter((each) => each.in === place));
    const ofPage = place === 'query' ? (pages.find((each) => each.path === path)?.query ?? []) : [];
    const ofDocs = path.startsWith('/docs/search') && place === 'query' ? ['q'] : [];
    return [...new Set([...inDocument.map(({ name }) => name), ...ofPage, ...ofDocs])];
  };

  return { document, addressOf, send, asAttacks, parametersOf, stopping };
};
