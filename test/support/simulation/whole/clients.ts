import { Dice } from './dice.js';
import { ledgerStream } from '../../../../domain/credits.js';
import type { Process } from './processes.js';
import { operatorToken } from './settings.js';
import type { Town, Wish } from './town.js';

const recipient = {
  name: 'Ada Lovelace',
  line1: '12 Analytical Way',
  city: 'Springfield',
  state: 'IL',
  zip: '62701',
};

const day = 86_400_000;
const dayOf = ({ house }: Town): number => Math.floor(house.clock.monotonic() / day);

/** Something that somebody does, and how often compared with the rest. */
interface Deed {
  readonly often: number;
  readonly does: (town: Town, dice: Dice) => Promise<unknown>;
}

/**
 * Whichever process is asked, the balance is one that the ledger has had since the movement of this type for
 * a card that was answered.
 */
const seeBalance = async (
  town: Town,
  type: 'CreditSpent' | 'CreditReturned',
  code: string,
  by: Process | null,
): Promise<void> => {
  const { house, acme } = town;
  const movements = () => house.store.events.filter(({ stream }) => stream === ledgerStream(acme.org));
  const answered = movements().findIndex(
    // What a send is answered for is spent at the card's first event; a release's spend is another answer.
    ({ type: moved, data }) => {
      const cause = JSON.stringify(data);
      return (
        moved === type && cause.includes(code) && (type !== 'CreditSpent' || cause.includes('"revision":0'))
      );
    },
  );
  if (answered === -1) return;
  const reply = await town.askElsewhere({ method: 'GET', path: '/api/v1/credits', token: acme.key }, by);
  const shown = reply?.body['balance'];
  const isShown = ({ data }: { readonly data: { readonly balance?: unknown } }) => data.balance === shown;
  if (reply?.status === 200 && !movements().slice(answered).some(isShown))
    house.problems.push(`13: a balance of ${String(shown)} is from before the ${type} of ${code}`);
};

/** Sends a card, and looks it up through any process once it is acknowledged. */
const sendCard = async (
  town: Town,
  dice: Dice,
  body: Readonly<Record<string, unknown>>,
  key: string | null,
): Promise<number | null> => {
  const { acme, house } = town;
  const by = house.process(dice);
  const headers = key === null ? {} : { 'idempotency-key': key };
  const asked = { method: 'POST', path: '/api/v1/cards', token: acme.key, body, headers };
  const reply = await town.ask(dice, asked, by);
  town.note({ kind: 'send', key, payload: JSON.stringify(body) }, reply);
  const code = reply?.body['id'];
  if (reply?.status !== 201 || typeof code !== 'string') return reply?.status ?? null;
  town.codes.push(code);
  const found = await town.ask(dice, { method: 'GET', path: `/api/v1/cards/${code}`, token: acme.key });
  if (found !== null && found.status === 404)
    house.problems.push(`13: ${code} was acknowledged, and a lookup did not find it`);
  // For a held card nothing is spent, but another request may have drawn its code.
  if (reply.body['status'] === 'scheduled') await seeBalance(town, 'CreditSpent', code, by);
  if (house.isPrompt) {
    const listed = await town.ask(dice, { method: 'GET', path: '/api/v1/cards?limit=100', token: acme.key });
    if (listed?.status === 200 && !listed.text.includes(code))
      house.problems.push(`13: ${code} was acknowledged, and a list did not show it`);
  }
  return reply.status;
};

const collection = ['thank-you-classic', 'happy-birthday-cake', 'welcome-home'];

const newBody = (town: Town, dice: Dice): Readonly<Record<string, unknown>> => ({
  recipient,
  message: dice.chance(120) ? 'Great work 🎉' : 'Thank you, Ada.',
  reference: `r${(town.made += 1)}`,
  ...(dice.chance(200) && { design_id: `card:${dice.pick(collection)}` }),
});

