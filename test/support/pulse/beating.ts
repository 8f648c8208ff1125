import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { clientOf, clientsOf, type RunningService } from '../http/service.js';
import { eventStorePlace, isDistributed } from '../runner/wiring.js';
import type { Lively } from '../http/lively.js';
import type { Ones } from '../http/console-pages.js';
import { Visitor } from '../http/visitor.js';
import type { Crowding } from './crowd.js';

/** What a lively organization in another process is. */
export interface BeatingLively extends Pick<Lively, 'cards' | 'hook' | 'endpoints' | 'receiver'> {
  readonly baseUrl: string;
  readonly operatorToken: string;
  readonly dataDir: string;
  readonly org: string;
  readonly key: string;
  readonly design: string;
  /** Of its owner. */
  readonly cookie: string | null;
}

export type ToService = 'reset' | 'longest' | 'a minute later';
/** Of the thread that answers, in milliseconds: the longest time of work without a pause. */
export interface Measured {
  readonly longest: number;
  /** Of the time in which threads of the service had work to do, the share in which they had a processor. */
  readonly share: number;
}

export type FromService = Measured | { readonly lively: BeatingLively; readonly paths: readonly string[] };

/** A lively organization, as tests know it, in a service that has a process of its own. */
export interface Beating {
  readonly lively: Ones;
  /** Every path that it answers, as Express writes it. */
  readonly paths: readonly string[];
  /** A minute passes for its clock, so that what it counts by the minute begins anew. */
  readonly aMinuteLater: () => Promise<void>;
  /** What was measured in the service while this ran. */
  readonly during: (work: () => Promise<void>) => Promise<Measured>;
}

const program = fileURLToPath(new URL('./beating-service.js', import.meta.url));

/** `crowding`: how many rows its organization has; absent: a few. */
export const startBeating = async (crowding?: Crowding): Promise<Beating> => {
  // Its stand-in must not beat in the service's own thread.
  const store = isDistributed() ? await eventStorePlace() : null;
  const child = fork(program, crowding === undefined ? [] : [JSON.stringify(crowding)], {
    env: { ...process.env, ...(store !== null && { EVENTSTORE_URL: store.url }) },
    execArgv: ['--max-semi-space-size=64'],
  });
  const ended = once(child, 'exit').then(([code]: unknown[]) =>
    Promise.reject(new Error(`the service ended with ${String(code)}`)),
  );
  ended.catch(() => undefined);
  const hear = async (): Promise<FromService> => {
    const [message]: unknown[] = await Promise.race([once(child, 'message'), ended]);
    return message as FromService;
  };
  const tell = async (message: ToService): Promise<Measured> => {
    const heard = hear();
    child.send(message);
    const answer = await heard;
    if ('lively' in answer) throw new Error('the service has begun twice');
    return answer;
  };
  const begun = await hear();
  if (!('lively' in begun)) throw new Error('the service has not said where it is');
  const { baseUrl, operatorToken, dataDir, org, key, design, cookie, ...more } = begun.lively;
  const stop = async (): Promise<void> => {
    const over = once(child, 'exit');
    child.disconnect();
    await over;
    store?.close();
  };
  const service: RunningService = {
    baseUrl,
    address: baseUrl,
    port: Number(new URL(baseUrl).port),
    operatorAddress: baseUrl,
    operatorToken,
    prepared: Promise.resolve(null),
    makeLink: () => Promise.resolve(null),
    dataDir,
    stop,
    ...clientsOf({ baseUrl, operatorToken }),
  };
  const api = clientOf(baseUrl, key);
  const owner = new Visitor(service);
  owner.cookie = cookie;
  return {
    lively: {
      ...more,
      service,
      owner,
      tenant: {
        org,
        key,
        keyId: '',
        design,
        api,
        withScopes: () => Promise.resolve(api),
        balance: async () => Number((await api('/api/v1/credits')).body['balance']),
      },
      stop,
    },
    paths: begun.paths,
    aMinuteLater: async () => void (await tell('a minute later')),
    during: async (work) => {
      await tell('reset');
      await work();
      return tell('longest');
    },
  };
};
