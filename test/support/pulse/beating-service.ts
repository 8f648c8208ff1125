import express from 'express';
import { startLively } from '../http/lively.js';
import type { FromService, ToService } from './beating.js';
import { Crowd, type Crowding } from './crowd.js';
import { startHeartbeat } from './heartbeat.js';
import type { Engine } from '../../../bin/wiring/engine.js';

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

const crowding = process.argv[2];
const opened: Engine[] = [];
// A small log is read back all the time, as a large one is after each start.
const scrubEvery = crowding === undefined ? '1s' : '1h';
const lively = await startLively(
  { LOG_SCRUB_EVERY: scrubEvery },
  { opened: (engine) => void opened.push(engine) },
);
const { service, tenant, owner, cards, hook, endpoints, receiver } = lively;
const { baseUrl, operatorToken, dataDir } = service;
const { org, key, design } = tenant;
const { cookie } = owner;
const [engine] = opened;
if (engine !== undefined && crowding !== undefined) {
  for (const endpoint of Object.values(endpoints))
    await tenant.api(`/api/v1/webhooks/${endpoint}`, { method: 'PATCH', body: { events: ['card.mailed'] } });
  await service.operator(`/operator/v1/organizations/${org}/credits`, { body: { amount: 1_000_000 } });
  const crowded = { org, design, hook, endpoint: endpoints.failing };
  await new Crowd(engine, lively.clock).make(crowded, JSON.parse(crowding) as Crowding);
}
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