const sendNew: Deed['does'] = async (town, dice) => {
  const body = newBody(town, dice);
  if (!dice.chance(750)) return sendCard(town, dice, body, null);
  const wish: Wish = { key: `key-${dice.seed}-${town.made}`, body, day: dayOf(town) };
  town.wishes.push(wish);
  return sendCard(town, dice, body, wish.key);
};

/** Sends again under a key, now and then with another body. */
const sendAgain: Deed['does'] = async (town, dice) => {
  const wish = dice.pick(town.wishes.slice(-5));
  if (wish === null || wish.day !== dayOf(town)) return sendNew(town, dice);
  return sendCard(town, dice, dice.chance(60) ? { ...wish.body, message: 'Other.' } : wish.body, wish.key);
};

const steps = ['card_stock_prepared', 'card_written', 'envelope_addressed', 'stamped', 'posted'];

/** Cancels a card, and looks at it and at the balance through another process. */
const cancel = async (town: Town, dice: Dice, code: string): Promise<void> => {
  const { house, acme } = town;
  const card = { path: `/api/v1/cards/${code}`, token: acme.key };
  const by = house.process(dice);
  const cancelled = await town.ask(dice, { method: 'DELETE', ...card }, by);
  town.note({ kind: 'cancel', card: code }, cancelled);
  if (cancelled?.status !== 200) return;
  const shown = await town.askElsewhere({ method: 'GET', ...card }, by);
  if (shown?.status === 200 && shown.body['status'] !== 'cancelled')
    house.problems.push(`13: ${code} was cancelled, and is shown as ${String(shown.body['status'])}`);
  if (cancelled.body['credits_refunded'] === 1) await seeBalance(town, 'CreditReturned', code, by);
};

const changeCard: Deed['does'] = async (town, dice) => {
  const code = dice.pick(town.codes.slice(-8));
  if (code === null) return sendNew(town, dice);
  const wish = dice.pick([
    'cancel',
    'cancel',
    'hold',
    'release',
    'release',
    'queue',
    'step',
    'step',
    'fail',
  ] as const);
  if (wish === 'cancel') {
    await cancel(town, dice, code);
    return null;
  }
  const reply =
    wish === 'step'
      ? await town.asOperator(dice, 'POST', `/cards/${code}/steps/${dice.pick(steps)}`, {
          status: dice.pick(['in_progress', 'completed', 'completed', 'failed']),
        })
      : await town.asOperator(
          dice,
          'POST',
          `/cards/${code}/${wish}`,
          wish === 'hold' || wish === 'fail' ? { reason: 'because' } : undefined,
        );
  town.note({ kind: 'change', card: code }, reply);
  return null;
};

/** Brings a card from the queue to the mail, as far as that goes. */
const produce: Deed['does'] = async (town, dice) => {
  const code = dice.pick(town.codes.slice(-8));
  if (code === null) return;
  const tell = async (path: string, body?: unknown): Promise<void> =>
    town.note(
      { kind: 'change', card: code },
      await town.asOperator(dice, 'POST', `/cards/${code}/${path}`, body),
    );
  await tell('queue');
  for (const step of steps)
    for (const status of ['in_progress', 'completed']) await tell(`steps/${step}`, { status });
};

const buy: Deed['does'] = (town, dice) =>
  town.asOperator(dice, 'POST', `/organizations/${town.acme.org}/credits`, { amount: 1 + dice.below(3) });

const buyByReference: Deed['does'] = async (town, dice) => {
  const number = dice.below(4);
  const reference = `invoice ${number}`;
  const bought = { amount: 1 + (number % 3), reference };
  const reply = await town.asOperator(dice, 'POST', `/organizations/${town.acme.org}/credits`, bought);
  const balance = reply?.body['balance'];
  if (reply?.status === 201 && typeof balance === 'number') town.purchases.push({ reference, balance });
};

const withdraw: Deed['does'] = (town, dice) =>
  town.asOperator(dice, 'POST', `/organizations/${town.acme.org}/credits/withdraw`, {
    amount: 1,
    reason: 'refund',
  });

