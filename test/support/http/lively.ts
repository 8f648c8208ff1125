import { authority, receiverSettings, startReceiver } from './receiver.js';
import { settableClock } from './http.js';
import type { Clock } from '../../../application/ports/system.js';
import { eventually } from '../time/eventually.js';
import { aCard, startTestService, type RunningService, type Tenant } from './service.js';
import { memberOf, type Visitor } from './visitor.js';
import type { Interference } from '../simulation/interference.js';

/** A service with an organization in which everything that pages show has happened. */
export interface Lively {
  readonly service: RunningService;
  readonly tenant: Tenant;
  readonly owner: Visitor;
  /** A card that is in production, one that is held, one that nothing was done with. */
  readonly cards: { readonly atWork: string; readonly held: string; readonly pending: string };
  readonly hook: string;
  readonly endpoints: { readonly working: string; readonly failing: string };
  /** An address at which endpoints get 200. */
  readonly receiver: string;
  /** Lets minutes pass for the clock of the service. */
  readonly pass: (minutes: number) => void;
  readonly clock: Clock;
  readonly stop: () => Promise<void>;
}

const people = [
  ['Ada Lovelace', 'Springfield', 'IL', '62701'],
  ['Grace Hopper', 'Arlington', 'VA', '22201'],
  ['Katherine Johnson', 'Hampton', 'VA', '23666'],
  ['Annie Easley', 'Cleveland', 'OH', '44101'],
  ['Mary Jackson', 'Hampton', 'VA', '23666'],
  ['Hedy Lamarr', 'Orlando', 'FL', '32801'],
  ['Radia Perlman', 'Portland', 'OR', '97201'],
  ['Evelyn Boyd Granville', 'Washington', 'DC', '20001'],
] as const;

const steps = ['card_stock_prepared', 'card_written', 'envelope_addressed', 'packed', 'stamped', 'posted'];

/** How many steps are done of each card, the oldest first. */
const progress = [6, 5, 4, 2, 1, 0, 0];

const message = (name: string): string =>
  `Dear ${name.split(' ')[0] ?? name},\n\nthank you for your first year with us. It means the world.\n\nWarmly,\nBo and everybody at Acme`;

/** `environment`: settings besides its own. */
export const startLively = async (
  environment: Readonly<Record<string, string>> = {},
  interference: Interference = {},
): Promise<Lively> => {
  const clock = settableClock('2026-03-02T14:05:00.000Z');
  const pass = (minutes: number): void => clock.set(new Date(clock.now() + minutes * 60_000).toISOString());
  const receiver = await startReceiver((response, { path }) =>
    response.writeHead(path === '/crm' ? 503 : 200).end(path === '/crm' ? 'down for maintenance' : ''),
  );
  const settings = { ...receiverSettings, WEBHOOK_BACKOFF: '1m', WEBHOOK_DISABLE_AFTER: '3', ...environment };
  const service = await startTestService(settings, clock, [authority.cert], interference);
  const tenant = await service.tenant({ credits: 250 });
  const { api } = tenant;
  const owner = await memberOf(service, tenant.org, 'owner', 'ada@acme.example', 'Ada Byron');
  await memberOf(service, tenant.org, 'developer', 'bo@acme.example', 'Bo Ott');
  const made = async (path: string, body: object): Promise<string> => (await api(path, { body })).id;
  const working = await made('/api/v1/webhooks', { url: `${receiver.url}shop`, description: 'Shop' });
  const failing = await made('/api/v1/webhooks', { url: `${receiver.url}crm`, description: 'CRM' });
  const office = `/operator/v1/organizations/${tenant.org}`;
  for (const [label, scopes] of [
    ['Shop', ['cards:send', 'cards:read']],
    ['CRM', ['contacts:write', 'contacts:read']],
  ])
    await service.operator(`${office}/keys`, { body: { label, scopes } });
  const hook = await service.operator(`${office}/hooks`, {
    body: { label: 'Birthdays', signed_by: 'Bo', template: 'Dear {{first_name}}, happy birthday!' },
  });
  const floor = (card: string, path: string, body?: object) =>
    service.operator(`/operator/v1/cards/${card}/${path}`, { method: 'POST', ...(body && { body }) });
  const sent: string[] = [];
  for (const [at, done] of progress.entries()) {
    pass(17);
    const [name, city, state, zip] = people[at % people.length] ?? people[0];
    const recipient = { name, line1: `${12 + at} Analytical Way`, city, state, zip };
    const later = at === progress.length - 1 ? { arrive_on: '2026-06-10' } : {};
    const body = aCard({ recipient, message: message(name), reference: `order-${1041 + at}`, ...later });
    const card = await made('/api/v1/cards', body);
    sent.push(card);
    if (done > 0) await floor(card, 'queue');
    for (const step of steps.slice(0, done)) {
      pass(3);
      await floor(card, `steps/${step}`, { status: 'in_progress', machine: 'P3' });
      pass(2);
      await floor(card, `steps/${step}`, { status: 'completed' });
    }
  }
  await floor(sent[3] ?? '', `steps/${steps[2]}`, { status: 'in_progress', machine: 'P1' });
  const toMae = { name: 'Mae Jemison', line1: '4 Orbit Road', city: 'Decatur', state: 'AL', zip: '35601' };
  const held = await made(
    '/api/v1/cards',
    aCard({ recipient: toMae, message: 'Happy birthday → see you soon', reference: 'birthday-12' }),
  );
  await eventually(async () => {
    pass(2);
    return (await api(`/api/v1/webhooks/${failing}`)).body['active'] === false;
  });
  return {
    service,
    tenant,
    owner,
    cards: { atWork: sent[3] ?? '', held, pending: sent[6] ?? '' },
    hook: hook.id,
    endpoints: { working, failing },
    receiver: receiver.url,
    pass,
    clock,
    stop: async () => {
      await service.stop();
      await receiver.close();
    },
  };
};
