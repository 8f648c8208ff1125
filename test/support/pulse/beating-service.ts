import express from 'express';
import { startLively } from '../http/lively.js';
import type { FromService, ToService } from './beating.js';
import { startHeartbeat } from './heartbeat.js';

/** Every path that the service answers, as Express writes it. */
const paths = new Set<string>();
const route: unknown = Reflect.get(express.application, 'route');
if (typeof route !== 'function') throw new Error('Express has no function that declares a path');
Object.assign(express.application, {
  route: new Proxy(route, {
    apply: (target, app, args: readonly unknown[]) => {
      paths.add(String(args[0]));
      return Reflect.apply(target, app, args) as unknown;
    },
  }),
});

const send = (message: FromService): void => void process.send?.(message);

// The log is read back all the time, as it is after each start of a large one.
const lively = await startLively({ LOG_SCRUB_EVERY: '1s' });
const { service, tenant, owner, cards, hook, endpoints, receiver } = lively;
const { baseUrl, operatorToken, dataDir } = service;
const { org, key, design } = tenant;
const { cookie } = owner;
const heart = startHeartbeat();
process.on('message', (message: ToService) => {
  if (message === 'reset') heart.reset();
  if (message === 'a minute later') lively.pass(1);
  send({ longest: heart.longest(), share: heart.share() });
});
process.once('disconnect', () => void lively.stop());
send({
  lively: { baseUrl, operatorToken, dataDir, org, key, design, cookie, cards, hook, endpoints, receiver },
  paths: [...paths],
});