const register: Deed['does'] = async (town, dice) => {
  const url = `https://r${dice.below(4)}.test/`;
  const body = { url, ...(dice.chance(400) && { events: ['card.created'] }) };
  const reply = await town.ask(dice, {
    method: 'POST',
    path: '/api/v1/webhooks',
    body,
    token: town.acme.key,
  });
  if (reply !== null && reply.status < 300) town.endpoints.set(url, String(reply.body['id']));
};

const unregister: Deed['does'] = async (town, dice) => {
  const [url, endpoint] = dice.pick([...town.endpoints]) ?? [];
  if (url === undefined || endpoint === undefined) return;
  const path = `/api/v1/webhooks/${endpoint}`;
  const reply = await town.ask(dice, { method: 'DELETE', path, token: town.acme.key });
  if (reply?.status !== 200) return;
  if (town.endpoints.get(url) === endpoint) town.endpoints.delete(url);
  if (!town.deletedAt.has(endpoint)) town.deletedAt.set(endpoint, town.house.clock.now());
};

const enable: Deed['does'] = async (town, dice) => {
  const endpoint = dice.pick([...town.endpoints.values()]);
  if (endpoint === null) return;
  const what = dice.pick(['enable', 'enable', 'rotate']);
  await town.ask(dice, {
    method: 'POST',
    path: `/api/v1/webhooks/${endpoint}/${what}`,
    token: town.acme.key,
  });
};

const saveContact: Deed['does'] = async (town, dice) => {
  const external = `c-${dice.below(6)}`;
  const body = { external_id: external, name: `Ada ${(town.made += 1)}` };
  const reply = await town.ask(dice, {
    method: 'POST',
    path: '/api/v1/contacts',
    body,
    token: town.acme.key,
  });
  const id = reply?.body['id'];
  if (typeof id === 'string' && reply !== null && reply.status < 300) town.contacts.push(id);
};

const fireHook: Deed['does'] = async (town, dice) => {
  const body = { ...recipient, reference: `h${(town.made += 1)}` };
  const reply = await town.ask(dice, { method: 'POST', path: `/api/v1/hooks/${town.acme.hook}`, body });
  const code = reply?.body['id'];
  if (reply?.status === 201 && typeof code === 'string') town.codes.push(code);
};

const look: Deed['does'] = (town, dice) => {
  const paths = ['/api/v1/cards?limit=5', '/api/v1/account', '/api/v1/credits', '/api/v1/events', '/api/v1/deliveries', '/api/v1/webhooks', '/api/v1/contacts', '/api/v1/credits/movements'];
  return town.ask(dice, { method: 'GET', path: dice.pick(paths) ?? '', token: town.acme.key });
}; // prettier-ignore

/** Makes deliveries due by hand, whatever has become of them. */
const retryAll = async (town: Town, dice: Dice, which: string): Promise<void> => {
  const { key: token } = town.acme;
  const list = await town.ask(dice, { method: 'GET', path: `/api/v1/deliveries?${which}`, token });
  const rows: unknown = list?.body['data'];
  for (const row of Array.isArray(rows) ? (rows as readonly unknown[]) : [])
    if (typeof row === 'object' && row !== null && 'id' in row) {
      town.retried.add(String(row.id));
      await town.ask(dice, { method: 'POST', path: `/api/v1/deliveries/${String(row.id)}/retry`, token });
    }
};

const erase: Deed['does'] = async (town, dice) => {
  const code = dice.pick(town.codes);
  const contact = dice.chance(300) ? dice.pick(town.contacts) : null;
  const what = contact === null ? { cards: code === null ? [] : [code] } : { contacts: [contact] };
  const { beside } = town;
  const feed = beside.chance(300) ? town.asOperator(beside, 'GET', '/events?until=head') : null;
  const erased = await town.asOperator(dice, 'POST', `/organizations/${town.acme.org}/erasures`, {
    ...what,
    reason: 'asked',
  });
  await feed;
  if (contact === null && code !== null && dice.chance(500)) await retryAll(town, dice, `card=${code}`);
  return erased;
};

/** Sends an endpoint again, from some event on, what it did not take. */
const replay: Deed['does'] = async (town, dice) => {
  const endpoint = dice.pick([...town.endpoints.values()]);
  const from = dice.pick(town.house.store.events)?.position;
  if (endpoint === null || from === undefined) return;
  town.replayed.add(endpoint);
  const path = `/api/v1/webhooks/${endpoint}/replay`;
  await town.ask(dice, { method: 'POST', path, token: town.acme.key, body: { from: String(from) } });
};

/** What belongs to one customer looks to another as if it were not there. */
const pry: Deed['does'] = async (town, dice) => {
  const code = dice.pick(town.codes);
  if (code === null) return;
  const asked = {
    method: dice.pick(['GET', 'DELETE']) ?? 'GET',
    path: `/api/v1/cards/${code}`,
    token: town.beta.key,
  };
  const reply = await town.ask(dice, asked);
  if (reply !== null && reply.status < 300)
    town.house.problems.push(`18: ${asked.method} of ${code} with a foreign key: ${reply.status}`);
};

/** A key without the scope can't do it. */
const overstep: Deed['does'] = async (town, dice) => {
  const body = newBody(town, dice);
  const token = town.acme.readKey;
  const reply = await town.ask(dice, { method: 'POST', path: '/api/v1/cards', body, token });
  town.note({ kind: 'send', key: null, payload: JSON.stringify(body) }, reply);
  if (reply !== null && reply.status < 300)
    town.house.problems.push('19: a card was sent with a key that may only read');
};

const trustedFor = 5_000;

/** Makes a key, revokes it, and tries it: it is refused at once where it was revoked, and soon elsewhere. */
const revoke: Deed['does'] = async (town, dice) => {
  const { house, acme } = town;
  const by = house.process(dice);
  const path = `/organizations/${acme.org}/keys`;
  const made = await town.asOperator(dice, 'POST', path, { scopes: ['cards:read'] });
  if (made?.status !== 201 || by === null) return;
  const token = String(made.body['key']);
  const use = (process: Process | null) =>
    town.ask(dice, { method: 'GET', path: '/api/v1/account', token }, process);
  for (const process of house.places) await use(process);
  const revoking = {
    method: 'DELETE',
    path: `/operator/v1${path}/${String(made.body['id'])}`,
    token: operatorToken,
  };
  const revoked = await town.ask(dice, revoking, by);
  if (revoked === null || revoked.status >= 300) return;
  const here = await use(by);
  if (here !== null && here.status < 300)
    house.problems.push('decision 51: a key was good in the process that had revoked it');
  await house.clock.sleep(trustedFor);
  const elsewhere = await use(house.process(dice));
  if (house.isPrompt && elsewhere !== null && elsewhere.status < 300)
    house.problems.push('decision 51: a key was good five seconds after it was revoked');
};

/** Suspends the other customer, and ends that again. */
const suspend: Deed['does'] = async (town, dice) => {
  const { house, beta } = town;
  const path = `/operator/v1/organizations/${beta.org}`;
  const by = house.process(dice);
  if (by === null) return;
  const change = (suspended: boolean) =>
    town.ask(dice, { method: 'PATCH', path, body: { suspended }, token: operatorToken }, by);
  const suspended = await change(true);
  const body = newBody(town, dice);
  const tried = await town.ask(dice, { method: 'POST', path: '/api/v1/cards', body, token: beta.key }, by);
  town.note({ kind: 'send', key: null, payload: JSON.stringify(body) }, tried, beta);
  const ended = await change(false);
  if (
    suspended?.status === 200 &&
    ended?.status === 200 &&
    tried !== null &&
    tried.status < 300 &&
    town.suspending === 1
  )
    house.problems.push('a suspended organization has sent a card');
};

const suspendAlone: Deed['does'] = async (town, dice) => {
  if (town.suspending > 0) return;
  town.suspending += 1;
  await suspend(town, dice);
  town.suspending -= 1;
};

const rebuild: Deed['does'] = (town, dice) =>
  town.asOperator(
    dice,
    'POST',
    `/projections/${dice.pick(['cards', 'contacts', 'balances', 'organizations'])}/rebuild`,
  );

const tend: Deed['does'] = async (town, dice) => {
  if (dice.chance(500))
    return town.asOperator(dice, 'POST', `/organizations/${town.acme.org}/deliveries/redrive`, { from: 0 });
  const list = await town.ask(dice, {
    method: 'GET',
    path: '/api/v1/deliveries?status=exhausted',
    token: town.acme.key,
  });
  const rows = list?.body['data'];
  const first: unknown = Array.isArray(rows) ? rows[0] : null;
  if (typeof first !== 'object' || first === null || !('id' in first)) return;
  const path = `/api/v1/deliveries/${String(first.id)}/retry`;
  return town.ask(dice, { method: 'POST', path, token: town.acme.key });
};

/** The operator opens the console with a link, and looks at a page. */
const enterConsole: Deed['does'] = async (town, dice) => {
  const link = await town.asOperator(dice, 'POST', '/console-links');
  const url = link?.body['url'];
  if (typeof url !== 'string') return;
  const { pathname, search } = new URL(url);
  await town.ask(dice, { method: 'GET', path: `${pathname}${search}` });
};

/** Everything that clients and the operator do. */
const deeds: readonly Deed[] = [
  { often: 260, does: sendNew },
  { often: 170, does: sendAgain },
  { often: 230, does: changeCard },
  { often: 12, does: produce },
  { often: 40, does: buy },
  { often: 40, does: buyByReference },
  { often: 10, does: withdraw },
  { often: 30, does: register },
  { often: 25, does: unregister },
  { often: 20, does: enable },
  { often: 40, does: saveContact },
  { often: 50, does: fireHook },
  { often: 50, does: look },
  { often: 25, does: erase },
  { often: 15, does: pry },
  { often: 10, does: overstep },
  { often: 15, does: revoke },
  { often: 10, does: suspendAlone },
  { often: 8, does: rebuild },
  { often: 20, does: tend },
  { often: 4, does: enterConsole },
];

const sum = deeds.reduce((all, { often }) => all + often, 0);

const draw = (dice: Dice): Deed['does'] => {
  let left = dice.below(sum);
  for (const { often, does } of deeds) {
    if (left < often) return does;
    left -= often;
  }
  return look;
};

/** Between two things that a client does, on average: a little, and now and then up to a minute. */
export const usualPause = 3_000;

/** Does `count` things, one after the other. */
export const runClient = async (town: Town, name: string, calls: number): Promise<void> => {
  const dice = new Dice(town.house.seed, name);
  const beside = new Dice(town.house.seed, `${name}, beside`);
  for (let call = 0; call < calls; call++) {
    if (beside.chance(20)) await replay(town, beside);
    await town.house.clock.sleep(dice.below(dice.chance(40) ? 60_000 : 400));
    const isLeaving = dice.chance(town.house.weather.leaving);
    await (isLeaving ? unregister : draw(dice))(town, dice);
  }
};

/** Sends again what was sent under a key of today, until there is an answer that ends it. */
export const settleKeys = async (town: Town): Promise<void> => {
  const dice = new Dice(town.house.seed, 'last client');
  for (const { key, body, day: sent } of town.wishes) {
    if (sent !== dayOf(town)) continue;
    const status = await sendCard(town, dice, body, key);
    if (![201, 402, 422].includes(status ?? 0))
      town.house.problems.push(`7: the key ${key} ends with ${status ?? 'no response'}`);
  }
};
